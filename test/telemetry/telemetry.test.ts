import { context, type SpanContext, TraceFlags, trace } from '@opentelemetry/api';
import { InMemorySpanExporter, type ReadableSpan, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { answeredChat } from '../../activities/telemetry/spans.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { error, reply, text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { freePort } from '../setup/free-port.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { AsyncContext } from './async-context.ts';

const exported = new InMemorySpanExporter();
let environment: TurnEnvironment;
let address: string;
let withinTool: SpanContext | undefined;

const pay = tool({
  name: 'pay',
  description: 'Pays.',
  parameters: z.object({ card: z.string(), fails: z.boolean().optional() }),
  retry: { maximumAttempts: 1 },
  execute: ({ fails }) => {
    withinTool = trace.getSpanContext(context.active());
    if (fails) throw new Error('the card visa-4242 was refused');
    return { receipt: 'receipt-of-visa-4242' };
  },
});

beforeAll(async () => {
  context.setGlobalContextManager(new AsyncContext());
  address = `127.0.0.1:${await freePort()}`;
  environment = await openTurnEnvironment({
    agents: [
      new LlmAgent({
        name: 'cashier',
        model: 'gemini-2.5-flash',
        tools: [
          pay,
          tool({
            name: 'refund',
            description: 'd',
            requireConfirmation: true,
            execute: () => ({ paid: true }),
          }),
        ],
        modelRetry: { initialInterval: 1 },
      }),
      new LlmAgent({
        name: 'parrot',
        model: 'gemini-2.5-flash',
        beforeModelCallback: () => ({ content: { role: 'model', parts: [{ text: 'polly' }] } }),
      }),
    ],
    metricsAddress: address,
    workerOptions: {
      tracing: { spanProcessors: [new SimpleSpanProcessor(exported)] },
      transcriptUrl: 'https://desk.example/{app}/{user}/{session}',
    },
  });
});

beforeEach(() => {
  exported.reset();
  withinTool = undefined;
});

afterAll(async () => {
  context.disable();
  await environment.close();
});

const script = (args: Record<string, unknown>) =>
  stepCalls([[{ name: 'pay', args }]], 'paid, says visa-4242');

describe('a turn’s trace', () => {
  test('goes from the client’s span over the turn’s to its model calls and tools [traces.genai]', async () => {
    environment.gemini.reset(script({ card: 'visa-4242' }));
    const sender: SpanContext = {
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      traceFlags: TraceFlags.SAMPLED,
    };
    const { result, workflowId } = await context.with(trace.setSpanContext(context.active(), sender), () =>
      environment.run({ message: 'pay with visa-4242', sessionId: 'a/session' }),
    );
    const spans = exported.getFinishedSpans();
    const [turn] = spans.filter(({ name }) => name === 'invoke_agent cashier');
    expect(spans.map(({ name }) => name)).toEqual([
      'chat gemini-2.5-flash',
      'execute_tool pay',
      'chat gemini-2.5-flash',
      'invoke_agent cashier',
    ]);
    expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([sender.traceId]));
    expect(turn?.parentSpanContext?.spanId).toBe(sender.spanId);
    for (const span of spans) {
      if (span !== turn) expect(span.parentSpanContext?.spanId).toBe(turn?.spanContext().spanId);
    }
    expect(turn?.attributes).toMatchObject({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'cashier',
      'holdfast.invocation_id': result.invocationId,
      'gen_ai.usage.input_tokens': result.usage.promptTokens,
      'holdfast.model_calls': 2,
    });
    expect(spans[1]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'pay',
    });
    expect(withinTool?.spanId).toBe(spans[1]?.spanContext().spanId);
    expect(textOf(spans)).not.toContain('visa-4242');
    expect(await detailsOf(workflowId)).toContain('[transcript](https://desk.example/test/ada/a%2Fsession)');
  });

  test('has the tokens of a provider’s cache, read and written [model.aiSdk.cacheWrite]', () => {
    const usageMetadata = { promptTokenCount: 90, cachedContentTokenCount: 50, cacheWriteTokenCount: 30 };
    expect(answeredChat({ usageMetadata }).attributes).toEqual({
      'gen_ai.usage.input_tokens': 90,
      'gen_ai.usage.cache_read.input_tokens': 50,
      'gen_ai.usage.cache_creation.input_tokens': 30,
    });
  });

  test('is one trace too where the client isn’t traced [traces.genai]', async () => {
    environment.gemini.reset(script({ card: 'visa-4242' }));
    await environment.run({ message: 'pay' });
    const spans = exported.getFinishedSpans();
    expect(spans).toHaveLength(4);
    expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
    const turn = spans.at(-1);
    expect(turn?.parentSpanContext).toBeUndefined();
    expect(spans[0]?.parentSpanContext?.spanId).toBe(turn?.spanContext().spanId);
  });

  test('a sender that isn’t sampled has decided for the turn [traces.genai]', async () => {
    environment.gemini.reset(script({ card: 'visa-4242' }));
    const sender = { traceId: '0af7651916cd43dd8448eb211c80319d', spanId: 'b7ad6b7169203331', traceFlags: 0 };
    await context.with(trace.setSpanContext(context.active(), sender), () =>
      environment.run({ message: 'pay' }),
    );
    expect(exported.getFinishedSpans()).toEqual([]);
  });

  test('its span lasts from before its first model call to behind its last [traces.genai]', async () => {
    environment.gemini.reset([reply(text('done'), { latencyMs: 150 })]);
    await environment.run({ message: 'hello' });
    const [chat, turn] = exported.getFinishedSpans().map(millisecondsOf);
    expect(turn?.start).toBeLessThanOrEqual(chat?.start ?? 0);
    expect(turn?.end).toBeGreaterThanOrEqual(chat?.end ?? 0);
  });

  test('a message that waits has its own sender [traces.genai]', async () => {
    const first = Promise.withResolvers<void>();
    environment.gemini.reset(async (_request, { index }) => {
      if (index === 0) await first.promise;
      return text('done');
    });
    const names = { app: 'test', userId: 'ada', sessionId: 'queued' };
    const begun = await environment.client.sendMessage({ ...names, message: 'one' });
    await environment.gemini.waitForRequests(1);
    const sender = { traceId: '1af7651916cd43dd8448eb211c80319c', spanId: 'c7ad6b7169203331', traceFlags: 1 };
    const queued = await context.with(trace.setSpanContext(context.active(), sender), () =>
      environment.client.sendMessage({ ...names, message: 'two' }),
    );
    first.resolve();
    await Promise.all([begun.result(), queued.result()]);
    const turns = exported.getFinishedSpans().filter(({ name }) => name === 'invoke_agent cashier');
    expect(turns.map((turn) => turn.parentSpanContext?.spanId)).toEqual([undefined, sender.spanId]);
    expect(turns[1]?.spanContext().traceId).toBe(sender.traceId);
  });

  test('a reset tells of its end no second time [traces.genai] [metrics.prometheus]', async () => {
    environment.gemini.reset(script({ card: 'visa-4242' }));
    const ended = await environment.run({ app: 'reset', message: 'pay', runConfig: { maxLlmCalls: 1 } });
    expect(ended.result.error?.code).toBe('LLM_CALLS_LIMIT_EXCEEDED');
    const { temporal } = environment;
    const firstTask = ended.history.events?.find((event) => event.workflowTaskCompletedEventAttributes);
    const { runId } = await temporal.workflowService.resetWorkflowExecution({
      namespace: temporal.options.namespace,
      workflowExecution: { workflowId: ended.workflowId },
      workflowTaskFinishEventId: firstTask?.eventId ?? null,
      requestId: 'reset',
    });
    await expect(temporal.workflow.getHandle(ended.workflowId, runId).result()).rejects.toThrow();
    expect(exported.getFinishedSpans().filter(({ name }) => name === 'invoke_agent cashier')).toHaveLength(1);
    expect(sum(await metrics(), 'holdfast_turns', { app: 'reset' })).toBe(1);
    expect(sum(await metrics(), 'holdfast_calls', { app: 'reset' })).toBe(1);
  });

  test('failures are told by their type, and never by their text [traces.genai]', async () => {
    environment.gemini.reset(script({ card: 'visa-4242', fails: true }));
    await environment.run({ message: 'pay' });
    const [, failed] = exported.getFinishedSpans();
    expect(failed?.name).toBe('execute_tool pay');
    expect(failed?.attributes['error.type']).toBe('HOLDFAST_TOOL_FAILED');
    expect(textOf(exported.getFinishedSpans())).not.toContain('visa-4242');
  });
});

