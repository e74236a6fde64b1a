import type { WhichRequest } from '../../client/approvals/approvals.ts';
import { RequestNotFound } from '../../client/client-errors.ts';
import {
  confirmRequest,
  getApproval,
  getSessionApproval,
  listApprovals,
  provideCredential,
  provideInput,
} from '../../contract/approvals.ts';
import { getAudit, getAuditById, verifyAudit, verifyAuditById } from '../../contract/audit.ts';
import { guarded } from '../access/guarded.ts';
import { type SubjectOf, subjectOfQuery } from '../access/screen.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve } from '../serve.ts';

/** A decider has to see the request. */
const SEES = ['read', 'approve'] as const;

/** Requests to people: listed, shown and answered; and the record of it. */
export function approvalRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { attester } = setting;
  const { approvals } = setting.options.client;
  const missing = () => new RequestNotFound('there is no such request');
  const find = async (which: WhichRequest) => {
    const row = await approvals.get(which);
    if (row === undefined) throw missing();
    return row;
  };
  // An id tells nothing of whose the request is.
  const ofRequest: SubjectOf = async ({ req }) => {
    const { app: ofApp, userId } = await find({ requestId: req.param('requestId') ?? '' });
    return { names: { app: ofApp, userId }, missing };
  };
  const decides = guarded(setting, 'approve', ofRequest);
  serve(app, listApprovals, guarded(setting, SEES, subjectOfQuery), async (list) => ({
    approvals: await approvals.list(list),
  }));
  serve(app, getApproval, guarded(setting, SEES, ofRequest), find);
  serve(app, getSessionApproval, guarded(setting, SEES), async (which) => find(which as WhichRequest));
  serve(app, confirmRequest, decides, async ({ requestId, ...decision }, context) => {
    const decider = deciderOf(context, decision);
    if (decider === undefined) return approvals.confirm({ requestId }, decision);
    const { shown, ...said } = decision;
    return attester.confirm(decider, { requestId }, said, shown);
  });
  serve(app, provideInput, decides, async ({ requestId, ...answer }, context) => {
    const decider = deciderOf(context, answer);
    if (decider === undefined) return approvals.provideInput({ requestId }, answer);
    const { shown, ...said } = answer;
    return attester.provideInput(decider, { requestId }, said, shown);
  });
  serve(app, provideCredential, decides, async ({ requestId, ...answer }) =>
    approvals.provideCredential({ requestId }, answer),
  );
  const reads = guarded(setting, 'read');
  for (const operation of [getAudit, getAuditById]) {
    serve(app, operation, reads, async (which) => ({ rows: await approvals.audit(which) }));
  }
  for (const operation of [verifyAudit, verifyAuditById]) {
    serve(app, operation, reads, async (which) => approvals.verifyAudit(which));
  }
}

/** The person whom the gateway signs for; undefined when the caller has signed. */
function deciderOf(context: GatewayContext, { attestation }: { attestation?: string }) {
  const { person } = context.get('principal');
  return person === undefined || attestation !== undefined ? undefined : { person, channel: 'http' as const };
}
