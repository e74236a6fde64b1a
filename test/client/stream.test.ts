import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { FollowerTooSlow, MessageRejected, StoreNeeded } from '../../src/client/client-errors.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { OutgoingMessage } from '../../src/client/messages/outgoing-message.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import {
  call,
  disconnect,
  error,
  type GeminiReplyLike,
  reply,
  text,
  thought,
} from '../../src/testing/gemini-reply.ts';
import { listenersOf } from '../setup/counted-listeners.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { textOf } from '../setup/history-facts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { newSession } from './client-scene.ts';

const held = new HeldTool();
const SSE = { runConfig: { streamingMode: 'sse' } } as const;
const ofGemini = { model: 'gemini-2.5-flash', modelRetry: { initialInterval: 1, maximumInterval: 2 } };

let environment: TurnEnvironment;

beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [
      new LlmAgent({ name: 'support', ...ofGemini, tools: [held.tool()] }),
      new LlmAgent({ name: 'secretive', ...ofGemini, sensitive: true }),
    ],
  });
});
beforeEach(() => held.hold());
afterAll(() => environment.close());

type Text = Extract<StreamItem, { type: 'text' }>;

async function collect(items: AsyncIterable<StreamItem>): Promise<StreamItem[]> {
  const all: StreamItem[] = [];
  for await (const item of items) all.push(item);
  return all;
}

function saidLive(items: readonly StreamItem[], { step = 1, attempt = 1, thoughts = false } = {}): string {
  const texts = items.filter((item): item is Text => item.type === 'text');
  expect(texts.filter((each) => each.step === step).every(({ agent }) => agent === 'support')).toBe(true);
  return texts
    .filter((each) => each.step === step && each.attempt === attempt && (each.thought ?? false) === thoughts)
    .map((each) => each.text)
    .join('');
}

function saidInEvents(items: readonly StreamItem[]): string[] {
  return items.flatMap((item) =>
    item.type === 'event' && item.kind === 'model'
      ? (item.event.content?.parts ?? []).flatMap((part) => part.text ?? [])
      : [],
  );
}

/** Answers in order, the first one when it is let go: a model is quicker than any follower. */
function answerWhenLetGo(...replies: readonly GeminiReplyLike[]): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  environment.gemini.reset(async (_, { index }) => {
    await promise;
    return replies[index] ?? text('more than was asked for');
  });
  return resolve;
}

/** Sends a message, and lets it be answered when a follower of its turn has seen it. */
async function streamOf(
  message: Partial<OutgoingMessage>,
  answer: () => void,
): Promise<[TurnHandle, StreamItem[]]> {
  const turn = await environment.client.sendMessage({ ...newSession(), ...SSE, message: 'go', ...message });
  const items: StreamItem[] = [];
  for await (const item of turn.stream()) {
    items.push(item);
    answer();
  }
  return [turn, items];
}

const kindsOf = (items: readonly StreamItem[]) =>
  items.map((item) => (item.type === 'event' ? item.kind : item.type));