test('turns, steps, calls, tokens, waiting and failures are counted, beside the SDK’s own metrics [metrics.prometheus]', async () => {
  environment.gemini.reset([error(500, 'once'), ...Array(2).fill(text('done'))]);
  const before = await metrics();
  await environment.run({ app: 'counted', message: 'hello' });
  const after = await metrics();
  const grown = (name: string, labels: Record<string, string>) =>
    sum(after, name, { app: 'counted', ...labels }) - sum(before, name, { app: 'counted', ...labels });
  expect(grown('holdfast_turns', { agent: 'cashier', status: 'completed' })).toBe(1);
  expect(grown('holdfast_steps', { outcome: 'final', model: 'gemini-2.5-flash' })).toBe(1);
  expect(grown('holdfast_failures', { kind: 'model' })).toBe(1);
  expect(grown('holdfast_tokens', { type: 'input' })).toBeGreaterThan(0);
  expect(grown('holdfast_turn_seconds_count', {})).toBe(1);
  expect(grown('holdfast_message_wait_seconds_count', {})).toBe(1);
  expect(grown('holdfast_model_seconds_count', {})).toBe(1);
  expect(sum(after, 'temporal_workflow_completed', {})).toBeGreaterThan(0);
});

test('an answer in the model’s place is a step, and no model call [metrics.prometheus] [traces.genai]', async () => {
  const { result } = await environment.run({ app: 'cached', agent: 'parrot', message: 'hello' });
  expect(result.text).toBe('polly');
  expect(exported.getFinishedSpans().map(({ name }) => name)).toEqual(['invoke_agent parrot']);
  const after = await metrics();
  expect(sum(after, 'holdfast_steps', { app: 'cached', outcome: 'final' })).toBe(1);
  expect(sum(after, 'holdfast_model_seconds_count', { app: 'cached' })).toBe(0);
});

