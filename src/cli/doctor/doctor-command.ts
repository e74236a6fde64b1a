import { setTimeout } from 'node:timers/promises';
import { defined } from '../../protocol/json.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import type { InFolder } from '../connect-folder.ts';
import { checkAgents } from './check-agents.ts';
import { checkDisk, checkFolder } from './check-folder.ts';
import { checkModel } from './check-model.ts';
import {
  checkBundle,
  checkNode,
  checkPackages,
  checkPlatform,
  checkSandbox,
  ownRuntime,
} from './check-runtime.ts';
import { checkStore } from './check-store.ts';
import { checkTemporal } from './check-temporal.ts';
import {
  type Finding,
  findingsAbout,
  type RuntimeFacts,
  type Severity,
  type Surroundings,
} from './finding.ts';

/** `holdfast doctor --json`. */
export interface Diagnosis {
  v: 1;
  /** No finding is a `fail`. */
  ok: boolean;
  findings: Finding[];
}

/** Each looks at its own part, beside the others. */
const CHECKS: Record<string, (surroundings: Surroundings) => Finding[] | Promise<Finding[]>> = {
  node: ({ runtime }) => checkNode(runtime),
  platform: ({ runtime }) => checkPlatform(runtime),
  sandbox: () => checkSandbox(),
  packages: () => checkPackages(process.cwd()),
  'workflow bundle': () => checkBundle(),
  folder: checkFolder,
  disk: (surroundings) => checkDisk(surroundings),
  temporal: checkTemporal,
  store: (surroundings) => checkStore(surroundings),
  model: checkModel,
  agents: checkAgents,
};

const LONGEST_CHECK = 30_000;

/**
 * `holdfast doctor`: what is missing, and what to do. Starts nothing and changes nothing. Returns the exit code.
 *
 * @param agents file whose agents are looked at. It is loaded, as a worker does.
 */
export async function doctorCommand(
  agents: string | undefined,
  options: InFolder<{ taskQueue?: string; askModel?: boolean }>,
  output = processOutput(),
  runtime: RuntimeFacts = ownRuntime(),
): Promise<number> {
  const { folder, env, taskQueue, askModel = false } = options;
  const around = { folder, env, askModel, runtime, ...defined({ taskQueue, agents }) };
  const findings = await examine(around, output);
  const diagnosis: Diagnosis = { v: 1, ok: findings.every(({ status }) => status !== 'fail'), findings };
  if (options.json) output.json(diagnosis);
  else print(findings, output);
  return diagnosis.ok ? 0 : 1;
}

async function examine(surroundings: Surroundings, output: CommandOutput): Promise<Finding[]> {
  const open = new Set(Object.keys(CHECKS));
  const checks = Object.entries(CHECKS).map(async ([about, check]) => {
    try {
      return await withinTime(about, check(surroundings));
    } catch (error) {
      return findingsAbout(about).failed(error, 'this is not expected: report it with this message');
    } finally {
      open.delete(about);
    }
  });
  return (await withProgress(output, () => `looking at ${[...open].join(', ')}`, Promise.all(checks))).flat();
}

async function withinTime(about: string, check: Finding[] | Promise<Finding[]>): Promise<Finding[]> {
  const problem = `not done after ${LONGEST_CHECK / 1_000} s`;
  const late = findingsAbout(about).fail(problem, 'see whether what it needs hangs');
  return await Promise.race([check, setTimeout(LONGEST_CHECK, late, { ref: false })]);
}

const MARKS = { ok: ['green', 'ok  '], warn: ['yellow', 'warn'], fail: [['bold', 'red'], 'fail'] } as const;

function print(findings: readonly Finding[], { line, note, paint }: CommandOutput): void {
  const width = Math.max(...findings.map(({ about }) => about.length));
  for (const { about, status, message, fix } of findings) {
    const [style, mark] = MARKS[status];
    line(`${paint([...[style].flat()], mark)}  ${about.padEnd(width)}  ${message}`);
    if (fix !== undefined) line(`${' '.repeat(width + 8)}→ ${fix}`);
  }
  const count = (wanted: Severity) => findings.filter(({ status }) => status === wanted).length;
  note(`${count('fail')} to mend, ${count('warn')} to know of, ${count('ok')} in order`);
}
