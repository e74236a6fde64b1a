import { kindOf } from './kind-of.ts';
import { comparePaths, formatPath, type Path, valueAt } from './path.ts';

/** The expected value at one place. Never has the value that was there, only its kind. */
export interface Problem {
  path: Path;
  /** `required`, `expected string, got number`, `must be >= 1`. */
  text: string;
  /** Kinds of values that would do, where the kind is what is wrong. */
  expectedKinds?: readonly string[];
  missing?: true;
}

const MOST_PROBLEMS = 12;
const MOST_VALUES = 20;

/**
 * @example
 * items[2].qty: required; orderId: expected string, got number
 */
export function describeProblems(problems: readonly Problem[]): string {
  const texts = unique(
    problems
      .toSorted((left, right) => comparePaths(left.path, right.path))
      .map(({ path, text }) => (path.length === 0 ? text : `${formatPath(path)}: ${text}`)),
  );
  if (texts.length <= MOST_PROBLEMS) return texts.join('; ');
  return `${texts.slice(0, MOST_PROBLEMS).join('; ')}; and ${texts.length - MOST_PROBLEMS} more`;
}

export function missing(path: Path): Problem {
  return { path, text: 'required', missing: true };
}

export function wrongKind(root: unknown, path: Path, expectedKinds: readonly string[]): Problem {
  const value = valueAt(root, path);
  if (value === undefined && path.length > 0) return missing(path);
  // That null would do as well is no help to who sent something else, and not every kind of schema tells it.
  const named = expectedKinds.filter((kind, _, all) => kind !== 'null' || all.length === 1);
  return { path, text: `expected ${named.join(' or ')}, got ${kindOf(value)}`, expectedKinds };
}

export function notOneOf(root: unknown, path: Path, values: readonly unknown[]): Problem {
  if (valueAt(root, path) === undefined) return missing(path);
  const listed = values.slice(0, MOST_VALUES).map((value) => JSON.stringify(value) ?? String(value));
  if (values.length > MOST_VALUES) listed.push('…');
  return { path, text: `expected ${listed.length === 1 ? '' : 'one of '}${listed.join(', ')}` };
}

export function outOfRange(path: Path, of: string | undefined, comparison: string, limit: unknown): Problem {
  if (of === undefined) return { path, text: `must be ${comparison} ${limit}` };
  const unit = Number(limit) === 1 ? of : of === 'property' ? 'properties' : `${of}s`;
  const bound = { '>=': 'at least', '<=': 'at most', '>': 'more than', '<': 'fewer than', '=': 'exactly' };
  return {
    path,
    text: `must have ${bound[comparison as keyof typeof bound] ?? comparison} ${limit} ${unit}`,
  };
}

export function unknownProperty(path: Path, name: string): Problem {
  return { path: [...path, name], text: 'unknown property' };
}

export function wrongFormat(path: Path, format: string): Problem {
  return { path, text: `expected format ${format}` };
}

/**
 * Says what a value that fits no branch of a union should have been: the kinds of the branches where none fits by
 * kind, else what the branch lacks that comes nearest.
 */
export function fitsNoBranch(
  root: unknown,
  path: Path,
  branches: readonly (readonly Problem[])[],
): Problem[] {
  if (valueAt(root, path) === undefined) return [missing(path)];
  const byKind = branches.map((problems) => problems.find((problem) => isKindOfWhole(problem, path)));
  const rest = branches.filter((problems, index) => problems.length > 0 && byKind[index] === undefined);
  if (rest.length === 0) {
    const kinds = unique(byKind.flatMap((problem) => problem?.expectedKinds ?? []));
    return kinds.length > 0
      ? [wrongKind(root, path, kinds)]
      : [{ path, text: 'fits none of the allowed shapes' }];
  }
  const [nearest = [], ...others] = rest.toSorted((left, right) => left.length - right.length);
  if (others.length === 0) return [...nearest];
  return [{ path, text: `fits none of the allowed shapes; nearest: ${describeProblems(nearest)}` }];
}

function isKindOfWhole(problem: Problem, path: Path): boolean {
  return problem.expectedKinds !== undefined && problem.path.length === path.length;
}

function unique(texts: readonly string[]): string[] {
  return [...new Set(texts)];
}
