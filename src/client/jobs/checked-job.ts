import type { Operation } from '../../contract/operation.ts';
import { isRecord } from '../../protocol/json.ts';
import { JsonValueError, toJsonValue } from '../../schema/json-value.ts';
import { problemOfName } from '../../schema/person-name.ts';
import { checkedInput } from '../checked-input.ts';
import { InvalidJob } from '../client-errors.ts';

/** The checked input about a job. @throws InvalidJob */
export function checkedJob<Of extends Operation>(operation: Of, jobId: string, given: object) {
  const options =
    isRecord(given) && 'result' in given ? { ...given, result: jsonOf(operation, given) } : given;
  return checkedInput(operation, options, { named: { jobId }, Invalid: InvalidJob });
}

/** @throws InvalidJob */
export function checkedPerson({ person }: { person?: string }, method: string): { person?: string } {
  if (person === undefined) return {};
  const problem = problemOfName(person);
  if (problem !== undefined) throw new InvalidJob(`${method}: person: ${problem}`);
  return { person };
}

/** Refuses values that JSON would silently drop. */
function jsonOf({ name }: Operation, { result }: Record<string, unknown>): unknown {
  try {
    return toJsonValue(result);
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    const field = error.path === '' ? 'result' : `result.${error.path}`;
    throw new InvalidJob(`${name}: ${field}: ${error.problem}`);
  }
}
