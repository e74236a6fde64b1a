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
  const found = problems.length > 0 ? problems : [{ path: [], text: 'is not valid' }];
  return { ok: false, message: describeProblems(found), problems: found };
}
