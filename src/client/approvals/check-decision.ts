import {
  CONFIRMED,
  type ConfirmOptions,
  CREDENTIAL_GIVEN,
  confirmRequest,
  INPUT_GIVEN,
  type ProvideCredentialOptions,
  type ProvideInputOptions,
  provideCredential,
  provideInput,
} from '../../contract/approvals.ts';
import { decisionProblem } from '../../contract/decision-limits.ts';
import { checkedFields } from '../checked-input.ts';
import { InvalidTurn } from '../client-errors.ts';

/** @throws InvalidTurn */
export function checkedConfirm(given: ConfirmOptions) {
  const { name } = confirmRequest;
  const { withdraw, ...decision } = checkedFields(CONFIRMED, given, name);
  const wrong = decisionProblem(decision);
  if (wrong !== undefined) throw new InvalidTurn(`${name}: ${wrong.field}: ${wrong.problem}`);
  return { ...decision, ...(withdraw === true ? { withdraw } : {}) };
}

/** @throws InvalidTurn */
export function checkedResponse(given: ProvideInputOptions) {
  return checkedFields(INPUT_GIVEN, given, provideInput.name);
}

/** @throws InvalidTurn */
export function checkedCredential(given: ProvideCredentialOptions) {
  return checkedFields(CREDENTIAL_GIVEN, given, provideCredential.name);
}
