import { Client, type Connection } from '@temporalio/client';
import type { DataConverter } from '@temporalio/common';
import proto from '@temporalio/proto';
import { describe, expect, test, vi } from 'vitest';
import { AesCodec } from '../setup/aes-codec.ts';
import { filesBelow, leaksIn } from '../setup/planted-secrets.ts';
import { type SecretKind, SecretTurns } from '../setup/secret-turns.ts';
import { SHORT_RUNS } from '../setup/temporal-server.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const { HistoryEvent } = proto.temporal.api.history.v1;
const { EventType } = proto.temporal.api.enums.v1;

/** Has the contents, as it should. */
const STORE = ['store'];

/** What Temporal isn't told in any case. */
const NEVER_THERE: readonly SecretKind[] = ['toolState', 'toolErrorCause'];

interface Told {
  turns: SecretTurns;
  /** Everything that was kept or written, but by the store. */
  places: Record<string, Buffer>;
  /** The transcripts. */
  transcripts: Buffer;
}

async function toldOf(dataConverter?: DataConverter): Promise<Told> {
  const turns = new SecretTurns();
  const log: string[] = [];
  const line = (message: string, attributes?: Record<string, unknown>) =>
    void log.push(`${message} ${JSON.stringify(attributes)}`);
  const output = ([process.stdout, process.stderr] as const).map((stream) => vi.spyOn(stream, 'write'));
  const environment = await openTurnEnvironment({
    agents: turns.agents,
    logger: { debug: line, info: line, warn: line, error: line },
    serverConfig: SHORT_RUNS,
    ...(dataConverter === undefined ? {} : { dataConverter }),
  });
  try {
    await turns.run(environment);
    const written = output.flatMap(({ mock }) => mock.calls.map(([chunk]) => Buffer.from(chunk)));
    return {
      turns,
      places: {
        ...filesBelow(environment.folder, STORE),
        log: Buffer.from(log.join('\n')),
        'standard output and error': Buffer.concat(written),
        ...(await eventsOf(environment)),
      },
      transcripts: await transcriptsOf(environment, turns.sessions),
    };
  } finally {
    for (const spy of output) spy.mockRestore();
    await environment.close();
  }
}

/** Each event of each run, by what it is, so that a leak is named by its cause. */
async function eventsOf({ temporal }: TurnEnvironment): Promise<Record<string, Buffer>> {
  const { connection, options } = temporal;
  const undecoded = new Client({ connection: connection as Connection, namespace: options.namespace });
  const events: Record<string, Buffer> = {};
  for await (const { workflowId, runId } of undecoded.workflow.list()) {
    const { events: list } = await undecoded.workflow.getHandle(workflowId, runId).fetchHistory();
    for (const event of list ?? []) {
      const type = EventType[event.eventType ?? 0];
      events[`${workflowId} ${runId} ${event.eventId} ${type}`] = Buffer.from(
        HistoryEvent.encode(event).finish(),
      );
    }
  }
  return events;
}

async function transcriptsOf({ store }: TurnEnvironment, sessions: readonly string[]): Promise<Buffer> {
  const all = await Promise.all(
    sessions.map((sessionId) => store.sessions.readEvents({ app: 'test', userId: 'ada', sessionId })),
  );
  return Buffer.from(JSON.stringify(all));
}

describe('secrets of turns', () => {
  test('with a codec on client and worker they are in no file of the server, in no log and no output [worker.codec]', async () => {
    const { turns, places, transcripts } = await toldOf({ payloadCodecs: [new AesCodec()] });
    const files = Object.keys(places);
    expect(files).toEqual(expect.arrayContaining(['temporal.db', 'temporal.db-wal', 'temporal.log']));
    expect(files.filter((name) => name.includes('EVENT_TYPE_')).length).toBeGreaterThan(100);
    expect(Object.values(places).some((bytes) => bytes.includes('binary/encrypted'))).toBe(true);
    expect(places.log?.toString()).toContain('fails');
    expect(leaksIn(turns.secrets, places)).toEqual([]);

    const kept = leaksIn(turns.secrets, { store: transcripts }).map((leak) => leak.split(' ', 1)[0]);
    expect(kept).toEqual(
      expect.arrayContaining([
        'message',
        'argument',
        'result',
        'inlineResult',
        'toolError',
        'lastToolError',
        'inlineError',
        'modelError',
        'queued',
        'asked',
        'interrupting',
        'cancelReason',
        'interruptReason',
        'stateDelta',
        'answer',
      ]),
    );
  });

  test('without one the search finds them in the database [worker.codec]', async () => {
    const { turns, places } = await toldOf();
    const database = Object.entries(places).filter(([name]) => name.startsWith('temporal.db'));
    const found = new Set(
      leaksIn(turns.secrets, Object.fromEntries(database)).map((leak) => leak.split(' ', 1)[0]),
    );
    const kinds = Object.keys(turns.secrets) as SecretKind[];
    expect(kinds.filter((kind) => !found.has(kind))).toEqual(NEVER_THERE);
  });
});
