import { APPROVALS } from '../../contract/approvals.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serveAll } from '../serve.ts';

/** Requests to people: listed, shown and answered; and the record of it. The gateway signs for a person who has not signed. */
export function approvalRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { attester } = setting;
  serveAll(app, setting, APPROVALS, {
    'approvals.confirm': async (decision, context, perform) => {
      const decider = deciderOf(context, decision);
      if (decider === undefined) return perform();
      const { requestId, shown, ...said } = decision;
      return attester.confirm(decider, { requestId }, said, shown);
    },
    'approvals.provideInput': async (answer, context, perform) => {
      const decider = deciderOf(context, answer);
      if (decider === undefined) return perform();
      const { requestId, shown, ...said } = answer;
      return attester.provideInput(decider, { requestId }, said, shown);
    },
  });
}

/** The person whom the gateway signs for; undefined when the caller has signed. */
function deciderOf(context: GatewayContext, { attestation }: { attestation?: string }) {
  const { person } = context.get('principal');
  return person === undefined || attestation !== undefined ? undefined : { person, channel: 'http' as const };
}
