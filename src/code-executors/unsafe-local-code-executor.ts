import { readGroup } from '../schema/options.ts';
import { type ProgramEnd, runProgram } from '../tools/workspace/run-program.ts';
import { LOCAL_CODE, LocalCodeExecutor, type LocalCodeOptions } from './local-code-executor.ts';

/** Fields: those of `@google/adk` 2.0.0. */
export interface UnsafeLocalCodeExecutorOptions extends LocalCodeOptions {}

/**
 * Runs the model's code on this machine, as the worker's user: JavaScript, TypeScript, Python, shell. **Nothing is walled off**:
 * the code can read and write everything that the worker can, and reach its network. For development, and for machines that hold
 * nothing but it. `SandboxedCodeExecutor` runs the same code in a sandbox.
 *
 * Each run has a directory of its own, which is deleted after the run, and no variables of the worker's but PATH, HOME, LANG and
 * TMPDIR. The process group of a run ends with the program, at its timeout, or when its call is cancelled. A process that leaves
 * the group on purpose (`setsid`) goes on, and the run doesn't wait for it. The first 256 KiB of the output count, and 10 MiB of
 * the files that the run leaves, without links.
 *
 * Semantics: `UnsafeLocalCodeExecutor` of `@google/adk` 2.0.0, without PowerShell and cmd.
 *
 * @throws DefinitionError from the constructor, naming the option.
 */
export class UnsafeLocalCodeExecutor extends LocalCodeExecutor {
  constructor(options: UnsafeLocalCodeExecutorOptions = {}) {
    super(readGroup(LOCAL_CODE, { owner: new.target.name || 'UnsafeLocalCodeExecutor', options }));
  }

  protected override run(
    [command, ...args]: [string, ...string[]],
    at: { directory: string; timeout: number; abortSignal: AbortSignal | undefined },
  ): Promise<ProgramEnd> {
    warnOnce();
    return runProgram({ ...at, command, args });
  }
}

let warned = false;

function warnOnce(): void {
  if (warned) return;
  warned = true;
  process.emitWarning(
    'UnsafeLocalCodeExecutor runs code of a model on this machine, and nothing is walled off from it',
  );
}
