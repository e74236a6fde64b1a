import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { TranscriptCache } from '../src/flows/transcript-cache.ts';
import { openStore } from '../src/store/open-store.ts';
import { BenchSession, type StepTimes } from './session-steps.ts';
import { median, table } from './statistics.ts';

/**
 * Costs of a model step beside its model, by the length of its session: store, transcript and request of a session of
 * 2,000 events against one of 20, and the last steps of a turn of 1,000 calls and 500,000 tokens against its first ones.
 */
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '60' }, json: { type: 'boolean', default: false } },
});
const rounds = Number(options.rounds);
const LONG = 2_000;
const SHORT = 20;
const EVENTS_OF_A_TURN = 4;
const TURN = { steps: 1, calls: 1, resultBytes: 512 };
/** 1,000 calls whose results have 500 tokens each, at four bytes a token. */
const LONG_TURN = { steps: 200, calls: 5, resultBytes: 2_000 };
const COMPARED = 50;
const ALLOWED = 1.3;

const PARTS = ['open', 'transcript', 'request', 'commit', 'total'] as const;
type Medians = Record<(typeof PARTS)[number], number>;

const url = process.env.HOLDFAST_STORE;
const folder = mkdtempSync(join(tmpdir(), 'holdfast-bench-'));
const store = await openStore({ folder, ...(url ? { url } : {}) });
try {
  const sessions = await compareSessions();
  const turn = await compareStepsOfATurn();
  if (options.json) console.log(JSON.stringify({ sessions, turn }, null, 2));
  else print(sessions, turn);
} finally {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

/** Each round is a turn of each session, which of them first changing; all of them have been read before. */
async function compareSessions() {
  const transcripts = new TranscriptCache();
  const long = await sessionOf(LONG, transcripts);
  const times: Record<'long' | 'short', StepTimes[]> = { long: [], short: [] };
  for (let round = 0; round < rounds; round += 1) {
    const pair = { long, short: await sessionOf(SHORT, transcripts) };
    for (const which of round % 2 ? (['long', 'short'] as const) : (['short', 'long'] as const)) {
      times[which].push(...(await pair[which].turn(transcripts, TURN)));
    }
  }
  const [first] = await long.turn(new TranscriptCache(), TURN);
  return {
    long: mediansOf(times.long),
    short: mediansOf(times.short),
    ratio: ratio(times.long, times.short),
    /** A worker that has never read it reads all of it, once. */
    firstRead: first,
  };
}

async function sessionOf(events: number, transcripts: TranscriptCache): Promise<BenchSession> {
  const session = new BenchSession(store);
  for (let made = 0; made < events; made += EVENTS_OF_A_TURN) await session.turn(transcripts, TURN);
  return session;
}

/** The last steps of a turn alternate with the first ones of another, so that what else the machine does meets both. */
async function compareStepsOfATurn() {
  const transcripts = new TranscriptCache();
  const first: StepTimes[] = [];
  const last: StepTimes[] = [];
  for (let turn = 0; turn < 3; turn += 1) {
    const long = new BenchSession(store).steps(transcripts, LONG_TURN);
    for (let step = 0; step < LONG_TURN.steps - COMPARED; step += 1) await long.next();
    const begun = new BenchSession(store).steps(transcripts, LONG_TURN);
    // The very first step makes the session.
    await begun.next();
    for (let step = 0; step < COMPARED; step += 1) {
      first.push(await nextOf(begun));
      last.push(await nextOf(long));
    }
  }
  return { first: mediansOf(first), last: mediansOf(last), ratio: ratio(last, first) };
}

async function nextOf(steps: AsyncGenerator<StepTimes, void>): Promise<StepTimes> {
  const { value } = await steps.next();
  if (value === undefined) throw new Error('the turn has fewer steps than are compared');
  return value;
}

function mediansOf(times: readonly StepTimes[]): Medians & { events: number } {
  const medians = Object.fromEntries(PARTS.map((part) => [part, median(times.map((step) => step[part]))]));
  return { ...(medians as Medians), events: Math.max(...times.map(({ events }) => events)) };
}

function ratio(times: readonly StepTimes[], to: readonly StepTimes[]): number {
  return median(times.map(({ total }) => total)) / median(to.map(({ total }) => total));
}

function print(
  sessions: Awaited<ReturnType<typeof compareSessions>>,
  turn: Awaited<ReturnType<typeof compareStepsOfATurn>>,
): void {
  const row = (name: string, times: Medians & { events: number }) => [
    `${name}, up to ${times.events} events`,
    ...PARTS.map((part) => times[part].toFixed(3)),
  ];
  console.log(
    table([
      ['ms, medians', ...PARTS],
      row('long session', sessions.long),
      row('short session', sessions.short),
      ...(sessions.firstRead === undefined
        ? []
        : [row('long session read for the first time', sessions.firstRead)]),
      row(`last ${COMPARED} steps of a long turn`, turn.last),
      row(`first ${COMPARED} steps of a long turn`, turn.first),
    ]),
  );
  const verdict = (value: number) =>
    `${value.toFixed(2)} (<= ${ALLOWED}: ${value <= ALLOWED ? 'reached' : 'missed'})`;
  console.log(`\nlong / short session: ${verdict(sessions.ratio)}`);
  console.log(`last / first steps of a turn of 1,000 calls: ${verdict(turn.ratio)}`);
}
