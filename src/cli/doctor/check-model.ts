import { llmAgentsOf } from '../../agents/agents-of-tree.ts';
import { answeringModels } from '../../agents/routed-llm.ts';
import { variable } from '../../environment.ts';
import { nameGiven } from '../../models/ai-sdk/ai-sdk-model.ts';
import type { BaseLlm } from '../../models/base-llm.ts';
import { Gemini, isGemini } from '../../models/gemini.ts';
import { loadAgents } from '../load-agents.ts';
import { type Finding, findingsAbout, problemOf, type Surroundings } from './finding.ts';

const { fail, failed, ok, warn } = findingsAbout('model');

const ANSWER_TIMEOUT = 20_000;

const KEYS = ['GOOGLE_GENAI_API_KEY', 'GOOGLE_API_KEY', 'GEMINI_API_KEY'];

const MODEL = 'gemini-2.5-flash';

/** How the models of the file's agents are reached, Gemini without a file; never with a key's value. */
export async function checkModel({ env, askModel, agents }: Surroundings): Promise<Finding[]> {
  const models = agents === undefined ? [new Gemini({ model: MODEL })] : await modelsOf(agents);
  const ways = new Map(
    models.map((model) => {
      const way = isGemini(model) && !model.hasOwnAccess ? wayToGemini(env) : wayTo(model, env);
      return [way.map(({ message }) => message).join(), { model, way }];
    }),
  );
  const asking = [...ways.values()].map(async ({ model, way }) =>
    askModel && way.every(({ status }) => status === 'ok') ? [...way, ...(await asked(model))] : way,
  );
  return (await Promise.all(asking)).flat();
}

/** None where the check of the agents says what is wrong with the file. */
async function modelsOf(file: string): Promise<BaseLlm[]> {
  try {
    const { agents } = await loadAgents(file);
    return llmAgentsOf(agents).flatMap(({ canonicalModel }) => answeringModels(canonicalModel));
  } catch {
    return [];
  }
}

/** A model that the file has made knows its key by itself. */
function wayTo(llm: BaseLlm, env: NodeJS.ProcessEnv): Finding[] {
  const { model } = llm;
  const named = nameGiven(llm);
  if (named === undefined) return ok(`${model} is a model of the file's own`);
  const { package: from, keyVariable = '', keyless, options } = named.provider;
  try {
    options?.();
  } catch (error) {
    return failed(error, 'set that variable');
  }
  if (variable(keyVariable, env) !== undefined)
    return ok(`${model} by ${from} and the key of ${keyVariable}`);
  if (keyless !== undefined) return ok(`${model} by ${from}, ${keyless}: ${keyVariable} is not set`);
  return fail(
    `no key for ${model}: its turns fail`,
    `set ${keyVariable}, or give the agent a model that has its key`,
  );
}

function wayToGemini(env: NodeJS.ProcessEnv): Finding[] {
  const vertex = env.GOOGLE_GENAI_USE_ENTERPRISE ?? env.GOOGLE_GENAI_USE_VERTEXAI ?? '';
  const key = KEYS.find((name) => env[name]);
  if (/^(true|1)$/i.test(vertex.trim())) {
    const project = env.GOOGLE_CLOUD_PROJECT?.trim();
    if (project || key || env.GOOGLE_VERTEX_BASE_URL) {
      return ok(`Gemini on Vertex AI, ${project ? `project ${project}` : 'without a project'}`);
    }
    return fail(
      'Vertex AI is asked for without a project',
      'set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, and sign in: gcloud auth application-default login',
    );
  }
  const base = env.GOOGLE_GEMINI_BASE_URL ? ', at the address of GOOGLE_GEMINI_BASE_URL' : '';
  if (key !== undefined) return ok(`Gemini by the key of ${key}${base}`);
  if (base !== '') {
    return fail(
      'no key for Gemini, and the mock server doesn’t answer where GOOGLE_GEMINI_BASE_URL is set',
      'set GEMINI_API_KEY to a key of that address, or unset GOOGLE_GEMINI_BASE_URL',
    );
  }
  return warn(
    'no key for Gemini: in holdfast run and dev a local mock server answers, with scripted words',
    'set GEMINI_API_KEY; keys: https://aistudio.google.com/apikey',
  );
}

async function asked(model: BaseLlm): Promise<Finding[]> {
  const began = performance.now();
  try {
    const request = {
      contents: [{ role: 'user', parts: [{ text: 'Answer with the word yes.' }] }],
      toolsDict: {},
    };
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT);
    for await (const _ of model.generateContentAsync(request, false, signal)) {
      return ok(`${model.model} has answered after ${Math.round(performance.now() - began)} ms`);
    }
    return fail(`${model.model} has answered with nothing`, 'ask again');
  } catch (error) {
    return fail(problemOf(error), 'docs/errors.md has a section for each code of a model error');
  }
}
