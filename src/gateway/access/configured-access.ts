import type { GatewayLogger } from '../gateway-logger.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { GatewaySettings } from '../gateway-settings.ts';
import type { Access } from './access.ts';
import { ApiKeys } from './api-keys.ts';
import { jwtCheck } from './jwt-check.ts';
import { networkAccess } from './network-access.ts';

export interface ConfiguredAccessOptions {
  settings?: GatewaySettings | undefined;
  /** Without it there are no API keys. */
  records?: GatewayRecords | undefined;
  /** Of programs of this machine. */
  local?: Access | undefined;
  logger: GatewayLogger;
}

/**
 * Access as settings have it, beside that of programs of this machine.
 *
 * @throws TypeError as {@link networkAccess} does.
 * @throws DefinitionError as {@link jwtCheck} does.
 */
export function configuredAccess({ settings = {}, records, local, logger }: ConfiguredAccessOptions): Access {
  const { publicUrl, access = {} } = settings;
  const { keys = true, hosts, issuers = [] } = access;
  return networkAccess({
    publicUrl,
    hosts,
    local,
    checks: issuers.length === 0 ? [] : [jwtCheck(issuers)],
    keys: keys && records !== undefined ? new ApiKeys({ store: records, logger }) : undefined,
  });
}
