import { GatewayError, GatewayUnreachable } from '../../client/client-errors.ts';

/** Whether the process that was spoken to is gone: nobody answers, or another one does at its address, which has a token of its own. */
export function ownerHasEnded(error: unknown): boolean {
  if (error instanceof GatewayUnreachable) return true;
  return error instanceof GatewayError && error.code === 'HOLDFAST_GATEWAY_UNAUTHENTICATED';
}
