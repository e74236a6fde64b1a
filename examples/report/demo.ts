import { randomUUID } from 'node:crypto';
import { join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Command } from '../terminal/command.ts';
import { ReportService } from './report-service.ts';

interface Job {
  jobId: string;
  status: string;
  progress?: { value: number };
  outcome?: { response: Record<string, unknown> };
}

/** Milliseconds a day: while somebody looks, and when nobody does. */
const PACE = { slow: 1_000, slower: 4_000, quick: 60 };

const { values } = parseArgs({
  options: { folder: { type: 'string', default: '.holdfast' }, 'stop-server': { type: 'boolean' } },
});
const folder = values.folder === '.holdfast' ? [] : ['--folder', values.folder];
const agents = relative(process.cwd(), join(import.meta.dirname, 'agents.ts'));
const session = `report-${randomUUID().slice(0, 8)}`;
// What a real model says is its own affair.
for (const key of ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_API_KEY']) delete process.env[key];

const said: string[] = [];
const service = new ReportService({
  pace: PACE.slow,
  log(line) {
    said.push(line);
    console.log(`  service │ ${line}`);
  },
});
const address = await service.open();
say(`A report service that knows nothing of agents counts at ${address}, one day a second.`);

say('An agent, as holdfast dev serves it: server, worker, gateway, chat.');
const stop = values['stop-server'] ? ['--stop-server'] : [];
const chat = new Command(['dev', agents, '--session', session, ...folder, ...stop], {
  env: { REPORT_SERVICE: address },
  margin: '  dev │ ',
  typed: true,
});
await chat.prints(new RegExp(`session .*${session}`));

say('The report is ordered, and the model is told so: the turn ends, and the job goes on.');
chat.type('Order the report of June 2026, please.');
await chat.prints(/Report R-0001 of 2026-06 is ordered/);

say('Meanwhile the agent has time for other things.');
chat.type('What is €238 without 19 % VAT?');
await chat.prints(/Without 19 % that is €200\.00/);

say('The service says how far it is; anybody may look.');
const first = await jobThat(({ progress }) => progress !== undefined);
await holdfast(['jobs', 'list', '--session', session]);
await holdfast(['jobs', 'show', first.jobId]);

say('It calls back, and the result starts a turn of its own in the same session.');
service.pace = PACE.quick;
await chat.prints(/Report R-0001 of 2026-06 is there: \d+ orders/);
await holdfast(['jobs', 'show', first.jobId]);
const { url } = (await jobNamed(first.jobId)).outcome?.response ?? {};
const [head, ...days] = (await (await fetch(String(url))).text()).trim().split('\n');
console.log(`\n$ curl ${url}\n  ${[head, ...days.slice(0, 3), '…'].join('\n  ')}`);

say('The next one nobody wants any more: cancelled here, it is stopped there.');
service.pace = PACE.slower;
chat.type('Order the report of July 2026, too.');
await chat.prints(/Report R-0002 of 2026-07 is ordered/);
const second = await jobThat(({ jobId, status }) => jobId !== first.jobId && status === 'running');
await holdfast(['jobs', 'cancel', second.jobId, '--reason', 'July is not over yet']);
await chat.prints(/There is no report: .*July is not over yet/);
await holdfast(['jobs', 'list', '--session', session, '--status', 'all']);

chat.type('/quit');
await chat.ends();
service.close();
const stopped = said.filter((line) => /R-0002 is stopped after \d+ days/.test(line));
if (stopped.length !== 1) throw new Error(`the service should have been stopped once:\n${said.join('\n')}`);
if (days.length !== 30) throw new Error(`June has 30 days, and the report ${days.length}`);

function say(text: string): void {
  console.log(`\n# ${text}`);
}

async function holdfast(words: readonly string[]): Promise<void> {
  await new Command([...words, ...folder]).ends();
}

/** The session's only job of which that is true, once it is. */
async function jobThat(fits: (job: Job) => boolean): Promise<Job> {
  for (;;) {
    const { jobs } = await asked<{ jobs: Job[] }>(['list', '--session', session, '--status', 'all']);
    const found = jobs.find(fits);
    if (found !== undefined) return found;
    await setTimeout(500);
  }
}

async function jobNamed(jobId: string): Promise<Job> {
  return await asked<Job>(['show', jobId]);
}

async function asked<Answer>(words: readonly string[]): Promise<Answer> {
  const command = new Command(['jobs', ...words, '--json', ...folder], { quiet: true });
  await command.ends();
  return JSON.parse(command.output);
}
