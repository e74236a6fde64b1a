import type { ApprovalRow } from '../../contract/requests.ts';
import { isRecord } from '../../protocol/json.ts';
import { SchemaError } from '../../schema/compiled-schema.ts';
import { readJsonSchema } from '../../schema/json-schema.ts';
import { UsageError } from '../cli-error.ts';

/** The problem of a response by the request's schema; undefined without a problem. */
export function responseProblem({ responseSchema }: ApprovalRow, response: unknown): string | undefined {
  if (!isRecord(responseSchema)) return undefined;
  try {
    const checked = readJsonSchema(responseSchema, { isOutside: true }).validate(response);
    return checked.ok ? undefined : checked.message;
  } catch (error) {
    // A schema that a model has written wrongly: what takes the response says what it makes of it.
    if (error instanceof SchemaError) return undefined;
    throw error;
  }
}

/** @throws CliError naming the fields that don't fit. */
export function assertResponse(row: ApprovalRow, response: unknown): void {
  const problem = responseProblem(row, response);
  if (problem === undefined) return;
  throw new UsageError(
    `the answer does not fit what is asked: ${problem}. holdfast approvals show ${row.requestId} shows the schema`,
  );
}
