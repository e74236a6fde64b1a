import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { ApiKeys } from '../../src/gateway/access/api-keys.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import { retentionId } from '../../src/protocol/retention.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import type { Context } from '../../src/tools/context.ts';
import { clockAhead } from '../setup/clock-ahead.ts';
import { type JobTool, jobTool, pollingAtOnce } from '../setup/job-turns.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';

// Of worker and client alike: tokens of jobs are signed with them.
process.env.HOLDFAST_CREDENTIAL_KEYS ??= `k1:${randomBytes(32).toString('base64')}`;
const HOUR = 3_600_000;
const names = (app: string, sessionId: string = randomUUID()) => ({ app, userId: 'ada', sessionId });

let polls = 0;
let ended = false;
let start: (context: Context) => void = () => undefined;
const hooks: JobTool = {
  execute: (_args, context) => start(context),
  poll: () => {
    polls += 1;
    return ended ? { watched: true } : undefined;
  },
  cancel: () => undefined,
  onTimeout: () => undefined,
};
const rootAgent = new LlmAgent({
  name: 'support',
  model: 'gemini-2.5-flash',
  tools: [
    jobTool('order', () => hooks, { deadline: '30 minutes' }),
    pollingAtOnce(jobTool('watch', () => hooks, { timeout: 2_000, deadline: '30 minutes' }, ['poll'])),
    pollingAtOnce(jobTool('quiet', () => hooks, { timeout: 2_000, startTimeout: '30 minutes' }, ['poll'])),
  ],
});

let environment: TurnEnvironment;
let right: () => void;
beforeAll(async () => {
  environment = await openTurnEnvironment({
    apps: [
      new App({ name: 'watches', rootAgent }),
      new App({ name: 'forgets', rootAgent, durable: { retention: '30 minutes' } }),
    ],
    serverConfig: ['history.timerProcessorMaxTimeShift="1ms"'],
  });
  right = clockAhead(HOUR);
});
afterAll(async () => {
  right();
  await environment.close();
});

test.each(['watch', 'quiet'])(
  'a polled job has its time where the clock of its worker is ahead: %s [time.store]',
  async (tool) => {
    polls = 0;
    ended = false;
    environment.gemini.reset([call(tool), text('done')]);
    const session = names('watches');
    const turn = await environment.client.sendMessage({ ...session, message: 'go' });
    await expect.poll(() => polls).toBeGreaterThan(2);
    const { store } = environment;
    expect(await store.jobs.list(session)).toMatchObject([{ status: 'running' }]);
    ended = true;
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(await store.jobs.list({ ...session, status: ['completed'] })).toHaveLength(1);
  },
);

test('a job’s token is good until the store says otherwise [time.store]', async () => {
  const { client, gemini } = environment;
  let given: { id: string; token: string } | undefined;
  start = ({ job: { id, token } }) => {
    given = { id, token };
  };
  gemini.reset([call('order'), text('done')]);
  const turn = await client.sendMessage({ ...names('watches'), message: 'go' });
  await expect.poll(() => given).toBeDefined();
  const { id = '', token = '' } = given ?? {};
  // A token is good for a week beyond its job's deadline.
  onTestFinished(clockAhead(10 * 24 * HOUR));
  expect(await client.jobs.complete(id, { token, result: { ordered: true } })).toMatchObject({
    status: 'ended',
  });
  expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
});

test('a session is as old as the store says [time.store]', async () => {
  const session = names('forgets', 's');
  environment.gemini.reset([text('hi')]);
  await (await environment.client.sendMessage({ ...session, message: 'hi' })).result();
  const schedule = environment.temporal.schedule.getHandle(retentionId('forgets'));
  await schedule.trigger();
  // Its own time may come meanwhile, too.
  const { info } = await until(async () => {
    const described = await schedule.describe();
    if (described.info.recentActions.length === 0) throw new Error('it has not acted yet');
    return described;
  });
  const [action] = info.recentActions;
  const started = action?.action.type === 'startWorkflow' ? action.action.workflow.workflowId : '';
  expect(await environment.temporal.workflow.getHandle(started).result()).toEqual({ deleted: 0 });
  expect(await environment.store.sessions.find(session)).toMatchObject({ seq: 2 });
});

test('an API key is good until the store says otherwise [time.store]', async () => {
  const { text: secret, keyId, digest } = newKeyText();
  const { store } = environment;
  const grants = [{ app: 'watches', roles: ['read'] as const }];
  await store.keys.create({ keyId, digest, name: 'mira', grants, expiresIn: HOUR / 2 });
  const keys = new ApiKeys({ store, logger: { warn: () => undefined } });
  expect(await keys.authenticate(secret)).toMatchObject({ person: 'mira' });
});

test('the store says what time it is, and is asked once for many [time.store]', async () => {
  const { store } = environment;
  const before = Date.now() - HOUR;
  const now = await store.now();
  // Their clocks round, each in its own way.
  expect(now).toBeGreaterThan(before - 1_000);
  expect(now).toBeLessThan(Date.now() - HOUR + 1_000);
  expect(await store.now()).toBeGreaterThanOrEqual(now);
});