/** Everything that the store has, as text. */
async function storedText(): Promise<string> {
  const { db } = environment.store;
  const tables = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'holdfast'`.execute(db);
  const texts = await Promise.all(
    tables.rows.map(async ({ name }) => {
      const { rows } = await sql<{ all: string | null }>`
        select string_agg(t::text, ' ') as all from holdfast.${sql.ref(name)} t`.execute(db);
      return rows[0]?.all ?? '';
    }),
  );
  return texts.join('\n');
}

/** Over 4 KiB, so that it isn't in a history for its smallness. */
const long = (marker: string) => `${'one and two '.repeat(200)}${marker} ${'three and four '.repeat(200)}`;

async function sessionOf(names: SessionNames): Promise<string> {
  const found = await environment.store.sessions.find(names);
  if (found === undefined) throw new Error('there is no such session');
  return found.session;
}

describe('text of an answer that is being written', () => {
  test('comes before its event and makes it up; no history has it, and no table but the event’s [stream.text]', async () => {
    const [marker, thinking] = [randomUUID(), randomUUID()];
    const answer = long(marker);
    const letGo = answerWhenLetGo(
      [thought(`I should look. ${thinking} indeed.`), text('Looking it up.'), call('hold')],
      reply(text(answer), { wordsPerChunk: 20, chunkDelayMs: 2 }),
    );
    held.release();
    const names = newSession();
    // Before there is a session.
    const stop = new AbortController();
    const ofSession: StreamItem[] = [];
    const following = (async () => {
      for await (const item of environment.client.stream(names, { signal: stop.signal }))
        ofSession.push(item);
    })();
    const [turn, items] = await streamOf(names, letGo);

    expect(saidLive(items)).toBe('Looking it up.');
    expect(saidLive(items, { thoughts: true })).toBe(`I should look. ${thinking} indeed.`);
    expect(saidLive(items, { step: 2 })).toBe(answer);
    expect(saidInEvents(items)).toEqual([`I should look. ${thinking} indeed.`, 'Looking it up.', answer]);
    const kinds = kindsOf(items).filter((kind, index, all) => kind !== all[index - 1]);
    expect(kinds).toEqual([
      'message',
      'text',
      'model',
      'call started',
      'call finished',
      'responses',
      'text',
      'model',
    ]);
    expect(items.filter(({ type }) => type === 'text').length).toBeGreaterThan(3);
    await expect.poll(() => ofSession).toEqual(items);
    stop.abort();
    await following;

    const history = textOf(await environment.temporal.workflow.getHandle(turn.workflowId).fetchHistory());
    expect(history).toContain('holdfast.callModel');
    expect(history).not.toContain(marker);
    expect(history).not.toContain(thinking);
    const stored = await storedText();
    expect(stored.split(marker)).toHaveLength(2);
    expect(stored.split(thinking)).toHaveLength(2);
  });

  test('is not sent where the agent is sensitive, or no stream was asked for [stream.text]', async () => {
    const secret = 'A secret answer in some words.';
    const [, ofSecret] = await streamOf({ agent: 'secretive' }, answerWhenLetGo(text(secret)));
    const ofStream = environment.gemini.requests.map(({ path }) => path.includes('streamGenerateContent'));
    const none = { runConfig: { streamingMode: 'none' } } as const;
    const [, ofPlain] = await streamOf(none, answerWhenLetGo(text('An answer.')));
    expect(kindsOf(ofSecret)).toEqual(['message', 'model']);
    expect(kindsOf(ofPlain)).toEqual(['message', 'model']);
    expect(ofStream).toEqual([true]);
    expect(saidInEvents(ofSecret)).toEqual([secret]);
  });

  test('a stream needs the store [stream.text]', () => {
    const plain = new HoldfastClient({ temporal: environment.temporal });
    expect(() => plain.stream(newSession())).toThrow(StoreNeeded);
  });
});

describe('text of an attempt that failed', () => {
  test('is dropped before the next one’s comes, and is kept nowhere [stream.retry]', async () => {
    const marker = randomUUID();
    const letGo = answerWhenLetGo(
      disconnect(text(`Never ${marker} to be kept`), { afterChunks: 1 }),
      text('The answer that counts, in two chunks.'),
    );
    const [turn, items] = await streamOf({}, letGo);
    expect(saidLive(items)).toContain(`Never ${marker}`);
    expect(saidLive(items, { attempt: 2 })).toBe('The answer that counts, in two chunks.');
    expect(saidInEvents(items)).toEqual(['The answer that counts, in two chunks.']);
    const kinds = kindsOf(items).filter((kind, index, all) => kind !== all[index - 1]);
    expect(kinds).toEqual(['message', 'text', 'text dropped', 'text', 'model']);
    expect(items.find(({ type }) => type === 'text dropped')).toMatchObject({ step: 1, attempt: 2 });
    const history = textOf(await environment.temporal.workflow.getHandle(turn.workflowId).fetchHistory());
    expect(history + (await storedText())).not.toContain(marker);
  });

  test('is dropped too where none comes after it [stream.retry]', async () => {
    const letGo = answerWhenLetGo(error(400, 'no more', { after: text('Not to be continued') }));
    const [turn, items] = await streamOf({}, letGo);
    expect(kindsOf(items)).toEqual(['message', 'text', 'text dropped', 'error']);
    expect(await turn.result()).toMatchObject({ status: 'failed' });
  });
});

describe('a reader', () => {
  /** A turn whose call is held. */
  async function holding() {
    const names = newSession();
    environment.gemini.reset([call('hold'), text('done')]);
    const turn = await environment.client.sendMessage({ ...names, ...SSE, message: 'go', messageId: 'm1' });
    await held.begun();
    return { names, turn, session: await sessionOf(names) };
  }

  test('that falls behind is cut off; the turn goes on and ends [stream.slow]', async () => {
    const { names, turn, session } = await holding();
    const watched = listenersOf(environment.store);
    const { temporal } = environment;
    const client = new HoldfastClient({ temporal, store: watched.store });
    const slow = client.stream(names)[Symbol.asyncIterator]();
    expect(await slow.next()).toMatchObject({ value: { type: 'event', seq: 1 } });
    const place = { session, runKey: turn.invocationId, step: 9, attempt: 1, agent: 'support' };
    for (let index = 0; index <= 2_000; index++) {
      environment.store.live.tell({ type: 'text', ...place, index, text: 'more' });
    }
    held.release();
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    await expect.poll(() => watched.count()).toBe(0);
    const rest: number[] = [];
    let thrown: unknown;
    try {
      for (let next = await slow.next(); !next.done; next = await slow.next()) {
        if (next.value.type === 'event') rest.push(next.value.seq);
      }
    } catch (cause) {
      thrown = cause;
    }
    expect(thrown).toBeInstanceOf(FollowerTooSlow);
    expect(thrown).toMatchObject({ after: rest.at(-1) ?? 1 });
    const resumed: number[] = [];
    for await (const item of turn.stream({ after: rest.at(-1) ?? 1 })) {
      if (item.type === 'event') resumed.push(item.seq);
    }
    expect([1, ...rest, ...resumed]).toEqual([1, 2, 3, 4]);
  });

  test('that goes away leaves nothing behind, and ends no turn [stream.slow]', async () => {
    const { names, turn } = await holding();
    const watched = listenersOf(environment.store);
    const client = new HoldfastClient({ temporal: environment.temporal, store: watched.store });
    const attached = await client.turn({ ...names, messageId: 'm1' });
    for await (const item of client.stream(names)) if (item.type === 'event' && item.seq === 2) break;
    for await (const item of attached?.stream() ?? []) if (item.type === 'event' && item.seq === 2) break;
    const stop = new AbortController();
    const aborted = collect(client.stream(newSession(), { signal: stop.signal }));
    await expect.poll(() => watched.count()).toBeGreaterThan(0);
    stop.abort();
    expect(await aborted).toEqual([]);
    await expect.poll(() => watched.count()).toBe(0);
    held.release();
    expect(await turn.result()).toMatchObject({ status: 'completed' });
  });
});

describe('a turn that is looked for', () => {
  if (isDeep) {
    test('is found while it runs, waits, and ever after; one that nobody sent is not [message.follow]', async () => {
      const names = newSession();
      const { client } = environment;
      const plain = new HoldfastClient({ temporal: environment.temporal });
      const lookedFor = (messageId: string, by = client) => by.turn({ ...names, messageId });
      expect(await lookedFor('m1')).toBeUndefined();
      expect(await lookedFor('m1', plain)).toBeUndefined();
      environment.gemini.reset(({ contents }) =>
        contents?.at(-1)?.parts?.[0]?.text === 'hold' ? call('hold') : text('done'),
      );
      const first = await client.sendMessage({ ...names, message: 'hold', messageId: 'm1' });
      await held.begun();
      const second = await client.sendMessage({ ...names, message: 'then', messageId: 'm2' });
      await expect.poll(async () => (await second.receipt()).status).toBe('queued');

      const running = await lookedFor('m1');
      expect(running).toMatchObject({
        invocationId: first.invocationId,
        workflowId: first.workflowId,
        runId: first.runId,
        taskQueue: first.taskQueue,
        disposition: 'attached',
      });
      expect(await running?.receipt()).toMatchObject({ status: 'running' });
      const queued = await lookedFor('m2');
      expect(await queued?.receipt()).toMatchObject({ status: 'queued', invocationId: second.invocationId });
      const byPlain = await Promise.all([lookedFor('m1', plain), lookedFor('m2', plain)]);
      expect(byPlain.map((turn) => turn?.invocationId)).toEqual([first.invocationId, second.invocationId]);
      expect(await lookedFor('m3')).toBeUndefined();
      expect(await lookedFor('m3', plain)).toBeUndefined();

      held.release();
      const found = [running, queued, ...byPlain];
      const results = await Promise.all(found.map(async (turn) => await turn?.result()));
      expect(results.map((result) => result?.status)).toEqual(Array(4).fill('completed'));
      const ended = await lookedFor('m2');
      expect(await ended?.result()).toEqual(results[1]);
      expect(await ended?.receipt()).toMatchObject({ status: 'finished' });
      expect(kindsOf(await collect(ended?.stream() ?? emptyStream()))).toEqual(['message', 'model']);
      expect(environment.gemini.requests).toHaveLength(3);
    });
  }

  test('says so where its message was not taken [message.follow]', async () => {
    const names = newSession();
    const { client, temporal } = environment;
    environment.gemini.reset([call('hold'), text('done')]);
    const first = await client.sendMessage({ ...names, message: 'go', messageId: 'm1' });
    await held.begun();
    const message = { messageId: 'm2', message: 'now', policy: 'reject' };
    await temporal.workflow.getHandle(first.workflowId).signal('sendMessage', message);
    await expect
      .poll(async () => (await environment.store.messages.readInbox(names)).map(({ status }) => status))
      .toEqual(['rejected']);
    const refused = await client.turn({ ...names, messageId: 'm2' });
    expect(await refused?.receipt()).toMatchObject({
      status: 'rejected',
      confirmed: true,
      reason: expect.any(String),
    });
    await expect(refused?.result()).rejects.toThrow(MessageRejected);
    held.release();
    expect(await first.result()).toMatchObject({ status: 'completed' });
  });

  test('of a retried turn is the newest one [session.retry]', async () => {
    const names = newSession();
    const { client } = environment;
    held.release();
    environment.gemini.reset(({ contents }) =>
      contents?.at(-1)?.parts?.[0]?.functionResponse === undefined ? call('hold') : text('done'),
    );
    const first = await client.sendMessage({ ...names, message: 'go', messageId: 'm1' });
    await first.result();
    const retried = await client.sessions.retry({ ...names, callKey: `${first.invocationId}.1.0` });
    expect((await client.turn({ ...names, messageId: 'm1' }))?.invocationId).toBe(retried.invocationId);
    await retried.result();
    const found = await client.turn({ ...names, messageId: 'm1' });
    expect(found?.invocationId).toBe(retried.invocationId);
    expect(await found?.result()).toMatchObject({ status: 'completed', invocationId: retried.invocationId });
  });
});

async function* emptyStream(): AsyncGenerator<StreamItem, void> {}
