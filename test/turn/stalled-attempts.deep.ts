import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context as ActivityContext } from '@temporalio/activity';
import { noopMetricMeter } from '@temporalio/common';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createActivities, type HoldfastActivities } from '../../activities/create-activities.ts';
import { TurnMetrics } from '../../activities/telemetry/turn-metrics.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { ArtifactBytes } from '../../src/artifacts/artifact-bytes.ts';
import type { Event } from '../../src/events/event.ts';
import { TranscriptCache } from '../../src/flows/transcript-cache.ts';
import { Connections } from '../../src/oauth/connections.ts';
import { BasePlugin } from '../../src/plugins/base-plugin.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import { CALL_MODEL, SETTLE_STEP } from '../../src/protocol/names.ts';
import type { StepOutcome } from '../../src/protocol/step.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { deploy } from '../../worker/deploy.ts';
import { asAttempt } from '../setup/activity-attempt.ts';
import { putStore } from '../setup/made-store.ts';
import { OwnModel } from '../setup/own-model.ts';

const WRITING = ['beforeAgent', 'beforeModel', 'afterModel', 'completed', 'afterAgent'];

/** Where the first attempt of an activity stands still, and goes on when everything else is over. */
let stall: { place: string; reached: () => void; until: Promise<void> } | undefined;

async function at(place: string): Promise<number> {
  const { attempt, activityType } = ActivityContext.current().info;
  if (attempt === 1 && stall?.place === `${activityType} ${place}`) {
    const { reached, until } = stall;
    stall = undefined;
    reached();
    await until;
  }
  return attempt;
}

async function write(place: string, { state }: Context): Promise<undefined> {
  const attempt = await at(place);
  state.set(place, attempt);
  state.set(`${place} ${attempt}`, true);
  return undefined;
}

class Marking extends BasePlugin {
  override async onUserMessageCallback() {
    return { parts: [{ text: `message of ${await at('message')}` }] };
  }
  override async beforeRunCallback() {
    await at('beforeRun');
    return undefined;
  }
  override async onEventCallback({ event }: { event: Event }) {
    const by = await at(event.content?.role === 'user' ? 'responses' : 'event');
    return { ...event, customMetadata: { by } };
  }
  override async onToolCallCompleted({ callbackContext }: { callbackContext: Context }) {
    await write('completed', callbackContext);
  }
  override async afterRunCallback() {
    await at('afterRun');
  }
}

const model = new OwnModel();
const app = new App({
  name: 'stalling',
  rootAgent: new LlmAgent({
    name: 'agent',
    model,
    tools: [
      tool({
        name: 'last',
        description: 'ends the turn',
        execute: (_args, { actions }) => {
          actions.skipSummarization = true;
          return { done: true };
        },
      }),
    ],
    beforeAgentCallback: (context) => write('beforeAgent', context),
    beforeModelCallback: ({ context }) => write('beforeModel', context),
    afterModelCallback: ({ context }) => write('afterModel', context),
    afterAgentCallback: (context) => write('afterAgent', context),
  }),
  plugins: [new Marking('marking')],
});

let folder: string;
let store: OpenedStore;
let activities: HoldfastActivities;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
  putStore(folder);
  store = await openStore({ folder });
  activities = activitiesOf(app);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

function activitiesOf(deployed: App): HoldfastActivities {
  const silent = () => undefined;
  return createActivities({
    deployment: deploy({ apps: [deployed] }),
    store,
    transcripts: new TranscriptCache(),
    artifacts: new ArtifactBytes(store.blobs),
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    telemetry: { tracing: undefined, metrics: new TurnMetrics(noopMetricMeter) },
    credentials: new Connections(store.credentials, undefined),
    transcriptUrl: undefined,
    searchAttributes: false,
    publicUrl: () => undefined,
    credentialKeys: undefined,
    temporal: () => ActivityContext.current().client,
    sendMessage: async () => {},
    conceal: false,
  });
}

/** Attempts are scheduled a second apart. */
function attempted<T>(activityType: string, attempt: number, work: () => Promise<T>): Promise<T> {
  const currentAttemptScheduledTimestampMs = 1_000 * attempt;
  const info = { activityType, attempt, startToCloseTimeoutMs: 60_000, currentAttemptScheduledTimestampMs };
  return asAttempt(info, work);
}

/** Runs a turn of one call; where an attempt stands still on its way, a second one takes its place. */
async function turn(names: { app: string; userId: string; sessionId: string }, startedAt: number) {
  const messageId = randomUUID();
  const invocationId = invocationIdOf(names.app, names.userId, names.sessionId, messageId);
  const position = { v: 1, invocationId, runKey: invocationId, step: 1, fence: { startedAt, invocation: 1 } };
  let stalled: Promise<unknown> | undefined;
  const run = async <T>(activityType: string, work: () => Promise<T>): Promise<T> => {
    const reached = Promise.withResolvers<'stalled'>();
    if (stall !== undefined) stall.reached = () => reached.resolve('stalled');
    const first = attempted(activityType, 1, work);
    if ((await Promise.race([first, reached.promise])) !== 'stalled') return await first;
    stalled = first;
    return await attempted(activityType, 2, work);
  };
  const asked = await run(CALL_MODEL, () =>
    activities[CALL_MODEL]({ ...position, seq: 0, identity: { ...names, messageId }, message: 'go' }),
  );
  expect(asked.kind).toBe('calls');
  const { session, seq, agent, calls, usage } = asked as Extract<StepOutcome, { kind: 'calls' }>;
  for (const { tool: name, ...call } of calls) {
    await run(name, () => activities.default({ v: 1, session, runKey: invocationId, agent, ...call }));
  }
  const settling = { ...position, session, seq, agent, unsettled: [], ended: names };
  const ending = { status: 'completed' as const, usage };
  const settled = await run(SETTLE_STEP, () => activities[SETTLE_STEP]({ ...settling, ending }));
  return { outcome: settled.outcome, stalled };
}

