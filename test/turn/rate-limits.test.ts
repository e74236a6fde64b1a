import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { sql } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { TokenBasedContextCompactor } from '../../src/agents/compaction/context-compactors.ts';
import { LlmSummarizer } from '../../src/agents/compaction/llm-summarizer.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { RoutedLlm } from '../../src/agents/routed-llm.ts';
import { App } from '../../src/app/app.ts';
import { embedded } from '../../src/memory/embeddings.ts';
import { ModelError } from '../../src/models/model-errors.ts';
import { error, text } from '../../src/testing/gemini-reply.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { createWorker } from '../../worker/index.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type RanTurn, type TurnEnvironment } from '../setup/turn-environment.ts';

const REST = 4_000;

/** Workers remember limits: each test has a key of its own. */
let ownKey = '';

class KeyedModel extends OwnModel {
  override get limitKey() {
    return ownKey;
  }
}

const own = new KeyedModel();
let execute = async () => ({});
const step = tool({ name: 'step', description: 'does it', execute: () => execute() });
const cached = new LlmAgent({
  name: 'cached',
  model: own,
  beforeModelCallback: async () => saying('from the cache'),
});
const owned = new LlmAgent({ name: 'owned', model: own, tools: [step] });
const clerk = new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash' });

/** A model that is too busy for a while, and is asked by user code of each of these agents. */
const busy = new OwnModel();
const REFUSALS = 5;
async function askBusy(): Promise<void> {
  for await (const _ of busy.generateContentAsync({} as LlmRequest)) return;
}
const embeddings = {
  model: 'busy embeddings',
  embed: async () => {
    await askBusy();
    return [[1]];
  },
};
const retry = { initialInterval: 1, maximumInterval: 2 };
const plain = new OwnModel();
const asking = {
  summariser: new LlmAgent({
    ...{ name: 'summarised', model: plain, modelRetry: retry },
    contextCompactors: [
      new TokenBasedContextCompactor({
        ...{ tokenThreshold: 1, eventRetentionSize: 1, summarizer: new LlmSummarizer({ llm: busy }) },
      }),
    ],
  }),
  router: new LlmAgent({
    ...{ name: 'routed', modelRetry: retry },
    model: new RoutedLlm({ models: [plain], router: async () => await askBusy().then(() => plain.model) }),
  }),
  callback: new LlmAgent({
    ...{ name: 'called_back', model: plain, modelRetry: retry },
    beforeModelCallback: async () => void (await askBusy()),
  }),
  tool: new LlmAgent({
    ...{ name: 'tooled', model: 'gemini-2.5-flash' },
    tools: [tool({ name: 'asks', description: 'd', retry, execute: () => askBusy() })],
  }),
  embeddings: new LlmAgent({
    ...{ name: 'embedding', model: 'gemini-2.5-flash' },
    tools: [
      tool({
        ...{ name: 'asks', description: 'd', retry },
        execute: async (_args, { abortSignal: signal }) => {
          await embedded(embeddings, ['x'], { purpose: 'document', signal });
        },
      }),
    ],
  }),
};
const payer = new LlmAgent({
  ...{ name: 'payer', model: 'gemini-2.5-flash' },
  tools: [
    tool({
      ...{ name: 'pays', description: 'd', idempotent: false },
      retry: { ...retry, maximumAttempts: 1 },
      execute: () => askBusy(),
    }),
  ],
});
const apps = [new App({ name: 'test', rootAgent: clerk })];
const agents = [clerk, cached, owned, payer, ...Object.values(asking)];

/** What attempts before the last one have failed with. */
function failuresIn({ history }: Pick<RanTurn, 'history'>): string[] {
  return (history.events ?? []).flatMap(
    ({ activityTaskStartedEventAttributes: started }) => started?.lastFailure?.message ?? [],
  );
}

