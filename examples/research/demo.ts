import { randomUUID } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { Command } from '../terminal/command.ts';
import { review } from './review-draft.ts';

interface Request {
  requestId: string;
  path: string[];
  args: { slug: string };
}

const { values } = parseArgs({
  options: { folder: { type: 'string', default: '.holdfast' }, 'stop-server': { type: 'boolean' } },
});
const folder = values.folder === '.holdfast' ? [] : ['--folder', values.folder];
const stop = values['stop-server'] ? ['--stop-server'] : [];
const agents = relative(process.cwd(), join(import.meta.dirname, 'agents.ts'));
const session = `briefing-${randomUUID().slice(0, 8)}`;
process.env.RESEARCH_SITE ||= join(values.folder, 'site');
const isScripted = ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_API_KEY'].every(
  (key) => !process.env[key],
);

say(
  'Three researchers read the notes at the same time. One of them has claims checked, each by a child of its own.',
);
say(
  'Then a draft goes round between drafter and critic until the critic finds nothing, and a writer asks to publish it.',
);
if (isScripted)
  say('GEMINI_API_KEY is not set: the words are scripted; notes, searches and counts are real.');
const question = 'Should Aldersund keep its buses free?';
const turn = new Command(['run', agents, '--session', session, '--message', question, ...folder, ...stop], {
  margin: '  run │ ',
});
const [, link = ''] = await turn.prints(/Temporal UI (\S+)/);
await turn.prints(/approvals reject/);

say('What waits, of whom in the tree, and with which words.');
const [request] = await pending();
await holdfast(['approvals', 'list', '--session', session]);
await holdfast(['approvals', 'show', request.requestId]);

say('Somebody reads it, and lets it go out.');
await holdfast(['approvals', 'approve', request.requestId]);
await turn.ends();

const file = join(process.env.RESEARCH_SITE, `${request.args.slug}.md`);
if (!existsSync(file)) throw new Error(`${file} should have been published`);
const report = readFileSync(file, 'utf8');
say(`Published as ${file}:`);
console.log(report.trim().replaceAll(/^/gm, '  '));
const { problems } = review(report.replace(/^#.*$/m, ''));
if (isScripted && problems.length > 0) throw new Error(`it should not have gone out: ${problems.join('; ')}`);

say('The tree, with what each child has done:');
console.log(`  ${link.replace(/\/history$/, '')}/relationships`);

function say(text: string): void {
  console.log(`\n# ${text}`);
}

async function holdfast(words: readonly string[]): Promise<void> {
  await new Command([...words, ...folder]).ends();
}

/** The only request that waits. */
async function pending(): Promise<[Request]> {
  const command = new Command(['approvals', 'list', '--session', session, '--json', ...folder], {
    quiet: true,
  });
  await command.ends();
  const { approvals }: { approvals: Request[] } = JSON.parse(command.output);
  const [request, ...others] = approvals;
  if (request === undefined || others.length > 0) {
    throw new Error(`one request should wait, and ${approvals.length} do`);
  }
  return [request];
}
