import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { plansIn } from '../../src/protocol/agent-plan.ts';
import {
  BaseExampleProvider,
  type Example,
  ExampleTool,
  isBaseExampleProvider,
} from '../../src/tools/built-in/example-tool.ts';
import { FINISH_TASK_SUCCESS_RESULT, FinishTaskTool } from '../../src/tools/built-in/finish-task-tool.ts';
import { planTool } from '../../src/tools/built-in/plan-tool.ts';
import { refusal } from './refusal.ts';
import { callOf, contextWith, emptyRequest, named } from './tool-context.ts';

describe('finish_task', () => {
  const run = (tool: FinishTaskTool, args: Record<string, unknown>) =>
    tool.runAsync({ args, toolContext: contextWith() });

  test('takes a summary, or what its schema asks for [mode.finishTask]', async () => {
    const plain = new FinishTaskTool();
    expect(plain._getDeclaration()).toMatchObject({
      name: 'finish_task',
      parametersJsonSchema: { required: ['result'] },
    });
    expect(await run(plain, { result: 'done' })).toBe(FINISH_TASK_SUCCESS_RESULT);
    expect(await run(plain, {})).toMatchObject({ error: expect.stringContaining('result') });
    const list = new FinishTaskTool(z.array(z.int()));
    expect(list._getDeclaration().parametersJsonSchema).toMatchObject({
      type: 'object',
      properties: { result: { type: 'array' } },
    });
    expect(await run(list, { result: ['x'] })).toMatchObject({ error: expect.stringContaining('[0]') });
    expect(await run(list, { result: [1] })).toBe(FINISH_TASK_SUCCESS_RESULT);
    expect(list.extractOutput({ result: [1] })).toEqual([1]);
    const request = emptyRequest();
    await list.processLlmRequest({ toolContext: contextWith(), llmRequest: request });
    expect(request.config?.systemInstruction).toContain('finish_task');
    expect(refusal(() => new FinishTaskTool(7 as never)).message).toContain('outputSchema');
  });

  test('is the name of no other tool of a task [mode.finishTask]', () => {
    const config = { name: 'helper', model: 'm', mode: 'task' } as const;
    const problem = refusal(() => new LlmAgent({ ...config, tools: [named('finish_task')] })).message;
    expect(problem).toContain('the tool that ends the task');
    const agent = new LlmAgent({ ...config, outputSchema: z.object({ n: z.number() }) });
    expect(agent.clone({ name: 'other' })).toMatchObject({ mode: 'task', disallowTransferToParent: true });
    expect(agent.finishTaskTool).toBe(agent.finishTaskTool);
    expect(refusal(() => new LlmAgent({ ...config, mode: 'chat' as never })).message).toContain(
      'mode: expected',
    );
  });
});

describe('examples', () => {
  const example: Example = {
    input: { role: 'user', parts: [{ text: 'what is the weather?' }, { text: 'in Graz' }] },
    output: [
      { role: 'model', parts: [{ functionCall: { name: 'weather', args: { city: 'Graz', days: [1] } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'weather', response: { sun: true } } }] },
      { role: 'model', parts: [{ text: 'Sunny.' }] },
    ],
  };
  async function told(tool: ExampleTool, model?: string, text = 'hi'): Promise<string> {
    const llmRequest = emptyRequest(model);
    const toolContext = contextWith({ userContent: { role: 'user', parts: text === '' ? [] : [{ text }] } });
    await tool.processLlmRequest({ toolContext, llmRequest });
    expect(llmRequest.toolsDict).toEqual({});
    return String(llmRequest.config?.systemInstruction ?? '');
  }

  test('stand in the instruction of each request, with calls and responses [examples.instruction]', async () => {
    const text = await told(new ExampleTool([example]));
    expect(text).toContain(
      'EXAMPLE 1:\nBegin example\n[user]\nwhat is the weather?\nin Graz\n[model]\n```\nweather(city="Graz", days=[1])\n```\n' +
        '[user]\n```\n{"name":"weather","response":{"sun":true}}\n```\n[model]\nSunny.\nEnd example',
    );
    expect(await told(new ExampleTool([example]), 'gemini-3-pro')).toContain('```tool_code\nweather(');
    expect(await told(new ExampleTool([example]), undefined, '')).toBe('');
    expect(await told(new ExampleTool([]))).toBe('');
  });

  test('may be chosen for what the user says [examples.instruction]', async () => {
    class Chosen extends BaseExampleProvider {
      override async getExamples(query: string): Promise<Example[]> {
        return query === 'hi' ? [example] : [];
      }
    }
    const provider = new Chosen();
    expect([provider, {}, null, example].map(isBaseExampleProvider)).toEqual([true, false, false, false]);
    expect(await told(new ExampleTool(provider))).toContain('EXAMPLE 1:');
    expect(await told(new ExampleTool(provider), undefined, 'bye')).toBe('');
    expect(refusal(() => new ExampleTool({} as never)).message).toContain('examples: expected a list');
  });
});

describe('a plan', () => {
  const run = async (items: unknown) => {
    const toolContext = contextWith({ call: callOf() });
    const answer = await planTool().runAsync({ args: { items }, toolContext });
    return { answer, delta: toolContext.actions.stateDelta };
  };

  test('is kept in the state under the name of its agent, bounded [plan.state]', async () => {
    const items = [
      { text: 'look', status: 'done' },
      { text: 'write', status: 'in_progress' },
      { text: 'test', status: 'pending' },
    ];
    expect(await run(items)).toEqual({ answer: { steps: 3, done: 1 }, delta: { plan_of_support: items } });
    expect(plansIn({ plan_of_support: items, other: 1 })).toEqual([
      { agent: 'support', lines: ['☑ look', '▸ write', '☐ test'] },
    ]);
    await expect(run([{ text: 'x', status: 'late' }])).rejects.toThrow('items[0].status');
    await expect(run(Array(51).fill(items[0]))).rejects.toThrow('items');
    await expect(run([{ text: 'x'.repeat(201), status: 'done' }])).rejects.toThrow('items[0].text');
  });

  test('that somebody else has written is shown as far as it is one [plan.shown]', () => {
    const long = Array(100).fill({ text: 'x'.repeat(500), status: 'odd' });
    const [plan] = plansIn({ plan_of_x: long, plan_of_y: 'text', plan_of_z: [1, null, { text: 2 }] });
    expect(plan?.lines).toHaveLength(50);
    expect(plan?.lines[0]).toBe(`☐ ${'x'.repeat(200)}`);
    expect(plansIn({ plan_of_y: 'text', plan_of_z: [1, null, { text: 2 }] })).toEqual([]);
  });
});
