import { formatPath } from './path.ts';
import { describeProblems, type Problem } from './problems.ts';

export type Validation =
  | { ok: true; value: unknown }
  | {
      ok: false;
      /** Names each path and what is wanted there; no values. */
      message: string;
      problems: readonly Problem[];
    };

export function refused(problems: readonly Problem[]): Validation {
  const ofKind = new Set(
    problems.filter(({ expectedKinds }) => expectedKinds).map(({ path }) => formatPath(path)),
  );
  // Of a value of the wrong kind nothing else is worth saying; zod checks the length of a list where text is wanted.
  const told = problems.filter(({ path, expectedKinds }) => expectedKinds || !ofKind.has(formatPath(path)));
  const found = told.length > 0 ? told : [{ path: [], text: 'is not valid' }];
  return { ok: false, message: describeProblems(found), problems: found };
}
