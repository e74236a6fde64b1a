import proto from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { PAYLOAD_LIMIT, WORKFLOW_TASK_LIMIT } from '../../src/protocol/sizes.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { payloadSizes, scheduledActivities, textOf, workflowTaskSizes } from '../setup/history-facts.ts';
import { leaksIn, plantedSecrets } from '../setup/planted-secrets.ts';
import { stepCalls } from '../setup/scripts.ts';
import { STEP_MODE } from '../setup/step-mode.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type RanTurn, type TurnEnvironment } from '../setup/turn-environment.ts';

const { DescribeWorkflowExecutionResponse } = proto.temporal.api.workflowservice.v1;

const SECRET = '4711-0815';

const parameters = z.object({ pin: z.string() });
const retry = { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 };
const KINDS = { all: true, named: ['pin', 'result'] } as const;

const tools = Object.entries(KINDS).flatMap(([kind, sensitive]) =>
  (['activity', 'inline'] as const).flatMap((execution) => [
    tool({
      name: `tells_${kind}_${execution}`,
      description: 'sees and says secrets',
      parameters,
      sensitive,
      execution,
      execute: ({ pin }) => ({ account: `account of ${pin}` }),
    }),
    tool({
      name: `fails_${kind}_${execution}`,
      description: 'sees secrets and fails',
      parameters,
      sensitive,
      execution,
      retry,
      execute: ({ pin }) => {
        throw new Error(`no account of ${pin}`, { cause: new Error(pin) });
      },
    }),
  ]),
);
let beats: (context: Context) => Promise<unknown> = async () => ({});
const beatsTool = tool({
  name: 'beats',
  description: 'says secrets while it runs',
  parameters,
  sensitive: true,
  summary: ({ pin }) => String(pin),
  execute: (_args, context) => beats(context),
});
/** Of the call only the argument is secret. */
const failsPin = tool({
  name: 'fails_pin',
  description: 'sees secrets and fails',
  parameters,
  sensitive: ['pin'],
  retry: { maximumAttempts: 1 },
  execute: ({ pin }) => {
    throw new Error(`no account of ${pin}`);
  },
});
const largeInline = tool({
  name: 'large_inline',
  description: 'returns much',
  parameters: z.object({ bytes: z.number() }),
  execution: 'inline',
  execute: ({ bytes }) => ({ data: 'x'.repeat(bytes) }),
});

describe('what a history and a log are told', () => {
  const logged: string[] = [];
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [
        new LlmAgent({
          name: 'support',
          model: 'gemini-2.5-flash',
          tools: [...tools, beatsTool, largeInline],
        }),
        new LlmAgent({
          name: 'answers_errors',
          model: 'gemini-2.5-flash',
          tools: [failsPin],
          onToolErrorCallback: ({ error }) => ({ sorry: error.message }),
        }),
        new LlmAgent({
          name: 'rewrites_errors',
          model: 'gemini-2.5-flash',
          tools: [failsPin],
          afterToolCallback: ({ response }) => ({ sorry: response.error }),
        }),
      ],
      logger: { warn: (message, attributes) => logged.push(`${message} ${JSON.stringify(attributes)}`) },
    });
  });
  afterAll(() => environment.close());

  const responses = ({ events }: RanTurn) =>
    events.flatMap(({ event }) => getFunctionResponses(event)).map(({ response }) => response);

  test.each(someOf(tools.map(({ name }) => name)))(
    '%s: the secret is in neither [tool.sensitive]',
    async (name) => {
      logged.length = 0;
      environment.gemini.reset(stepCalls([[{ name, args: { pin: SECRET } }]]));
      const turn = await environment.run({ message: 'go' });
      const fails = name.startsWith('fails');
      expect(responses(turn)).toEqual([
        fails ? { error: expect.stringContaining(SECRET) } : { account: `account of ${SECRET}` },
      ]);
      const said = textOf(turn.history);
      expect(said).toContain(name);
      expect(said).not.toContain(SECRET);
      expect(logged.join('\n')).not.toContain(SECRET);
      if (fails) expect(logged.join('\n')).toContain(name);
      const isActivity = STEP_MODE === 'activity' && name.endsWith('_activity');
      if (fails && isActivity) expect(said).toContain('failure 1 of 2');
    },
  );

  const ANSWERS = {
    'an error callback': () => environment.run({ message: 'go', agent: 'answers_errors' }),
    'an after callback': () => environment.run({ message: 'go', agent: 'rewrites_errors' }),
  };
  test.each(someOf(Object.entries(ANSWERS)))(
    '%s answers an error, and may quote the secret [tool.sensitive]',
    async (_, run) => {
      environment.gemini.reset(stepCalls([[{ name: 'fails_pin', args: { pin: SECRET } }]]));
      const turn = await run();
      expect(responses(turn)).toEqual([{ sorry: expect.stringContaining(SECRET) }]);
      const said = textOf(turn.history);
      expect(said).toContain('fails_pin');
      expect(said).not.toContain(SECRET);
    },
  );

  test('while it runs: status, details, heartbeat and summary say nothing of it [tool.sensitive]', async () => {
    const secrets = plantedSecrets(['argument', 'heartbeat', 'state']);
    logged.length = 0;
    environment.gemini.reset(stepCalls([[{ name: 'beats', args: { pin: secrets.argument } }]]));
    const progress = Promise.withResolvers<void>();
    beats = async (context) => {
      context.heartbeat({ seen: secrets.heartbeat });
      context.state.set('temp:pin', secrets.state);
      await progress.promise;
      return {};
    };
    const names = { app: 'test', userId: 'ada', sessionId: 'while-it-runs' };
    const turn = await environment.client.sendMessage({ ...names, message: 'go' });
    const handle = environment.temporal.workflow.getHandle(turn.workflowId);
    const described = async () => (await handle.describe()).raw;
    const beaten = async () => (await described()).pendingActivities?.[0]?.lastHeartbeatTime;
    await expect.poll(beaten).toBeTruthy();
    const places = {
      status: Buffer.from(JSON.stringify(await handle.query('status'))),
      details: Buffer.from(JSON.stringify(await handle.query('__temporal_workflow_metadata'))),
      pending: Buffer.from(DescribeWorkflowExecutionResponse.encode(await described()).finish()),
    };
    progress.resolve();
    await turn.result();
    const history = Buffer.from(textOf(await handle.fetchHistory()));
    expect(places.status.includes('beats')).toBe(true);
    expect(leaksIn(secrets, { ...places, history, log: Buffer.from(logged.join('\n')) })).toEqual([]);
  });

  test.each([
    [40, 100],
    [120, 3],
  ])(
    '%d inline calls with results of %d KiB: no payload over 64 KiB, no task over 1 MiB [size.results] [tool.inline]',
    async (length, kib) => {
      const large = Array.from({ length }, () => ({ name: 'large_inline', args: { bytes: kib * 1024 } }));
      environment.gemini.reset(stepCalls([large]));
      const turn = await environment.run({ message: 'go' });
      expect(turn.result.status).toBe('completed');
      expect(scheduledActivities(turn.history).map(({ type }) => type)).not.toContain('large_inline');
      expect(Math.max(...payloadSizes(turn.history))).toBeLessThanOrEqual(PAYLOAD_LIMIT);
      expect(Math.max(...workflowTaskSizes(turn.history))).toBeLessThanOrEqual(WORKFLOW_TASK_LIMIT);
    },
  );
});