describe('rate limits of models', () => {
  let environment: TurnEnvironment;
  let connection: NativeConnection;
  let another: { running: Promise<void>; shutdown(): void };

  beforeAll(async () => {
    environment = await openTurnEnvironment({ agents, apps });
    const { address, namespace } = environment.place;
    connection = await NativeConnection.connect({ address });
    const silent = () => undefined;
    const worker = await createWorker({
      agents,
      apps,
      store: environment.store,
      connection,
      namespace,
      searchAttributes: true,
      logger: { debug: silent, info: silent, warn: silent, error: silent },
      identity: 'another',
      shutdownGraceTime: 0,
    });
    another = { running: worker.run(), shutdown: () => worker.shutdown() };
  });
  beforeEach(() => {
    own.respond = async () => saying('fine');
    own.asked = 0;
    ownKey = `own ${randomUUID()}`;
    execute = async () => ({});
  });
  afterAll(async () => {
    another.shutdown();
    await another.running;
    await connection.close();
    await environment.close();
  });

  async function isLimited(key: string): Promise<boolean> {
    const { db } = environment.store;
    return (await sql`select from holdfast.model_limits where key = ${key}`.execute(db)).rows.length > 0;
  }

  test.each(Object.entries(asking))(
    'a 429 to the %s is waited for, however often, and is no failure [limit.model]',
    async (_who, { name: agent }) => {
      const sessionId = randomUUID();
      busy.respond = async () => saying('a summary');
      await environment.run({ message: 'hello', agent: 'owned', sessionId });
      busy.asked = 0;
      busy.respond = async () => {
        if (busy.asked > REFUSALS) return saying('a summary');
        throw new ModelError({ kind: 'rate_limited', message: 'slow down', retryAfterMs: 1 });
      };
      environment.gemini.reset(stepCalls([[{ name: 'asks' }]]));
      const { result, events } = await environment.run({ message: 'go', agent, sessionId });
      expect(result).toMatchObject({ status: 'completed' });
      expect(JSON.stringify(events)).not.toContain('slow down');
      expect(busy.asked).toBe(REFUSALS + 1);
    },
  );

  test('a 429 within a tool that must not run twice is a failure of the tool [limit.model]', async () => {
    busy.asked = 0;
    busy.respond = async () => {
      throw new ModelError({ kind: 'rate_limited', message: 'slow down', retryAfterMs: 1 });
    };
    environment.gemini.reset(stepCalls([[{ name: 'pays' }]]));
    const { events } = await environment.run({ message: 'go', agent: 'payer' });
    expect(JSON.stringify(events)).toContain('slow down');
    expect(busy.asked).toBe(1);
  });

  test('after a 429 no worker asks the model before its time, then all turns end [limit.model]', async () => {
    const { gemini } = environment;
    gemini.reset((_request, { index }) =>
      index === 0 ? error(429, 'slow down', { retryAfterMs: REST }) : text('done'),
    );
    const first = environment.run({ message: 'go' });
    // Before the limit is known others may be on their way.
    await expect.poll(() => isLimited('gemini-2.5-flash')).toBe(true);
    // One worker that was not told, beside one that may have been.
    await environment.restartWorker();
    const others = Array.from({ length: 11 }, () => environment.run({ message: 'go' }));
    const turns = await Promise.all([first, ...others]);
    for (const { result } of turns) {
      expect(result).toMatchObject({ status: 'completed', text: 'done', usage: { modelCalls: 1 } });
      expect(result.usage.unknownCalls).toBeUndefined();
    }
    const [refused, ...later] = gemini.requests.map(({ receivedAt }) => receivedAt);
    expect(later).toHaveLength(turns.length);
    for (const at of later) expect(at).toBeGreaterThanOrEqual((refused ?? 0) + REST);
    const waits = turns.slice(1).flatMap(failuresIn);
    const told = /^waits for the rate limit of gemini-2\.5-flash, until \d{4}-\d\d-\d\dT[\d:.]+Z$/;
    for (const message of waits) expect(message).toMatch(told);
  });

  if (isDeep) {
    test('a provider that names no time is asked less and less often', async () => {
      const { gemini } = environment;
      gemini.reset([error(429), error(429), error(429), text('at last')]);
      const { result } = await environment.run({ message: 'go' });
      expect(result).toMatchObject({ status: 'completed', text: 'at last', usage: { modelCalls: 1 } });
      const at = gemini.requests.map(({ receivedAt }) => receivedAt);
      expect(at).toHaveLength(4);
      for (const [nth, least] of [1_000, 2_000, 4_000].entries()) {
        expect((at[nth + 1] ?? 0) - (at[nth] ?? 0)).toBeGreaterThanOrEqual(least);
      }
      // It has answered: the next refusal is the first in a row.
      gemini.reset([error(429), text('again')]);
      const key = 'gemini-2.5-flash';
      await expect
        .poll(async () => {
          const { rows } = await sql<{ refusals: number }>`select refusals from holdfast.model_limits
            where key = ${key}`.execute(environment.store.db);
          return rows[0]?.refusals;
        })
        .toBe(0);
      expect((await environment.run({ message: 'go' })).result).toMatchObject({ text: 'again' });
    });
  }

  test('what is answered without the model, and other models, wait for nothing', async () => {
    await environment.store.turns.limitModel({ key: ownKey, retryAfterMs: 3_600_000 });
    const turn = await environment.run({ message: 'go', agent: 'cached' });
    expect(turn.result).toMatchObject({ status: 'completed', text: 'from the cache' });
    environment.gemini.reset(() => text('another'));
    expect((await environment.run({ message: 'go' })).result).toMatchObject({ text: 'another' });
    expect(own.asked).toBe(0);
  });

  test('a turn that is cancelled while it waits ends at once, its message kept', async () => {
    await environment.store.turns.limitModel({ key: ownKey, retryAfterMs: 3_600_000 });
    const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
    const handle = await environment.client.sendMessage({ ...names, message: 'go', agent: 'owned' });
    const run = environment.temporal.workflow.getHandle(handle.workflowId);
    await expect
      .poll(async () => (await run.describe()).raw.pendingActivities?.[0]?.lastFailure?.message)
      .toContain(`waits for the rate limit of ${ownKey}, until `);
    await environment.client.interrupt(names);
    expect(await handle.result()).toMatchObject({ status: 'interrupted' });
    const events = await environment.store.sessions.readEvents(names);
    expect(events.map(({ kind }) => kind)).toEqual(['message']);
    expect(own.asked).toBe(0);
  });

  if (isDeep) {
    test('a limit that the worker knows keeps later steps from the store, too', async () => {
      await environment.stopWorker();
      const limited: Promise<RanTurn>[] = [];
      execute = async () => {
        own.respond = async () => {
          own.respond = async () => saying('done');
          throw new ModelError({ kind: 'rate_limited', message: 'slow down', retryAfterMs: 1_500 });
        };
        limited.push(environment.run({ message: 'go', agent: 'owned' }));
        await expect.poll(() => isLimited(ownKey)).toBe(true);
        return {};
      };
      own.respond = async () => ({
        content: { role: 'model', parts: [{ functionCall: { name: 'step', args: {} } }] },
      });
      const turn = await environment.run({ message: 'go', agent: 'owned' });
      expect(turn.result).toMatchObject({ status: 'completed', text: 'done', usage: { modelCalls: 2 } });
      expect((await limited[0])?.result).toMatchObject({ status: 'completed', usage: { modelCalls: 1 } });
      expect(failuresIn(turn)).toEqual([
        expect.stringContaining(`waits for the rate limit of ${ownKey}, until `),
      ]);
      const { rows } = await sql<{ attempts: number }>`select attempts from holdfast.ledger
      where key = ${`${turn.result.invocationId}.2`}`.execute(environment.store.db);
      expect(rows).toEqual([{ attempts: 1 }]);
      await environment.restartWorker();
    });
  }
});
