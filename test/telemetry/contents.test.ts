import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { noopMetricMeter } from '@temporalio/common';
import { expect, test } from 'vitest';
import { CallReport } from '../../activities/telemetry/reports.ts';
import { Tracing } from '../../activities/telemetry/tracing.ts';
import { TurnMetrics } from '../../activities/telemetry/turn-metrics.ts';
import { FunctionTool } from '../../src/tools/function-tool.ts';

const BEGUN = {
  kind: 'started',
  names: { app: 'shop', userId: 'ada', sessionId: 's1' },
  invocationId: 'e-1',
  userContent: undefined,
  state: {},
  remembered: { toolEdits: [], ends: false },
  attempt: 1,
  failures: 0,
  unknown: false,
  once: {},
} as const;

async function attributesOf(options: { contents?: boolean; sensitive?: boolean; result?: unknown }) {
  const exported = new InMemorySpanExporter();
  const tracing = new Tracing({
    spanProcessors: [new SimpleSpanProcessor(exported)],
    contents: options.contents ?? false,
  });
  const tool = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    sensitive: options.sensitive ?? false,
    execute: () => ({}),
  });
  const input = {
    v: 1,
    session: 's',
    runKey: 'e-1',
    callKey: 'e-1.1.0',
    callId: 'c',
    agent: 'a',
    args: { value: {} },
  };
  const telemetry = { metrics: new TurnMetrics(noopMetricMeter), tracing };
  const result = 'result' in options ? options.result : { receipt: 'r' };
  await new CallReport(telemetry, input, tool, BEGUN).running({ card: '4242' }, async () => result);
  return exported.getFinishedSpans()[0]?.attributes ?? {};
}

test('arguments and results are told where the worker asks for contents [traces.genai]', async () => {
  expect(await attributesOf({ contents: true })).toMatchObject({
    'gen_ai.tool.call.arguments': '{"card":"4242"}',
    'gen_ai.tool.call.result': '{"receipt":"r"}',
  });
});

test('never by default, and never those of a sensitive tool [traces.genai]', async () => {
  for (const options of [{}, { contents: true, sensitive: true }]) {
    const names = Object.keys(await attributesOf(options));
    expect(names.filter((name) => /arguments|result/.test(name))).toEqual([]);
    expect(names).toContain('gen_ai.tool.name');
  }
});

test('what is no JSON is told as its kind [traces.genai]', async () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  expect(await attributesOf({ contents: true, result: circle })).toMatchObject({
    'gen_ai.tool.call.result': '(object, no JSON)',
  });
});