test.each([
  ...['message', 'beforeRun', 'beforeAgent', 'beforeModel', 'model', 'afterModel', 'event'].map((place) => [
    CALL_MODEL,
    place,
  ]),
  ...['responses', 'completed', 'event', 'afterAgent', 'afterRun'].map((place) => [SETTLE_STEP, place]),
])(
  'an attempt of %s that stood still at %s changes nothing once another one is through [callback.once]',
  async (activity, place) => {
    model.respond = async () => {
      await at('model');
      return {
        content: { role: 'model', parts: [{ functionCall: { name: 'last', args: {}, id: randomUUID() } }] },
      };
    };
    const names = { app: 'stalling', userId: 'ada', sessionId: randomUUID() };
    const goOn = Promise.withResolvers<void>();
    stall = { place: `${activity} ${place}`, reached: () => {}, until: goOn.promise };
    const { outcome, stalled } = await turn(names, 1);
    expect(stalled).toBeInstanceOf(Promise);
    expect(outcome?.status).toBe('completed');
    // Each place has written its attempt, and a key of that attempt: those of two attempts would be more.
    expect(Object.keys((await store.sessions.get(names))?.state ?? {})).toHaveLength(2 * WRITING.length);
    await turn(names, 2);
    const all = () => Promise.all([store.sessions.readEvents(names), store.sessions.get(names)]);
    const before = await all();
    goOn.resolve();
    await stalled;
    expect(await all()).toEqual(before);
    const kinds = ['message', 'callback', 'model', 'responses', 'callback', 'callback'];
    expect(before[0].map(({ kind }) => kind)).toEqual([...kinds, ...kinds]);
  },
);

test('an attempt that stood still begins no inline calls beside the one that has taken its place [tool.inline] [turn.late]', async () => {
  const NAMES = ['first', 'second', 'third'];
  const effects: string[] = [];
  const gate = () => ({ reached: Promise.withResolvers<void>(), open: Promise.withResolvers<void>() });
  const gates = { 'first by 1': gate(), 'second by 2': gate() };
  const acting = (name: string) =>
    tool({
      name,
      description: 'has an effect',
      execution: 'inline',
      execute: async () => {
        const { currentAttemptScheduledTimestampMs: scheduled } = ActivityContext.current().info;
        const effect = `${name} by ${scheduled / 1_000}`;
        effects.push(effect);
        const held = gates[effect as keyof typeof gates];
        held?.reached.resolve();
        await held?.open.promise;
        return {};
      },
    });
  const parts = NAMES.map((name) => ({ functionCall: { name, args: {}, id: name } }));
  model.respond = async () => ({ content: { role: 'model', parts } });
  const { [CALL_MODEL]: callModel } = activitiesOf(
    new App({
      name: 'stalling',
      rootAgent: new LlmAgent({ name: 'agent', model, tools: NAMES.map(acting), maxParallelCalls: 1 }),
    }),
  );
  const identity = { app: 'stalling', userId: 'ada', sessionId: randomUUID(), messageId: 'm-1' };
  const fence = { startedAt: 1, invocation: 1 };
  const input = { v: 1, invocationId: 'e-2', runKey: 'e-2', step: 1, seq: 0, fence, identity, message: 'go' };
  const stalled = attempted(CALL_MODEL, 1, () => callModel(input));
  await gates['first by 1'].reached.promise;
  const replacing = attempted(CALL_MODEL, 2, () => callModel(input));
  await gates['second by 2'].reached.promise;
  gates['first by 1'].open.resolve();
  await stalled;
  gates['second by 2'].open.resolve();
  // The outcome of `first` was unknown: its own activity runs it, by its terms.
  expect(await replacing).toMatchObject({ ran: { 'e-2.1.0': { goesOn: {} }, 'e-2.1.2': { response: {} } } });
  expect(effects).toEqual(['first by 1', 'second by 2', 'third by 2']);
});

test('what was said before the model counts, though a deploy has taken away who said it [callback.once]', async () => {
  const closing = new LlmAgent({
    name: 'agent',
    model,
    beforeAgentCallback: () => ({ parts: [{ text: 'closed today' }] }),
  });
  const before = activitiesOf(
    new App({ name: 'stalling', rootAgent: closing, plugins: [new Marking('marking')] }),
  );
  const after = activitiesOf(
    new App({ name: 'stalling', rootAgent: new LlmAgent({ name: 'agent', model }) }),
  );
  const names = { app: 'stalling', userId: 'ada', sessionId: randomUUID() };
  const position = {
    v: 1,
    invocationId: 'e-1',
    runKey: 'e-1',
    step: 1,
    seq: 0,
    fence: { startedAt: 1, invocation: 1 },
  };
  const input = { ...position, identity: { ...names, messageId: 'm-1' }, message: 'go' };
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  stall = { place: `${CALL_MODEL} event`, reached: reached.resolve, until: goOn.promise };
  const stalled = attempted(CALL_MODEL, 1, () => before[CALL_MODEL](input));
  await reached.promise;
  model.asked = 0;
  const outcome = await attempted(CALL_MODEL, 2, () => after[CALL_MODEL](input));
  const closed = { kind: 'final', outcome: { text: 'closed today' } };
  expect(outcome).toMatchObject(closed);
  expect(model.asked).toBe(0);
  goOn.resolve();
  expect(await stalled).toMatchObject(closed);
});
