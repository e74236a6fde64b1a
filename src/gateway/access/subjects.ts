import { getApproval } from '../../contract/approvals.ts';
import { HoldfastError } from '../../contract/error.ts';
import { type ErrorCode, entryOf } from '../../contract/error-codes.ts';
import { getJob } from '../../contract/jobs.ts';
import { type May, OPERATOR } from '../../contract/operation.ts';
import type { RouteSetting } from '../route-setting.ts';
import { type Subject, type SubjectOf, subjectOfPath, subjectOfQuery } from './screen.ts';

/** Finds out whose affairs an operation is about. An id of a job or of a request tells nothing of that. */
export const SUBJECTS: Readonly<Record<May['of'], (setting: RouteSetting) => SubjectOf>> = {
  path: () => subjectOfPath,
  query: () => subjectOfQuery,
  job:
    ({ options }) =>
    async ({ req }) =>
      subjectOfRow(
        await options.client.call(getJob, { jobId: req.param('jobId') ?? '' }, OPERATOR),
        getJob.absent,
      ),
  request:
    ({ options }) =>
    async ({ req }) => {
      const requestId = req.param('requestId') ?? '';
      return subjectOfRow(
        await options.client.call(getApproval, { requestId }, OPERATOR),
        getApproval.absent,
      );
    },
};

function subjectOfRow(row: object | undefined, absent: ErrorCode): Subject {
  const missing = () => absentError(absent);
  if (row === undefined || !('app' in row && 'userId' in row)) throw missing();
  return { names: { app: String(row.app), userId: String(row.userId) }, missing };
}

const ABSENT: Partial<Record<ErrorCode, string>> = {
  HOLDFAST_JOB_NOT_FOUND: 'there is no such job',
  HOLDFAST_REQUEST_NOT_FOUND: 'there is no such request',
};

/** The answer to a caller who asks for what is not there, or may not see it. */
export function absentError(code: ErrorCode): Error {
  return new HoldfastError(code, ABSENT[code] ?? entryOf(code)?.told ?? 'there is none');
}
