import { registerHooks } from 'node:module';

/** Prints what an import of the library loads. */
const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
const { InMemoryRunner, LlmAgent } = await import('../../src/index.ts');
new InMemoryRunner({ agent: new LlmAgent({ name: 'plain', model: 'gemini-2.5-flash' }) });
console.log(JSON.stringify(loaded));
