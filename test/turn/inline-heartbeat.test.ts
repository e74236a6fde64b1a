import { expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment } from '../setup/turn-environment.ts';

const beatsInline = tool({
  name: 'beats_inline',
  description: 'tells how far it is',
  execution: 'inline',
  execute: (_args, context) => {
    context.heartbeat({ done: 1 });
    return { done: true };
  },
});

test('an inline call tells how far it is, without a warning [tool.heartbeat] [tool.inline]', async () => {
  const warnings: string[] = [];
  const environment = await openTurnEnvironment({
    agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [beatsInline] })],
    script: stepCalls([[{ name: 'beats_inline' }]]),
    logger: { warn: (message) => warnings.push(message) },
  });
  const turn = await environment.run({ message: 'go' });
  // The warnings of Temporal's native part have arrived once its runtime has shut down.
  await environment.close();
  const responses = turn.events.flatMap(({ event }) => getFunctionResponses(event));
  expect(responses.map(({ response }) => response)).toEqual([{ done: true }]);
  expect(warnings.filter((warning) => /heartbeat/i.test(warning))).toEqual([]);
});
