import { randomBytes } from 'node:crypto';
import { secretInEdit } from '../../approvals/edited-arguments.ts';
import { isResultSensitive } from '../../approvals/sensitive.ts';
import type { Confirm, ProvideInput } from '../../contract/approvals.ts';
import { provideInput } from '../../contract/approvals.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn } from '../client-errors.ts';
import { storeOf } from '../stored-context.ts';

/** A person's answer, and whether it is text that may stand for JSON. */
export interface GivenInput {
  response?: unknown;
  isText: boolean;
  /** Left out with an answer that is put into the store: it would tell its digest to the history. */
  attestation?: string;
}

/** An answer as it travels: one to a sensitive tool is put into the store, and only a reference to it is sent. */
export async function sealedInput(
  context: ClientContext,
  row: ApprovalRow,
  { response, isText, attestation }: GivenInput,
): Promise<Pick<ProvideInput, 'response' | 'responseRef' | 'attestation'>> {
  if (row.kind !== 'input' || !isResultSensitive(row.sensitive)) {
    return { response, ...(attestation === undefined ? {} : { attestation }) };
  }
  const responseRef = `ri-${randomBytes(16).toString('base64url')}`;
  const { session, requestId } = row;
  const kept = { session, requestId, responseRef, response, isText };
  await storeOf(context, provideInput.name).approvals.keepResponse(kept);
  return { responseRef };
}

/** @throws InvalidTurn where a decision would change what is sensitive: it travels through the history of Temporal. */
export function withoutSecrets<Decision extends Pick<Confirm, 'args'>>(
  row: ApprovalRow,
  decision: Decision,
  method: string,
): Decision {
  const { args } = decision;
  const problem = args === undefined ? undefined : secretInEdit(row, args);
  if (problem !== undefined) throw new InvalidTurn(`${method}: args: ${problem}`);
  return decision;
}
