import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { CliError, UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { readHistory } from './history-file.ts';
import { type Divergence, replayer } from './replay-history.ts';

export interface ReplayOptions {
  json?: boolean;
  bundle?: string;
}

/** One line of `holdfast replay --json`. */
export type ReplayedFile =
  | { file: string; ok: true; workflowId: string; events: number }
  | {
      file: string;
      ok: false;
      workflowId?: string;
      problem: Divergence | { kind: 'unreadable'; message: string };
    };

/** `holdfast replay`: whether this release's workflows go on with recorded histories. Returns the exit code. */
export async function replayCommand(
  paths: readonly string[],
  options: ReplayOptions,
  output = processOutput(),
): Promise<number> {
  const files = filesOf(paths);
  const replay = replayer(options.bundle);
  let done = 0;
  let failed = 0;
  await withProgress(output, () => `replaying ${files.length} histories, ${done} done`, run());
  if (!options.json && files.length > 1) output.note(`${files.length - failed} of ${files.length} replay`);
  return failed === 0 ? 0 : 1;

  async function run(): Promise<void> {
    for (const file of files) {
      const replayed = await replayedFile(file, replay);
      if (!replayed.ok) failed += 1;
      done += 1;
      if (options.json) output.json(replayed);
      else for (const line of linesOf(replayed, output)) output.line(line);
    }
  }
}

async function replayedFile(file: string, replay: ReturnType<typeof replayer>): Promise<ReplayedFile> {
  try {
    const history = readHistory(file);
    const { workflowId, events } = history;
    const problem = await replay(history);
    if (problem === undefined) return { file, ok: true, workflowId, events: events.length };
    return { file, ok: false, workflowId, problem };
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return { file, ok: false, problem: { kind: 'unreadable', message: error.message } };
  }
}

function linesOf(replayed: ReplayedFile, { paint }: CommandOutput): string[] {
  const { file } = replayed;
  if (replayed.ok) return [`${paint('green', 'ok')}    ${file} (${replayed.events} events)`];
  const { problem } = replayed;
  const head = `${paint(['bold', 'red'], 'fails')} ${file}`;
  if (problem.kind === 'unreadable') return [head, `      ${problem.message}`];
  const place = problem.events === undefined ? '' : `events ${problem.events.from} to ${problem.events.to}: `;
  return [head, `      ${place}${problem.message}`, `      ${hintFor(problem)}`];
}

function hintFor({ kind }: Divergence): string {
  return kind === 'nondeterminism'
    ? 'This release would do something else there. Keep workers of the release that began the run until it has ended, ' +
        'or reset it to before these events; and report it.'
    : 'The history is damaged, cut off, or not of a run of Holdfast.';
}

function filesOf(paths: readonly string[]): string[] {
  const files = paths.flatMap((path) => {
    if (!existsSync(path)) throw new UsageError(`${path}: no such file`);
    if (!statSync(path).isDirectory()) return [path];
    const found = readdirSync(path)
      .filter((name) => name.endsWith('.json'))
      .sort();
    if (found.length === 0) throw new UsageError(`${path}: a folder without .json files`);
    return found.map((name) => join(path, name));
  });
  return [...new Set(files)];
}
