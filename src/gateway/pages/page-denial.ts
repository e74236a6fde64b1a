import { hasCode } from '../../contract/error.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { GatewayContext, GatewayEnv } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';

type Denied = NonNullable<GatewayEnv['Variables']['denied']>;

/** Refuses a request, and has it noted who was refused what. */
export function refuse(context: GatewayContext, denied: Omit<Denied, 'reason'> = {}): never {
  context.set('denied', { ...denied, reason: 'forbidden' });
  throw new RequestRefused('HOLDFAST_GATEWAY_FORBIDDEN');
}

/** Has it noted that a worker has refused what somebody has said to a request; of other failures nothing. */
export function noteRefused(
  context: GatewayContext,
  error: unknown,
  { app, who }: Pick<ApprovalRow, 'app'> & { who: string },
): void {
  if (hasCode(error, 'HOLDFAST_DECISION_REFUSED'))
    context.set('denied', { reason: 'refused', permission: 'approve', app, who });
}
