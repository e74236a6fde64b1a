import { gatewayIssuer } from '../../src/approvals/gateway-issuer.ts';
import type { Issuer } from '../../src/approvals/issuer.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { settingsOf } from '../deployment.ts';

/** Whose attestations count in an app: those whom it lists, and the gateway of this worker's keys unless it says otherwise. */
export function believedIssuers(
  { deployment, credentialKeys }: ActivityDependencies,
  app: string,
  attestation: string,
): readonly Issuer[] {
  const { approval } = settingsOf(deployment, app);
  const listed = approval?.issuers ?? [];
  const gateway = approval?.trustGateway === false ? undefined : gatewayIssuer(credentialKeys, attestation);
  return gateway === undefined ? listed : [...listed, gateway];
}
