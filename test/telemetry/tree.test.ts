import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { afterEach, expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { freePort } from '../setup/free-port.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { calling, Speaking } from '../tree/speaking.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const SENDER = 'b7ad6b7169203331';

let environment: TurnEnvironment | undefined;
afterEach(async () => {
  await environment?.close();
  environment = undefined;
});

/** A root that runs a desk, which asks an expert, who looks. */
function tree() {
  const look = tool({ name: 'look', description: 'd', execute: () => ({ seen: true }) });
  const expert = new Speaking('expert', [calling({ name: 'look' }), 'it is red'], {
    description: 'd',
    tools: [look],
  });
  const desk = new Speaking('desk', [calling({ name: 'expert', args: { request: 'look' } }), 'red'], {
    tools: [new AgentTool({ agent: expert.agent })],
  });
  return new SequentialAgent({ name: 'root', subAgents: [desk.agent] });
}

async function traced(traceparent?: string, ratio?: number, metricsAddress?: string) {
  const exported = new InMemorySpanExporter();
  environment = await openTurnEnvironment({
    agents: [tree()],
    ...(metricsAddress === undefined ? {} : { metricsAddress }),
    workerOptions: {
      tracing: {
        spanProcessors: [new SimpleSpanProcessor(exported)],
        ...(ratio === undefined ? {} : { ratio }),
      },
    },
  });
  const names = { app: 'test', userId: 'ada', sessionId: 's' };
  const handle = await environment.temporal.workflow.start('agentTurn', {
    workflowId: 'test/ada/s',
    taskQueue: 'holdfast',
    args: [{ v: 1, ...names, message: 'go', ...(traceparent === undefined ? {} : { traceparent }) }],
  });
  expect(await handle.result()).toMatchObject({ status: 'completed', text: 'red' });
  const spans = exported.getFinishedSpans();
  const nameOf = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
  const below = spans
    .filter(({ name }) => !name.startsWith('chat'))
    .map(({ name, parentSpanContext }) => {
      const above = parentSpanContext?.spanId;
      return [name, above === undefined ? undefined : (nameOf.get(above) ?? above)];
    });
  return { spans, below: Object.fromEntries(below) };
}

// The first one: a process has one runtime.
if (isDeep) {
  test('a turn is counted once, and the agents below its root apart [metrics.prometheus] [flow.sequential]', async () => {
    const address = `127.0.0.1:${await freePort()}`;
    await traced(undefined, undefined, address);
    const lines = (await (await fetch(`http://${address}/metrics`)).text()).split('\n');
    const counted = (name: string) =>
      lines
        .filter((line) => line.startsWith(`${name}{`))
        .map((line) => [/agent="(\w+)"/.exec(line)?.[1], Number(line.slice(line.lastIndexOf(' ')))]);
    expect(counted('holdfast_turns')).toEqual([['root', 1]]);
    expect(counted('holdfast_child_runs').toSorted()).toEqual([
      ['desk', 1],
      ['expert', 1],
    ]);
    expect(counted('holdfast_child_run_seconds_count').toSorted()).toEqual([
      ['desk', 1],
      ['expert', 1],
    ]);
  });
}

test('agents below a root are traced below those that run them, and those of calls below the call [traces.genai] [agentTool.run]', async () => {
  const { spans, below } = await traced(`00-${TRACE}-${SENDER}-01`);
  expect(below).toEqual({
    'invoke_agent root': SENDER,
    'invoke_agent desk': 'invoke_agent root',
    'execute_tool expert': 'invoke_agent desk',
    'invoke_agent expert': 'execute_tool expert',
    'execute_tool look': 'invoke_agent expert',
  });
  expect(new Set(spans.map((span) => span.spanContext().traceId))).toEqual(new Set([TRACE]));
  const began = (name: string) => {
    const [seconds = 0, nanoseconds = 0] = spans.find((span) => span.name === name)?.startTime ?? [];
    return seconds * 1_000 + nanoseconds / 1_000_000;
  };
  expect(began('invoke_agent desk')).toBeLessThanOrEqual(began('execute_tool expert'));
  expect(began('execute_tool expert')).toBeLessThanOrEqual(began('invoke_agent expert'));
});

test('a tree is one trace also where no client has one, and is kept or left out as a whole [traces.genai] [flow.sequential]', async () => {
  const { spans, below } = await traced();
  expect(below['invoke_agent root']).toBeUndefined();
  expect(below['invoke_agent desk']).toBe('invoke_agent root');
  expect(new Set(spans.map((span) => span.spanContext().traceId)).size).toBe(1);
  await environment?.close();
  expect((await traced(undefined, 0)).spans).toEqual([]);
});
