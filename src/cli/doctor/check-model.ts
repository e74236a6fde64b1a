import { Gemini } from '../../models/gemini.ts';
import { type Finding, fail, ok, problemOf, type Surroundings, warn } from './finding.ts';

const ANSWER_TIMEOUT = 20_000;

const KEYS = ['GOOGLE_GENAI_API_KEY', 'GOOGLE_API_KEY', 'GEMINI_API_KEY'];

const MODEL = 'gemini-2.5-flash';

/** How agents that ask Gemini reach it; never with a key's value. */
export async function checkModel({ env, askModel }: Surroundings): Promise<Finding[]> {
  const way = wayToGemini(env);
  if (way.status !== 'ok' || !askModel) return [way];
  return [way, await asked()];
}

function wayToGemini(env: NodeJS.ProcessEnv): Finding {
  const vertex = env.GOOGLE_GENAI_USE_ENTERPRISE ?? env.GOOGLE_GENAI_USE_VERTEXAI ?? '';
  const key = KEYS.find((name) => env[name]);
  if (/^(true|1)$/i.test(vertex.trim())) {
    const project = env.GOOGLE_CLOUD_PROJECT?.trim();
    if (project || key || env.GOOGLE_VERTEX_BASE_URL) {
      return ok('model', `Gemini on Vertex AI, ${project ? `project ${project}` : 'without a project'}`);
    }
    return fail(
      'model',
      'Vertex AI is asked for without a project',
      'set GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, and sign in: gcloud auth application-default login',
    );
  }
  const base = env.GOOGLE_GEMINI_BASE_URL ? ', at the address of GOOGLE_GEMINI_BASE_URL' : '';
  if (key !== undefined) return ok('model', `Gemini by the key of ${key}${base}`);
  if (base !== '') {
    return fail(
      'model',
      'no key for Gemini, and the mock server doesn’t answer where GOOGLE_GEMINI_BASE_URL is set',
      'set GEMINI_API_KEY to a key of that address, or unset GOOGLE_GEMINI_BASE_URL',
    );
  }
  return warn(
    'model',
    'no key for Gemini: in holdfast run and dev a local mock server answers, with scripted words',
    'set GEMINI_API_KEY; keys: https://aistudio.google.com/apikey',
  );
}

async function asked(): Promise<Finding> {
  const began = performance.now();
  try {
    const request = {
      model: MODEL,
      contents: [{ role: 'user', parts: [{ text: 'Answer with the word yes.' }] }],
      toolsDict: {},
    };
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT);
    for await (const _ of new Gemini({ model: MODEL }).generateContentAsync(request, false, signal)) {
      return ok('model', `${MODEL} has answered after ${Math.round(performance.now() - began)} ms`);
    }
    return fail('model', `${MODEL} has answered with nothing`, 'ask again');
  } catch (error) {
    return fail('model', problemOf(error), 'docs/errors.md has a section for each code of a model error');
  }
}
