import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestModule, TestSpecification, Vitest } from 'vitest/node';
import { unshown } from '../requirements/unshown.ts';
import { REQUIREMENTS } from '../requirements.ts';
import { deepFiles } from './deep-files.ts';
import { isDeep } from './tier.ts';

/** Milliseconds between lines about how far the run is. */
const INTERVAL = 30_000;
const SLOWEST = 15;
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Milliseconds that a file takes beside its tests. */
const START = 1_000;

/** Says how far a run is while it runs, and at its end which files were slow, which tests were skipped and why, and what it left out. */
export default class RunReporter implements Reporter {
  #vitest: Vitest | undefined;
  #began = 0;
  #all = new Map<string, number>();
  #ended = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunStart(specifications: readonly TestSpecification[]): void {
    this.#began = Date.now();
    this.#ended = new Map();
    this.#all = weights(this.#vitest, specifications);
    this.#timer = setInterval(() => this.#tell(this.#progress()), INTERVAL);
  }

  onTestModuleEnd({ moduleId }: TestModule): void {
    this.#ended.set(moduleId, this.#all.get(moduleId) ?? 0);
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    clearInterval(this.#timer);
    for (const module of slowest(modules)) {
      this.#tell(`${seconds(timeOf(module)).padStart(8)}  ${module.relativeModuleId}`);
    }
    for (const module of modules) {
      const skipped = [...module.children.allTests('skipped')];
      const noted = skipped.filter((test) => (test.result() as { note?: string }).note !== undefined);
      // Another test of the file says why.
      const others = skipped.length - noted.length;
      if (others > 0) this.#tell(`skipped: ${others} more tests of ${module.relativeModuleId}`);
      for (const test of noted)
        this.#tell(`skipped: ${test.fullName}: ${(test.result() as { note?: string }).note}`);
    }
    // A run of some files says nothing about all of them.
    if (this.#all.size < filesOfTier()) return;
    this.#tellUnshown(modules);
    if (!isDeep) this.#tell(leftOut());
  }

  /** A promise of this tier that no test has shown fails the run, unless this machine lacks what its tests need. */
  #tellUnshown(modules: readonly TestModule[]): void {
    const outcomes = modules.flatMap((module) =>
      [...module.children.allTests()].map((each) => ({
        fullName: each.fullName,
        state: each.result().state,
      })),
    );
    for (const { id, isSkipped } of unshown(REQUIREMENTS, isDeep ? 'deep' : 'test', outcomes)) {
      this.#tell(`not shown: [${id}]${isSkipped ? ', since its tests were skipped' : ''}`);
      if (!isSkipped) process.exitCode = 1;
    }
  }

  #progress(): string {
    const elapsed = Date.now() - this.#began;
    const part = sum(this.#ended) / sum(this.#all);
    const rest = part > 0 ? `, about ${minutes((elapsed / part) * (1 - part))} to go` : '';
    return `${this.#ended.size} of ${this.#all.size} test files in ${minutes(elapsed)}${rest}`;
  }

  #tell(line: string): void {
    this.#vitest?.logger.log(line);
  }
}

/** What each file took in the run before; of one that is new, what a file takes in the middle. */
function weights(
  vitest: Vitest | undefined,
  specifications: readonly TestSpecification[],
): Map<string, number> {
  const known = new Map(
    specifications.flatMap((each) => {
      const took = vitest?.cache.getTestSpecificationResult(each)?.duration;
      return took === undefined ? [] : [[each.moduleId, took + START] as const];
    }),
  );
  const middle = [...known.values()].sort((one, other) => one - other)[Math.floor(known.size / 2)] ?? START;
  return new Map(specifications.map(({ moduleId }) => [moduleId, known.get(moduleId) ?? middle]));
}

function timeOf(module: TestModule): number {
  const { collectDuration, duration } = module.diagnostic();
  return collectDuration + duration;
}

function slowest(modules: readonly TestModule[]): TestModule[] {
  return modules.toSorted((one, other) => timeOf(other) - timeOf(one)).slice(0, SLOWEST);
}

function filesOfTier(): number {
  return isDeep
    ? Object.values(deepFiles()).flat().length
    : globSync('test/**/*.test.ts', { cwd: ROOT }).length;
}

function leftOut(): string {
  const { own, more } = deepFiles();
  return `npm run test:deep does ${more.length} of the test files again with more kills, seeds and rounds, and ${own.length} more`;
}

function sum(values: ReadonlyMap<string, number>): number {
  return [...values.values()].reduce((total, value) => total + value, 0);
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1_000).toFixed(1)} s`;
}

function minutes(milliseconds: number): string {
  const whole = Math.round(milliseconds / 1_000);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')} min`;
}