test('calls are counted by tool and outcome, and no label names a person or a session [metrics.prometheus]', async () => {
  environment.gemini.reset(script({ card: 'visa-4242', fails: true }));
  await environment.run({
    app: 'calls',
    userId: 'ada-lovelace',
    sessionId: 'private-session',
    message: 'pay',
  });
  const after = await metrics();
  expect(sum(after, 'holdfast_calls', { app: 'calls', tool: 'pay', outcome: 'failed' })).toBe(1);
  expect(sum(after, 'holdfast_failures', { app: 'calls', kind: 'tool', name: 'pay' })).toBe(1);
  expect(sum(after, 'holdfast_call_seconds_count', { app: 'calls', tool: 'pay' })).toBe(1);
  const ours = after.filter((line) => line.startsWith('holdfast_')).join('\n');
  expect(ours).not.toMatch(/ada-lovelace|private-session|visa-4242/);
});

test('turns that wait are shown, with the age of the oldest wait, and requests to people are counted once, by kind and by what became of them [metrics.prometheus]', async () => {
  environment.gemini.reset(stepCalls([[{ name: 'refund' }, { name: 'refund' }, { name: 'refund' }]]));
  const turn = await AskingTurn.start(environment, { app: 'asked', agent: 'cashier' });
  const [first, second, third] = await turn.pending(3);
  const waiting = { app: 'asked', kind: 'confirmation' };
  await vi.waitFor(async () => expect(sum(await metrics(), 'holdfast_turns_waiting', waiting)).toBe(1), {
    timeout: 120_000,
  });
  expect(sum(await metrics(), 'holdfast_longest_wait_seconds', waiting)).toBeGreaterThan(0);
  const decided = (request = first, confirmed = true) =>
    turn.confirm({ requestId: request?.requestId ?? '', confirmed });
  await decided(first);
  await decided(second, false);
  await decided(third);
  await turn.result();
  const labels = { app: 'asked', agent: 'cashier', tool: 'refund', kind: 'confirmation' };
  const after = await metrics();
  expect(sum(after, 'holdfast_requests', { ...labels, outcome: 'approved' })).toBe(2);
  expect(sum(after, 'holdfast_requests', { ...labels, outcome: 'rejected' })).toBe(1);
  await vi.waitFor(async () => expect(sum(await metrics(), 'holdfast_turns_waiting', waiting)).toBe(0), {
    timeout: 120_000,
  });
});

