import { randomBytes } from 'node:crypto';
import { networkReach } from '../../gateway/access/network-access.ts';
import {
  type Access,
  configuredAccess,
  type GatewayLogger,
  type GatewayRecords,
  type GatewaySettings,
  localAccess,
} from '../../gateway/index.ts';
import { CliError, UsageError } from '../cli-error.ts';

export interface GatewayAccess {
  /** A token that was made for programs of this machine; undefined where there is another way in. */
  made: string | undefined;
  /** The access, once the store is open. */
  with(records: GatewayRecords): Access;
}

/**
 * Access of `holdfast gateway`: that of the settings, and for programs of this machine the token of `HOLDFAST_GATEWAY_TOKEN`. One is made
 * where the gateway serves this machine only.
 *
 * @throws CliError for a token or a public URL that can't be one; `with`: where nobody could prove who they are.
 */
export function gatewayAccess(
  env: NodeJS.ProcessEnv,
  settings: GatewaySettings,
  logger: GatewayLogger,
): GatewayAccess {
  const names = { publicUrl: settings.publicUrl, hosts: settings.access?.hosts };
  const isLocal = checked(env, () => networkReach(names)) === 'loopback';
  const given = env.HOLDFAST_GATEWAY_TOKEN;
  const made = given === undefined && isLocal ? randomBytes(32).toString('base64url') : undefined;
  const token = given ?? made;
  const local = token === undefined ? undefined : localBy(token);
  return {
    made,
    with: (records) => checked(env, () => configuredAccess({ settings, logger, local, records })),
  };
}

function checked<Made>(env: NodeJS.ProcessEnv, make: () => Made): Made {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const isOfEnv = env.HOLDFAST_PUBLIC_URL && error.message.startsWith('networkAccess: publicUrl: ');
    const where = isOfEnv ? 'HOLDFAST_PUBLIC_URL: ' : '';
    throw new UsageError(`${where}${error.message.replace(/^networkAccess: (publicUrl: )?/, '')}`);
  }
}

function localBy(token: string): Access {
  try {
    return localAccess({ token });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new CliError(`HOLDFAST_GATEWAY_TOKEN: ${error.message.replace(/^localAccess: token: /, '')}`);
  }
}
