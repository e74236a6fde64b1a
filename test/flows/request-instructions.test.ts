import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent, type LlmAgentConfig } from '../../src/agents/llm-agent.ts';
import type { Content } from '../../src/events/content.ts';
import { buildRequest } from '../../src/flows/build-request.ts';
import { answerBySchema } from '../../src/flows/model-output.ts';
import { Gemini } from '../../src/models/gemini.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { type Scene, siteOf } from './request-scene.ts';

const base = { name: 'support', model: 'gemini-2.5-flash' };
const IDENTITY = 'You are an agent. Your internal name is "support".';
const user = (text: string): Content => ({ role: 'user', parts: [{ text }] });
const find = tool({ name: 'find', description: '', execute: () => 1 });
const answer = z.object({ city: z.string() });

async function requestOf(config: Partial<LlmAgentConfig>, scene?: Scene): Promise<LlmRequest> {
  return (await buildRequest(siteOf(new LlmAgent({ ...base, ...config }), scene))).request;
}

async function systemOf(config: Partial<LlmAgentConfig>, scene?: Scene) {
  return (await requestOf(config, scene)).config?.systemInstruction;
}

describe('the identity instruction [instruction.identity]', () => {
  test('tells name and description', async () => {
    expect(await systemOf({})).toBe(IDENTITY);
    expect(await systemOf({ description: 'Helps "all".' })).toBe(
      `${IDENTITY}\n\nThe description about you is "Helps "all"."`,
    );
  });

  test('is left out where no agent can be transferred to, as with an outputSchema', async () => {
    const alone = { disallowTransferToParent: true, disallowTransferToPeers: true };
    expect(await systemOf(alone)).toBeUndefined();
    expect(await systemOf({ disallowTransferToParent: true })).toBe(IDENTITY);
    expect(await systemOf({ outputSchema: answer, description: 'd' })).toBeUndefined();
  });
});

describe('instructions', () => {
  test('the global one stands between identity and agent, filled in alike [instruction.global]', async () => {
    const config = { globalInstruction: 'Be {tone}.', instruction: async () => 'Help {tone}.' };
    expect(await systemOf(config, { state: { tone: 'kind' } })).toBe(
      `${IDENTITY}\n\nBe kind.\n\nHelp {tone}.`,
    );
    expect(await systemOf({ globalInstruction: () => 'Be {tone}.' })).toBe(`${IDENTITY}\n\nBe {tone}.`);
  });

  test('state that callbacks have just written counts [instruction.values]', async () => {
    const site = siteOf(new LlmAgent({ ...base, instruction: '{a} {b}' }), { state: { a: 1, b: 2 } });
    Object.assign(site.init.eventActions?.stateDelta ?? {}, { a: 'new' });
    const { request } = await buildRequest(site);
    expect(request.config?.systemInstruction).toBe(`${IDENTITY}\n\nnew 2`);
  });

  test("an artifact without a service is ADK's error [instruction.artifact]", async () => {
    for (const instruction of ['{artifact.notes.txt}', '{artifact.notes.txt?}']) {
      await expect(requestOf({ instruction })).rejects.toMatchObject({
        code: 'HOLDFAST_TEMPLATE_VALUE',
        message: 'Artifact service is not initialized.',
      });
    }
  });

  test('a static one is sent as it is, and the other one before what the user said last [instruction.static]', async () => {
    const { config, contents } = await requestOf(
      { staticInstruction: 'Keep {this}.', instruction: 'Today is {day}.' },
      { state: { day: 'Monday' } },
    );
    expect(config?.systemInstruction).toBe(`${IDENTITY}\n\nKeep {this}.`);
    expect(contents).toEqual([
      user('first'),
      { role: 'model', parts: [{ text: 'answer' }] },
      user('Today is Monday.'),
      user('second'),
    ]);
  });

  test('behind calls that were answered, it follows the responses [instruction.static]', async () => {
    const history: Content[] = [
      user('go'),
      { role: 'model', parts: [{ functionCall: { name: 'find', args: {} } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'find', response: {} } }] },
    ];
    const scene = { contents: history };
    const { contents } = await requestOf({ staticInstruction: 'Static.', instruction: 'Dynamic.' }, scene);
    expect(contents).toEqual([...history, user('Dynamic.')]);
  });

  test('what is no text of a static one is referred to [instruction.static]', async () => {
    const image = { inlineData: { data: 'AA==', mimeType: 'image/png', displayName: 'logo' } };
    const file = { fileData: { fileUri: 'gs://a/b', mimeType: 'text/plain' } };
    const { config, contents } = await requestOf(
      { staticInstruction: { role: 'user', parts: [{ text: 'Look:' }, image, file] } },
      { contents: [user('hi')] },
    );
    expect(config?.systemInstruction).toBe(
      `${IDENTITY}\n\nLook:\n\n[Reference to inline binary data: inline_data_0 ('logo', type: image/png)]\n\n` +
        '[Reference to file data: file_data_1 (URI: gs://a/b, type: text/plain)]',
    );
    expect(contents).toEqual([
      { role: 'user', parts: [{ text: 'Referenced inline data: inline_data_0' }, image] },
      { role: 'user', parts: [{ text: 'Referenced file data: file_data_1' }, file] },
      user('hi'),
    ]);
  });
});

