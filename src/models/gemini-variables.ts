import { AsyncLocalStorage } from 'node:async_hooks';

/** Variables that say how Gemini is reached. */
export type GeminiVariables = Readonly<Record<string, string | undefined>>;

const given = new AsyncLocalStorage<GeminiVariables>();

/** Runs work whose models find Gemini by these variables instead of the process's, beside other work that doesn't. */
export function withGeminiVariables<T>(variables: GeminiVariables, work: () => T): T {
  return given.run(variables, work);
}

export function geminiVariables(): GeminiVariables {
  return given.getStore() ?? process.env;
}
