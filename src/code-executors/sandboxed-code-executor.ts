import * as option from '../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../schema/options.ts';
import type { ProgramEnd } from '../tools/workspace/run-program.ts';
import { SANDBOX, Sandbox, type SandboxOptions } from '../tools/workspace/sandbox.ts';
import { LOCAL_CODE, LocalCodeExecutor, type LocalCodeOptions } from './local-code-executor.ts';

export interface SandboxedCodeExecutorOptions extends LocalCodeOptions {
  /** The sandbox that code runs in; its `limits.time` is `timeoutSeconds` here. */
  sandbox?: SandboxOptions;
}

const SANDBOXED_CODE = {
  ...LOCAL_CODE,
  sandbox: option.unchecked(),
} satisfies OptionsFor<SandboxedCodeExecutorOptions>;

/**
 * Runs the model's code on this machine in a sandbox: JavaScript, TypeScript, Python, shell. The code sees a directory of its own, which is
 * deleted after the run, the programs of the machine, no network but named hosts, and no variables but named ones. Everything that it has
 * started ends with it. Output and files count as those of `UnsafeLocalCodeExecutor`.
 *
 * @throws DefinitionError from the constructor, naming the option.
 * @example new LlmAgent({ name: 'analyst', model: 'gemini-2.5-flash', codeExecutor: new SandboxedCodeExecutor() });
 */
export class SandboxedCodeExecutor extends LocalCodeExecutor {
  readonly [SANDBOX]: Sandbox;

  constructor(options: SandboxedCodeExecutorOptions = {}) {
    const owner = new.target.name || 'SandboxedCodeExecutor';
    super(readGroup(SANDBOXED_CODE, { owner, options }));
    this[SANDBOX] = new Sandbox(owner, options.sandbox);
  }

  /** @throws HOLDFAST_NO_SANDBOX */
  protected override run(
    argv: [string, ...string[]],
    { directory, ...at }: { directory: string; timeout: number; abortSignal: AbortSignal | undefined },
  ): Promise<ProgramEnd> {
    return this[SANDBOX].run({ ...at, argv, root: directory, ownsRoot: true });
  }
}
