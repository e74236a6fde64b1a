import { randomBytes } from 'node:crypto';
import {
  type Access,
  type ConfiguredAccessOptions,
  configuredAccess,
  type GatewayLogger,
  type GatewayRecords,
  type GatewaySettings,
  localAccess,
} from '../../gateway/index.ts';
import { CliError } from '../cli-error.ts';

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
 * @throws CliError for a token or a public URL that can't be one.
 */
export function gatewayAccess(
  env: NodeJS.ProcessEnv,
  settings: GatewaySettings,
  logger: GatewayLogger,
): GatewayAccess {
  const isLocal = configured(env, { settings, logger }).reach === 'loopback';
  const given = env.HOLDFAST_GATEWAY_TOKEN || undefined;
  const made = given === undefined && isLocal ? randomBytes(32).toString('base64url') : undefined;
  const token = given ?? made;
  const local = token === undefined ? undefined : localBy(token);
  return { made, with: (records) => configured(env, { settings, logger, local, records }) };
}

function configured(env: NodeJS.ProcessEnv, options: ConfiguredAccessOptions): Access {
  try {
    return configuredAccess(options);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const where = env.HOLDFAST_PUBLIC_URL?.trim() ? 'HOLDFAST_PUBLIC_URL: ' : '';
    throw new CliError(`${where}${error.message.replace(/^networkAccess: (publicUrl: )?/, '')}`, 2);
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