test('a refused request is a failure, and a message that isn’t taken a failed turn [metrics.prometheus]', async () => {
  environment.gemini.reset([error(400, 'no such thing')]);
  const sent = { app: 'refused', sessionId: 'refused', messageId: 'same' };
  await environment.run({ ...sent, message: 'hello' });
  const conflict = await environment.run({ ...sent, message: 'something else' });
  expect(conflict.result.error?.code).toBe('HOLDFAST_MESSAGE_CONFLICT');
  const after = await metrics();
  const code = 'HOLDFAST_MODEL_BAD_REQUEST';
  expect(sum(after, 'holdfast_failures', { app: 'refused', kind: 'model', code })).toBe(1);
  expect(sum(after, 'holdfast_turns', { app: 'refused', code })).toBe(1);
  expect(sum(after, 'holdfast_turns', { app: 'refused', status: 'failed' })).toBe(2);
});

test('durations of a second and of a minute are told apart [metrics.prometheus]', async () => {
  environment.gemini.reset(script({ card: 'visa-4242' }));
  await environment.run({ app: 'durations', message: 'pay' });
  const after = await metrics();
  for (const name of ['turn', 'message_wait', 'model', 'call']) {
    const bounds = after
      .filter((line) => line.startsWith(`holdfast_${name}_seconds_bucket`) && line.includes('"durations"'))
      .map((line) => Number(/le="([^"]+)"/.exec(line)?.[1]));
    expect(bounds, name).toEqual(expect.arrayContaining([0.1, 1, 60, 3_600]));
  }
});

async function detailsOf(workflowId: string): Promise<string> {
  return await environment.temporal.workflow
    .getHandle(workflowId)
    .query('__temporal_workflow_metadata')
    .then((metadata) => (metadata as { currentDetails?: string }).currentDetails ?? '');
}

async function metrics(): Promise<string[]> {
  const response = await fetch(`http://${address}/metrics`);
  return (await response.text()).split('\n');
}

function sum(lines: readonly string[], name: string, labels: Record<string, string>): number {
  return lines
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
    .filter((line) => Object.entries(labels).every(([label, value]) => line.includes(`${label}="${value}"`)))
    .reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' '))), 0);
}

function millisecondsOf({ startTime, endTime }: ReadableSpan) {
  const of = ([seconds, nanoseconds]: ReadableSpan['startTime']) =>
    Math.round(seconds * 1e3 + nanoseconds / 1e6);
  return { start: of(startTime), end: of(endTime) };
}

function textOf(spans: readonly ReadableSpan[]): string {
  return JSON.stringify(
    spans.map(({ name, attributes, events, status }) => ({ name, attributes, events, status })),
  );
}
