import { isRecord } from '../protocol/json.ts';

/** Stands in the place of arguments that can't be kept. A model that writes it itself has its call answered alike. */
const LEFT_OUT = '(arguments left out)';

const LONGEST = 500;

/**
 * Arguments in the place of ones that nobody can read, or that nothing could walk. Their call is answered by the problem, so that the
 * model can call again.
 */
export function unreadableArguments(problem: string): Record<string, unknown> {
  return { [LEFT_OUT]: problem };
}

/** The problem of arguments that are {@link unreadableArguments}; undefined for any others. */
export function problemOfArguments(args: unknown): string | undefined {
  if (!isRecord(args) || !Object.hasOwn(args, LEFT_OUT)) return undefined;
  const problem = args[LEFT_OUT];
  return typeof problem === 'string' ? problem.slice(0, LONGEST) : '';
}
