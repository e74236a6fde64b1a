import { type ApprovalOperation, confirmRequest, provideInput } from '../../contract/approvals.ts';
import { decisionProblem } from '../../contract/decision-limits.ts';
import type { Handlers } from '../../contract/operation.ts';
import { CONFIRM, PROVIDE_CREDENTIAL, PROVIDE_INPUT } from '../../protocol/names.ts';
import type { ClientContext } from '../client-context.ts';
import { InvalidTurn } from '../client-errors.ts';
import { isSameJson } from '../same-json.ts';
import { decide } from './decide.ts';
import { sealedInput, withoutSecrets } from './seal-decision.ts';
import { storedApprovals } from './stored-approvals.ts';

/** Performs what is done about requests. */
export const approvalHandlers: Handlers<ApprovalOperation, ClientContext> = {
  ...storedApprovals,
  'approvals.confirm': async ({ requestId, shown, timeout, withdraw, ...given }, context) => {
    const method = confirmRequest.name;
    const wrong = decisionProblem(given);
    if (wrong !== undefined) throw new InvalidTurn(`${method}: ${wrong.field}: ${wrong.problem}`);
    const decision = withdraw ? { ...given, withdraw } : given;
    return await decide(context, requestId, {
      ...{ method, shown, timeout, decision },
      order: CONFIRM,
      sealed: (row) => withoutSecrets(row, decision, method),
      isSame: ({ status, editedArgs }) =>
        !withdraw &&
        status === (decision.confirmed ? 'approved' : 'rejected') &&
        isSameJson(decision.args, editedArgs),
    });
  },
  'approvals.provideInput': async ({ requestId, shown, timeout, ...decision }, context) =>
    await decide(context, requestId, {
      ...{ method: provideInput.name, shown, timeout, decision },
      order: PROVIDE_INPUT,
      sealed: (row) => sealedInput(context, row, { ...decision, isText: false }),
      isSame: ({ kind, status, response }) =>
        kind === 'input' && status === 'answered' && isSameJson(decision.response, response),
    }),
  'approvals.provideCredential': async ({ requestId, shown, timeout, ...decision }, context) =>
    await decide(context, requestId, {
      ...{ method: 'approvals.provideCredential', shown, timeout, decision },
      order: PROVIDE_CREDENTIAL,
      isSame: ({ credentialRef, status }) =>
        status === 'answered' && credentialRef === decision.credentialRef,
    }),
};
