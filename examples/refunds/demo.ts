import { randomUUID } from 'node:crypto';
import { join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Command } from '../terminal/command.ts';
import { TheatreChannels } from './channels.ts';
import { euros } from './euros.ts';
import { Payments, paymentsFile } from './payments.ts';
import { keyFileOf, makeKeys } from './people.ts';

interface Request {
  requestId: string;
  args: { booking: string; cents: number };
  escalatedAt?: number;
}

const { values } = parseArgs({
  options: { folder: { type: 'string', default: '.holdfast' }, 'stop-server': { type: 'boolean' } },
});
const folder = values.folder === '.holdfast' ? [] : ['--folder', values.folder];
const agents = pathOf(join(import.meta.dirname, 'agents.ts'));
const session = `box-office-${randomUUID().slice(0, 8)}`;
process.env.REFUNDS_PAYMENTS ||= join(values.folder, 'refunds.sqlite');
// What a real model asks for is its own affair.
for (const key of ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_API_KEY']) delete process.env[key];

await makeKeys();
const payments = new Payments(paymentsFile());
const before = payments.all().length;

say('Nora asks for three refunds. One is small and is paid at once; the others wait for people.');
const turn = begin('nora', 'Refund €80 of B-1001, €340 of B-1002 and €2400 of B-1003.', {});
await turn.prints(/waits for a person/, 2);
await turn.prints(/refund \S+ finished/);
const [fair, large] = await pending(2);

say('What waits, and for whom.');
await holdfast(['approvals', 'list', '--session', session]);
await holdfast(['approvals', 'show', large.requestId]);

say('Nora is an approver, but not of what she has asked for herself.');
await decide('nora', fair, [], 1);

say('Mira approves the one over €100, but only €290 of it.');
await decide('mira', fair, ['--args', JSON.stringify({ booking: fair.args.booking, cents: 290_00 })]);

say('The one over €1,000 takes two people: Mira twice is one of them.');
await decide('mira', large);
await decide('mira', large);
await decide('jo', large);
await turn.ends();

say('Nobody answers the next one, and so the head of finance may, too.');
const late = begin('nora', 'Refund €150 of B-1004.', { REFUNDS_ESCALATE_SECONDS: '2' });
await late.prints(/waits for a person/);
const [handedOn] = await escalated();
await decide('olga', handedOn);
await late.ends();

say('Nobody needs a terminal: two more are asked about in Slack, and by mail.');
const mailbox = join(values.folder, 'refunds-mail.jsonl');
await using channels = await TheatreChannels.open(mailbox);
const more = begin('nora', 'Refund €250 of B-1005 and €1600 of B-1006.', channels.env);
const [small, big] = [await channels.messageAbout('B-1005'), await channels.messageAbout('B-1006')];
const mail = await channels.mailTo('jo', 'B-1006');
const { origin } = new URL(mail.link);
await channels.shows(small, /B-1005/);
await channels.click('mira', small, 'Approve', origin);
await channels.shows(small, /mira/);

say('The larger one: Mira in Slack, Nora in vain, Jo by the link in the mail.');
await channels.click('nora', big, 'Approve', origin);
await channels.click('mira', big, 'Approve', origin);
await channels.approveByLink(mail);
await channels.shows(big, /jo/);
await more.ends();

say('All of it is in the audit, each row bound to the one before.');
await holdfast(['approvals', 'list', '--session', session, '--all']);
await holdfast(['approvals', 'audit', 'verify', session]);

const paid = payments.all().slice(before);
payments.close();
say('What the theatre has paid:');
for (const { receipt, booking, cents } of paid) console.log(`  ${receipt}  ${booking}  ${euros(cents)}`);
const sums = paid.map(({ booking, cents }) => `${booking} ${cents}`).sort();
const wanted = [
  'B-1001 8000',
  'B-1002 29000',
  'B-1003 240000',
  'B-1004 15000',
  'B-1005 25000',
  'B-1006 160000',
];
if (sums.join() !== wanted.join()) throw new Error(`it should have paid ${wanted.join(', ')}`);

function say(text: string): void {
  console.log(`\n# ${text}`);
}

/** A turn, and beside it what its process prints. */
function begin(name: string, message: string, env: Record<string, string>): Command {
  const stop = 'REFUNDS_MAILBOX' in env && values['stop-server'] ? ['--stop-server'] : [];
  const words = [
    'run',
    agents,
    '--session',
    session,
    '--message',
    message,
    ...signedBy(name),
    ...folder,
    ...stop,
  ];
  return new Command(words, { env, margin: '  run │ ' });
}

async function decide(name: string, request: Request, more: string[] = [], exitCode = 0): Promise<void> {
  await holdfast(['approvals', 'approve', request.requestId, ...more, ...signedBy(name)], exitCode);
}

async function holdfast(words: readonly string[], exitCode = 0): Promise<void> {
  await new Command([...words, ...folder]).ends(exitCode);
}

function signedBy(name: string): string[] {
  return ['--as', name, '--key', pathOf(keyFileOf(name))];
}

async function escalated(): Promise<[Request]> {
  for (;;) {
    const [request] = await pending(1);
    if (request.escalatedAt !== undefined) return [request];
    await setTimeout(500);
  }
}

/** Requests that wait, in the order of their amounts. */
async function pending(count: 1): Promise<[Request]>;
async function pending(count: 2): Promise<[Request, Request]>;
async function pending(count: number): Promise<Request[]> {
  const command = new Command(['approvals', 'list', '--session', session, '--json', ...folder], {
    quiet: true,
  });
  await command.ends();
  const { approvals }: { approvals: Request[] } = JSON.parse(command.output);
  if (approvals.length !== count)
    throw new Error(`${count} requests should wait, and ${approvals.length} do`);
  return approvals.sort((one, other) => one.args.cents - other.args.cents);
}

function pathOf(file: string): string {
  return relative(process.cwd(), file) || '.';
}
