import { llmAgentsOf } from '../agents/agents-of-tree.ts';
import type { BaseAgent } from '../agents/base-agent.ts';
import { answeringModels } from '../agents/routed-llm.ts';
import { variable } from '../environment.ts';
import { isGemini } from '../models/gemini.ts';
import { demoScript } from './gemini-demo-script.ts';
import { type GeminiScript, type MockGemini, startMockGemini } from './mock-gemini.ts';

const KEYS = [
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GOOGLE_GENAI_API_KEY',
  'GOOGLE_GENAI_USE_VERTEXAI',
  'GOOGLE_GENAI_USE_ENTERPRISE',
  'GOOGLE_VERTEX_BASE_URL',
  'GOOGLE_GEMINI_BASE_URL',
];

function isOn(value: string | undefined): boolean {
  return value !== undefined && !/^(false|0)$/i.test(value);
}

/** Whether an agent of these trees asks Gemini, and no variable says how it is reached. */
export function lacksGeminiKey(agents: readonly BaseAgent[], env: NodeJS.ProcessEnv): boolean {
  if (KEYS.some((name) => isOn(variable(name, env)))) return false;
  return llmAgentsOf(agents).some((agent) => answeringModels(agent.canonicalModel).some(isGemini));
}

/**
 * Without a key for Gemini, agents that ask it get a local mock server, scripted by their file; `env` is changed so that
 * the model finds it.
 *
 * @param options `ref`: whether it keeps the process up; by default it does.
 */
export async function offerGemini(
  agents: readonly BaseAgent[],
  script: GeminiScript | undefined,
  env: NodeJS.ProcessEnv,
  note: (line: string) => void,
  options: { ref?: boolean } = {},
): Promise<MockGemini | undefined> {
  if (!lacksGeminiKey(agents, env)) return undefined;
  const mock = await startMockGemini({ ...options, script: script ?? demoScript });
  Object.assign(env, mock.env);
  note('GEMINI_API_KEY is not set: a local mock Gemini server answers; its words are scripted');
  return mock;
}
