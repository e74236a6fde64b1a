import { expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { buildRequest } from '../../src/flows/build-request.ts';
import { BaseTool, type BaseToolParams } from '../../src/tools/base-tool.ts';
import { requestInputTool } from '../../src/tools/built-in/question-tools.ts';
import { StaticToolset } from '../../src/tools/toolsets.ts';
import { withConfirmation } from '../../src/tools/with-confirmation.ts';
import { siteOf } from '../flows/request-scene.ts';
import { refusal } from './refusal.ts';

class Renamed extends BaseTool {
  override readonly name: string;

  constructor(name: string, params: BaseToolParams = { name: 'fine', description: '' }) {
    super(params);
    this.name = name;
  }
  override _getDeclaration() {
    return { name: this.name, description: '' };
  }
  override async runAsync() {
    return undefined;
  }
}

const agentOf = (tools: ConstructorParameters<typeof LlmAgent>[0]['tools']) =>
  new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', ...(tools === undefined ? {} : { tools }) });
const offered = async (...tools: Parameters<typeof agentOf>[0] & object) =>
  Object.keys((await buildRequest(siteOf(agentOf(tools)))).request.toolsDict);

// Activities are named like their tools.
test.each([
  ['holdfast.callModel', 'must not start with "holdfast."'],
  ['adk_request_input', 'must not start with "adk_request_"'],
  ['__proto__', 'JavaScript gives this name a meaning of its own'],
  ['a b', 'must start with a letter'],
])('a class can not give its tool the name %s after all [tool.base]', async (name, problem) => {
  const refused = `LlmAgent "support": tools[0]: name: ${problem}`;
  expect(refusal(() => agentOf([new Renamed(name)])).message).toContain(refused);
  const toolset = new StaticToolset([new Renamed(name)]);
  await expect(offered(toolset)).rejects.toThrow(problem);
  await expect(offered(withConfirmation(toolset, true))).rejects.toThrow(problem);
});

test('tools of Holdfast with such names come in toolsets, too [tool.base]', async () => {
  const toolset = new StaticToolset([requestInputTool]);
  expect(await offered(requestInputTool)).toEqual(['adk_request_input']);
  expect(await offered(toolset)).toEqual(['adk_request_input']);
  expect(await offered(withConfirmation(toolset, false))).toEqual(['adk_request_input']);
});
