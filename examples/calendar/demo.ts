import { randomUUID } from 'node:crypto';
import { join, relative } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Command } from '../terminal/command.ts';
import { Browser } from './browser.ts';

interface Connection {
  credentialKey: string;
  account?: string;
  scopes?: string[];
}

/** Milliseconds for which access tokens are good: they are refreshed when less than a minute is left. */
const FRESH = 10_000;

const { values } = parseArgs({
  options: { folder: { type: 'string', default: '.holdfast' }, 'stop-server': { type: 'boolean' } },
});
const folder = values.folder === '.holdfast' ? [] : ['--folder', values.folder];
const stop = values['stop-server'] ? ['--stop-server'] : [];
// A new one: an earlier run may have left its user connected.
const user = `ada-${randomUUID().slice(0, 8)}`;
const session = `week-of-${user}`;
const whose = ['--app', 'calendar', '--user', user];
const account = 'ada@example.com';
// A real model says what it likes.
for (const key of ['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENAI_API_KEY']) delete process.env[key];
process.env.CALENDAR_CLIENT_SECRET ||= randomUUID();

say('A calendar, and an authorization server that says who may use it. Neither knows of agents.');
await using services = new Command([], {
  program: pathOf('serve.ts'),
  env: { CALENDAR_ISSUER_PORT: '0', CALENDAR_PORT: '0' },
  margin: '  services │ ',
  typed: true,
});
const [, issuer = ''] = await services.prints(/^authorization server at (\S+)/);
const [, url = ''] = await services.prints(/^calendar at (\S+)/);
const { status } = await fetch(`${url}/events`);
console.log(`$ curl ${url}/events\n  ${status}`);
if (status !== 401) throw new Error('a calendar should not be open to everybody');

say('An agent, as holdfast dev serves it: server, worker, gateway, chat. It has no tokens of Ada.');
await using chat = new Command(
  ['dev', pathOf('agents.ts'), '--session', session, '--user', user, ...folder, ...stop],
  { env: { CALENDAR_ISSUER: issuer, CALENDAR_URL: url }, margin: '  dev │ ', typed: true },
);
await chat.prints(new RegExp(`session .*${session}`));
chat.type('What is in my calendar?');
const browser = new Browser();
await connect(1);
await chat.prints(/You have Stand-up on 2026-12-03 09:30, Dentist on 2026-12-04 15:00\./);

say('To write takes more than Ada has consented to. The other tool asks for both.');
chat.type('Add Lunch with Mira on 2026-12-04 12:00.');
await connect(2);
await chat.prints(/Lunch with Mira is in your calendar, on 2026-12-04 12:00\./);
await holdfast(['credentials', 'list', ...whose]);
const [connection] = await connections();
if (connection?.account !== account || !connection.scopes?.includes('calendar.write'))
  throw new Error(`${account} should have consented to calendar.write: ${JSON.stringify(connection)}`);

say('Access tokens are good for 70 seconds here. When less than a minute is left, a call gets others.');
await setTimeout(FRESH);
chat.type('What is in my calendar?');
await services.prints(/tokens of ada@example\.com are refreshed/);
await chat.prints(/You have Stand-up on .*, Lunch with Mira on 2026-12-04 12:00, Dentist on /);

say('A token may end before its time. The calendar refuses it, and the tool asks for others once.');
services.type('forget');
await services.prints(/access tokens are good no longer/);
chat.type('Add Sauna on 2026-12-04 18:00.');
await services.prints(/POST \/events is refused: 401/);
await chat.prints(/Sauna is in your calendar, on 2026-12-04 18:00\./);

say('Ada wants the desk to forget her account. Its tokens are given up at the server, too.');
const { revoked } = await asked<{ revoked?: boolean }>(['credentials', 'remove', 'calendar', ...whose]);
if (revoked !== true) throw new Error('the tokens should have been given up at the server');
await services.prints(/the consent has ended/);
if ((await connections()).length > 0) throw new Error('no account should be connected any more');
chat.type('/quit');
await chat.ends();

say('What the calendar has now:');
services.type(`events ${account}`);
await services.prints(/^2026-12-04 12:00 {2}Lunch with Mira$/);
await services.prints(/^2026-12-04 18:00 {2}Sauna$/);

function say(text: string): void {
  console.log(`\n# ${text}`);
}

/** A person's steps once the turn has asked so many times: the printed command, and then its link. */
async function connect(count: number): Promise<void> {
  await chat.prints(/credentials connect calendar .*/, count);
  const status = new Command(['turns', 'status', session, ...whose, ...folder]);
  await status.prints(/^waiting_credential: /);
  await status.ends();
  const link = new Command(['credentials', 'connect', 'calendar', ...whose, ...folder]);
  await link.ends();
  console.log(`  A person opens it in a browser. ${account} does so here, without a window:`);
  const page = await browser.consent(link.output.trim(), account);
  console.log(`  ${page}`);
  if (!page.includes(`connected as ${account}`)) throw new Error('the account should be connected');
}

async function connections(): Promise<Connection[]> {
  const { credentials } = await asked<{ credentials: Connection[] }>(['credentials', 'list', ...whose], {
    quiet: true,
  });
  return credentials;
}

async function holdfast(words: readonly string[]): Promise<void> {
  await new Command([...words, ...folder]).ends();
}

/** The JSON that a command prints. */
async function asked<Answer>(words: readonly string[], options: { quiet?: boolean } = {}): Promise<Answer> {
  const command = new Command([...words, '--json', ...folder], options);
  await command.ends();
  return JSON.parse(command.output);
}

function pathOf(file: string): string {
  return relative(process.cwd(), join(import.meta.dirname, file));
}
