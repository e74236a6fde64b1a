import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { type GatewayDefinition, isGatewayDefinition } from '../gateway/gateway-settings.ts';
import { CliError } from './cli-error.ts';
import { importFile } from './import-file.ts';

/**
 * The export `gateway`.
 *
 * @throws CliError for what `defineGateway` has not made.
 */
export function gatewayOfExports(
  file: string,
  { gateway }: Record<string, unknown>,
): GatewayDefinition | undefined {
  if (gateway === undefined || isGatewayDefinition(gateway)) return gateway;
  throw new CliError(
    `${file}: the export gateway is no configuration of one, but ${typeof gateway}; write "export const gateway = ` +
      "defineGateway({ … })\", with defineGateway of 'holdfast/gateway'",
  );
}

/**
 * The gateway's settings in a file.
 *
 * @param version as of `importFile`.
 * @throws CliError where there is no such file, or it has no export `gateway`.
 */
export async function loadGateway(file: string, version?: number): Promise<GatewayDefinition> {
  const path = resolve(file);
  if (!existsSync(path)) throw new CliError(`${file}: no such file`);
  const gateway = gatewayOfExports(file, await importFile(file, path, version));
  if (gateway !== undefined) return gateway;
  throw new CliError(
    `${file} has no export gateway: write "export const gateway = defineGateway({ … })", with defineGateway of 'holdfast/gateway'`,
  );
}
