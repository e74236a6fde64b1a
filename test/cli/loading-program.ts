import { registerHooks } from 'node:module';
import { exitCodeOf } from '../../src/cli/main.ts';

/** Runs a command line and prints what it loads after the commands' own declarations. */
const loaded: string[] = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
const code = await exitCodeOf(process.argv.slice(2));
process.stdout.write(`\n${JSON.stringify({ code, loaded })}\n`, () => process.exit(0));
