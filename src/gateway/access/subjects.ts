import { getApproval } from '../../contract/approvals.ts';
import { isObject } from '../../contract/check.ts';
import { HoldfastError } from '../../contract/error.ts';
import { type ErrorCode, entryOf } from '../../contract/error-codes.ts';
import { getJob } from '../../contract/jobs.ts';
import { type May, OPERATOR, type Operation } from '../../contract/operation.ts';
import type { RouteSetting } from '../route-setting.ts';
import { type SubjectOf, subjectOfPath, subjectOfQuery } from './screen.ts';

/** Finds out whose affairs an operation is about. An id of a job or of a request tells nothing of that. */
export const SUBJECTS: Readonly<Record<May['of'], (setting: RouteSetting) => SubjectOf>> = {
  path: () => subjectOfPath,
  query: () => subjectOfQuery,
  job: subjectOfThing(getJob, 'jobId'),
  request: subjectOfThing(getApproval, 'requestId'),
};

function subjectOfThing(operation: typeof getJob | typeof getApproval, id: 'jobId' | 'requestId') {
  const missing = () => absentError(operation.absent);
  return ({ options }: RouteSetting): SubjectOf =>
    async ({ req }) => {
      const named = { [id]: req.param(id) ?? '' } as never;
      const row = await options.client.call<Operation>(operation, named, OPERATOR);
      if (!isObject(row) || !('app' in row && 'userId' in row)) throw missing();
      return { names: { app: String(row.app), userId: String(row.userId) }, missing };
    };
}

const ABSENT: Partial<Record<ErrorCode, string>> = {
  HOLDFAST_JOB_NOT_FOUND: 'there is no such job',
  HOLDFAST_REQUEST_NOT_FOUND: 'there is no such request',
};

/** The answer to a caller who asks for what is not there, or may not see it. */
export function absentError(code: ErrorCode): Error {
  return new HoldfastError(code, ABSENT[code] ?? entryOf(code)?.told ?? 'there is none');
}
