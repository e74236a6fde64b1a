import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { Part } from '../../src/events/content.ts';
import { buildRequest } from '../../src/flows/build-request.ts';
import { BasePlanner, BuiltInPlanner, PlanReActPlanner } from '../../src/planners/planners.ts';
import { Context } from '../../src/tools/context.ts';
import { refusal } from '../definitions/refusal.ts';
import { siteOf } from './request-scene.ts';

const base = { name: 'support', model: 'gemini-2.5-flash' };
const planner = new PlanReActPlanner();

function processed(parts: Part[]): Part[] | undefined {
  return planner.processPlanningResponse(new Context(siteOf(new LlmAgent(base)).init), parts);
}

const call = (name: string): Part => ({ functionCall: { name, args: {} } });

describe('planning by thinking [agent.planner]', () => {
  test("sets the model's thinking, in the place of the agent's", async () => {
    const agent = new LlmAgent({
      ...base,
      planner: new BuiltInPlanner({ thinkingConfig: { includeThoughts: true, thinkingBudget: 512 } }),
      generateContentConfig: { temperature: 0.1 },
    });
    const { request } = await buildRequest(siteOf(agent));
    expect(request.config).toMatchObject({
      temperature: 0.1,
      thinkingConfig: { includeThoughts: true, thinkingBudget: 512 },
      systemInstruction: 'You are an agent. Your internal name is "support".',
    });
  });

  test.each<[object, string]>([
    [{}, 'BuiltInPlanner: thinkingConfig: required'],
    [{ thinkingConfig: 5 }, 'BuiltInPlanner: thinkingConfig: expected an object, got number'],
    [{ thinking: {} }, 'BuiltInPlanner: thinking: unknown option; did you mean "thinkingConfig"?'],
  ])('%j is refused', (options, message) => {
    expect(refusal(() => new BuiltInPlanner(options as never)).message).toBe(message);
  });
});

describe('planning by tags [agent.planner]', () => {
  test('is told in the instruction, and thoughts of the contents are sent as text', async () => {
    const contents = [
      { role: 'user', parts: [{ text: 'go' }] },
      { role: 'model', parts: [{ text: 'a plan', thought: true, thoughtSignature: 'AA==' }, { text: 'so' }] },
    ];
    const { request } = await buildRequest(siteOf(new LlmAgent({ ...base, planner }), { contents }));
    for (const tag of ['PLANNING', 'REPLANNING', 'REASONING', 'ACTION', 'FINAL_ANSWER']) {
      expect(request.config?.systemInstruction).toContain(`/*${tag}*/`);
    }
    expect(request.contents).toEqual([
      contents[0],
      { role: 'model', parts: [{ text: 'a plan', thoughtSignature: 'AA==' }, { text: 'so' }] },
    ]);
    expect(contents[1]?.parts[0]).toHaveProperty('thought');
  });

  test('plan, reasoning and actions are thoughts, what stands behind the final tag is the answer', () => {
    expect(
      processed([{ text: '/*PLANNING*/1. look' }, { text: '/*REASONING*/it is 5/*FINAL_ANSWER*/Five.' }]),
    ).toEqual([
      { text: '/*PLANNING*/1. look', thought: true },
      { text: '/*REASONING*/it is 5/*FINAL_ANSWER*/', thought: true },
      { text: 'Five.' },
    ]);
    expect(processed([{ text: '\n/*ACTION*/go' }])).toEqual([{ text: '\n/*ACTION*/go', thought: true }]);
    expect(processed([{ text: 'Just so.' }])).toEqual([{ text: 'Just so.' }]);
    expect(processed([])).toBeUndefined();
  });

  test('a signature stays with the end of what it signs', () => {
    const thoughtSignature = 'AA==';
    expect(processed([{ text: 'x/*FINAL_ANSWER*/y', thoughtSignature }])).toEqual([
      { text: 'x/*FINAL_ANSWER*/', thought: true },
      { text: 'y', thoughtSignature },
    ]);
    expect(processed([{ text: '/*ACTION*/x', thoughtSignature }, call('a')])).toEqual([
      { text: '/*ACTION*/x', thought: true, thoughtSignature },
      call('a'),
    ]);
  });

  test('of calls the first ones in a row are kept, those without a name never', () => {
    const parts = [{ text: '/*ACTION*/' }, call(''), call('a'), call('b'), { text: 'result: 1' }, call('c')];
    expect(processed(parts)).toEqual([{ text: '/*ACTION*/', thought: true }, call('a'), call('b')]);
  });
});

test('a planner of your own adds its instruction [agent.planner]', async () => {
  class Terse extends BasePlanner {
    override buildPlanningInstruction() {
      return 'Plan in one line.';
    }
    override processPlanningResponse() {
      return undefined;
    }
  }
  const { request } = await buildRequest(siteOf(new LlmAgent({ ...base, planner: new Terse() })));
  expect(request.config?.systemInstruction).toContain('Plan in one line.');
});

test.each([
  [async () => 'Plan.', 'a promise'],
  [() => 5, 'number'],
])('an instruction that is no text is refused, %s [agent.planner]', async (buildPlanningInstruction, got) => {
  const own = { buildPlanningInstruction, processPlanningResponse: () => undefined };
  const agent = new LlmAgent({ ...base, planner: own as unknown as BasePlanner });
  await expect(buildRequest(siteOf(agent))).rejects.toThrow(
    `planner.buildPlanningInstruction must return a string or undefined, returned ${got}`,
  );
});
