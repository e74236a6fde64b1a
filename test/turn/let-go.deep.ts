import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Context } from '@temporalio/activity';
import { expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { openTurnEnvironment } from '../setup/turn-environment.ts';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

test('what activities had in hand is let go once they have ended, long before their timeouts [tool.timeout] [model.silent]', async () => {
  const seen: WeakRef<Context>[] = [];
  const see = () => seen.push(new WeakRef(Context.current()));
  const look = tool({
    name: 'look',
    description: 'looks',
    execute: (): object => {
      see();
      return {};
    },
  });
  const broken = tool({
    name: 'broken',
    description: 'fails',
    retry: { maximumAttempts: 1 },
    execute: () => {
      see();
      throw new Error('no luck');
    },
  });
  const model = new OwnModel(async ({ contents }) => {
    see();
    if (contents.at(-1)?.parts?.some((part) => part.functionResponse)) return saying('done');
    const parts = ['look', 'broken'].map((name) => ({ functionCall: { name, args: {} } }));
    return { content: { role: 'model', parts } };
  });
  const onToolErrorCallback = () => undefined;
  const agent = new LlmAgent({ name: 'looker', model, tools: [look, broken], onToolErrorCallback });
  const environment = await openTurnEnvironment({ agents: [agent] });
  try {
    const { result } = await environment.run({ message: 'go', sessionId: randomUUID(), agent: 'looker' });
    expect(result).toMatchObject({ status: 'completed', text: 'done' });
    expect(seen).toHaveLength(4);
    await expect
      .poll(() => {
        collect();
        return seen.filter((context) => context.deref() !== undefined).length;
      })
      .toBe(0);
  } finally {
    await environment.close();
  }
});