test.each<[unknown, string]>([
  [{ uri: 'gs://a/b', mimeType: 'text/plain' }, 'uri, mimeType'],
  [[{ functionCall: { name: 'a' } }], 'functionCall'],
  [{ parts: [{ text: 5 }] }, 'text'],
])('a static instruction of %j, which would not be sent, is refused [instruction.static]', (given, has) => {
  expect(() => new LlmAgent({ ...base, staticInstruction: given as never })).toThrow(
    `LlmAgent "support": staticInstruction: expected a part with text, inlineData or fileData, got one with ${has}`,
  );
});

describe('an output schema', () => {
  test.each([
    ['nothing at all', z.any(), 'response: required'],
    ['nothing', z.array(z.string()), 'items: required'],
  ])(
    'an answer by the tool must say something, %s is not enough [agent.setModelResponse]',
    async (_, outputSchema, problem) => {
      const agent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', outputSchema, tools: [find] });
      const call = { name: 'set_model_response', args: {} };
      const { errors } = (await answerBySchema(agent, [call])) as { errors: ReadonlyMap<object, string> };
      expect(errors.get(call)).toContain(`failed due to validation errors: ${problem}`);
    },
  );

  test('is sent with the request of an agent without tools [request.schema] [agent.outputSchema]', async () => {
    const { config } = await requestOf({ outputSchema: answer, instruction: 'Answer.' });
    expect(config).toMatchObject({
      systemInstruction: 'Answer.',
      responseMimeType: 'application/json',
      responseJsonSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    });
    expect(config).not.toHaveProperty('tools');
  });

  test('beside tools, for Gemini 2 on Vertex AI too [agent.outputSchema]', async () => {
    const model = new Gemini({ model: 'gemini-2.5-pro', vertexai: true, project: 'p', location: 'l' });
    const { config, toolsDict } = await requestOf({ model, outputSchema: answer, tools: [find] });
    expect(config?.responseJsonSchema).toMatchObject({ type: 'object' });
    expect(Object.keys(toolsDict)).toEqual(['find']);
  });

  test('is the tool set_model_response elsewhere, offered last and always [agent.setModelResponse]', async () => {
    for (const model of [
      'gemini-2.5-flash',
      new Gemini({ model: 'gemini-1.5-pro', vertexai: true, project: 'p', location: 'l' }),
    ]) {
      const { config, toolsDict } = await requestOf({ model, outputSchema: answer, tools: [find] });
      expect(config).not.toHaveProperty('responseJsonSchema');
      expect(config?.systemInstruction).toBe(
        'To output the final result, you must call the "set_model_response" function with the appropriate values. Do not output anything else.',
      );
      expect(config?.tools).toMatchObject([
        {
          functionDeclarations: [
            { name: 'find' },
            { name: 'set_model_response', parametersJsonSchema: { required: ['city'] } },
          ],
        },
      ]);
      expect(Object.keys(toolsDict)).toEqual(['find', 'set_model_response']);
    }
  });

  test.each([
    ['items', z.array(z.string())],
    ['response', z.enum(['a', 'b'])],
  ])(
    'that is no object is wrapped as %s for the tool [agent.setModelResponse]',
    async (field, outputSchema) => {
      const { config } = await requestOf({ outputSchema, tools: [find] });
      expect(config?.tools).toMatchObject([
        {
          functionDeclarations: [
            { name: 'find' },
            { parametersJsonSchema: { type: 'object', properties: { [field]: {} }, required: [field] } },
          ],
        },
      ]);
    },
  );
});
