import type { JobStatus } from '../../protocol/job.ts';
import { depthProblem } from '../../protocol/message-limits.ts';
import { JsonValueError, toJsonValue } from '../../schema/json-value.ts';
import { isRecord, kindOf } from '../../schema/kind-of.ts';
import { problemOfName } from '../../schema/person-name.ts';
import type { ListJobs } from '../../store/jobs/job-store.ts';
import { InvalidJob, InvalidTurn } from '../client-errors.ts';
import { checkText } from '../turns/turn-names.ts';
import type { ProgressJob } from './jobs.ts';

/** JSON bytes of `{ result }`, at most. */
export const MOST_RESULT_BYTES = 10 * 1024 * 1024;
/** Characters of a job's error, at most. */
export const LONGEST_ERROR = 2_000;
/** Characters of what a job says of its progress, or of why it is cancelled, at most. */
export const LONGEST_JOB_MESSAGE = 500;

const JOB_ID = /^job-[A-Za-z0-9_-]{22}$/;

const STATUSES: readonly unknown[] = [
  'running',
  'completed',
  'failed',
  'cancelled',
  'timed_out',
] satisfies JobStatus[];

const MOST_LISTED = 1_000;

/** @throws InvalidJob */
export function checkJobId(jobId: unknown, method: string): void {
  if (typeof jobId === 'string' && JOB_ID.test(jobId)) return;
  throw invalid(method, 'jobId', 'expected job-… as context.job.id has it, or as jobs.list shows it', jobId);
}

/**
 * A result as the model gets it: an object as it is, anything else as `{ result }`.
 *
 * @throws InvalidJob
 */
export function checkedResult(result: unknown, method: string): Record<string, unknown> {
  if (result === undefined) throw invalid(method, 'result', 'expected JSON; null is a value, too', result);
  const depth = depthProblem(result);
  if (depth !== undefined) throw invalid(method, 'result', depth);
  const json = jsonOf(result, method);
  const bytes = Buffer.byteLength(JSON.stringify({ result: json }));
  if (bytes > MOST_RESULT_BYTES) {
    const problem = `${bytes} bytes of JSON, at most ${MOST_RESULT_BYTES} are allowed: keep it elsewhere, and send where it is`;
    throw invalid(method, 'result', problem);
  }
  return isRecord(json) ? json : { result: json };
}

/** @throws InvalidJob */
export function checkedError(error: unknown, method: string): string {
  const text = checkedText(error, LONGEST_ERROR, { method, field: 'error' });
  if (text.trim() === '')
    throw invalid(method, 'error', 'expected text that tells the model what went wrong', error);
  return text;
}

/** @throws InvalidJob */
export function checkedReason(reason: unknown, method: string): string | undefined {
  return reason === undefined
    ? undefined
    : checkedText(reason, LONGEST_JOB_MESSAGE, { method, field: 'reason' });
}

/** @throws InvalidJob */
export function checkedPerson(person: unknown, method: string): { person?: string } {
  if (person === undefined) return {};
  const problem = problemOfName(person);
  if (problem !== undefined) throw new InvalidJob(`${method}: person: ${problem}`);
  return { person: String(person) };
}

/** @throws InvalidJob */
export function checkedProgress(given: ProgressJob, method: string): Pick<ProgressJob, 'value' | 'message'> {
  const { value, message } = fieldsOf(given, method);
  const isValue = typeof value === 'number' && value >= 0 && value <= 1;
  if (value !== undefined && !isValue) {
    throw invalid(method, 'value', 'expected a number from 0 to 1, or nothing', value);
  }
  return {
    ...(value === undefined ? {} : { value: value as number }),
    ...(message === undefined
      ? {}
      : { message: checkedText(message, LONGEST_JOB_MESSAGE, { method, field: 'message' }) }),
  };
}

/** @throws InvalidJob */
export function fieldsOf(given: object, method: string): Record<string, unknown> {
  const value: unknown = given;
  if (isRecord(value)) return value;
  throw new InvalidJob(`${method}: expected an object, got ${kindOf(value)}`);
}

/** @throws InvalidTurn */
export function checkJobList({ app, userId, sessionId, status, limit, order, after }: ListJobs): void {
  const method = 'jobs.list';
  const given = Object.entries({ app, userId, sessionId });
  checkText(Object.fromEntries(given.filter(([, value]) => value !== undefined)), method);
  if (status !== undefined && (!Array.isArray(status) || !status.every((one) => STATUSES.includes(one)))) {
    throw new InvalidTurn(`${method}: status: expected a list of ${STATUSES.join(', ')}`);
  }
  if (limit !== undefined && !(Number.isSafeInteger(limit) && limit >= 1 && limit <= MOST_LISTED)) {
    throw new InvalidTurn(`${method}: limit: expected a whole number from 1 to ${MOST_LISTED}`);
  }
  if (order !== undefined && order !== 'oldest' && order !== 'newest') {
    throw new InvalidTurn(`${method}: order: expected 'oldest' or 'newest'`);
  }
  if (after === undefined) return;
  if (!Number.isSafeInteger(after.since)) {
    throw new InvalidTurn(
      `${method}: after.since: expected whole milliseconds since the epoch, as jobs.list gives them`,
    );
  }
  checkText({ 'after.jobId': after.jobId }, method);
}

/** Characters as people count them: an emoji is one. */
export function isLongerThan(text: string, most: number): boolean {
  return text.length > 2 * most || [...text].length > most;
}

function checkedText(
  text: unknown,
  most: number,
  { method, field }: { method: string; field: string },
): string {
  if (typeof text !== 'string') throw invalid(method, field, 'expected text', text);
  if (!isLongerThan(text, most)) return text.toWellFormed();
  throw invalid(method, field, `${text.length} characters, at most ${most} are allowed: shorten it`);
}

function jsonOf(result: unknown, method: string): unknown {
  try {
    return toJsonValue(result);
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    throw invalid(method, error.path === '' ? 'result' : `result.${error.path}`, error.problem);
  }
}

/** With the shape of what came, never with the value: it may be a secret. */
function invalid(method: string, field: string, problem: string, ...got: unknown[]): InvalidJob {
  const shape = got.length === 0 ? '' : `, got ${kindOf(got[0])}`;
  return new InvalidJob(`${method}: ${field}: ${problem}${shape}`);
}
