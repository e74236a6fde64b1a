import { resolve } from 'node:path';
import { z } from 'zod';
import { readDevEntry } from '../../../worker/folder/dev-file.ts';
import { configuredServer, namesServer } from '../../../worker/temporal/client-config.ts';
import { configuredUiUrl, type UiTarget } from '../../../worker/temporal/ui-link.ts';
import type { GatewaySettings } from '../../gateway/gateway-settings.ts';
import { PUBLIC_URL_FORM, publicUrlOf } from '../../net/public-url.ts';
import { shortDigest } from '../../protocol/identity.ts';
import { DEFAULT_TASK_QUEUE } from '../../protocol/names.ts';
import { InvalidStoreUrl } from '../../store/store-errors.ts';
import { CliError, UsageError, withSection } from '../cli-error.ts';

/** The `postgres://` URL of the store; without one it is embedded in the folder. */
export function storeUrl(env: NodeJS.ProcessEnv): string | undefined {
  return env.HOLDFAST_STORE;
}

/** The store's connection that hears of other processes, for `openStore`. */
export function listenUrl(env: NodeJS.ProcessEnv): { listen?: string } {
  return env.HOLDFAST_STORE_LISTEN ? { listen: env.HOLDFAST_STORE_LISTEN } : {};
}

/** The error for a store that can't be opened: for a malformed URL it names the variable. */
export function storeProblem(error: unknown): unknown {
  if (!(error instanceof InvalidStoreUrl)) return error;
  const variable = error.message.startsWith('listen:') ? 'HOLDFAST_STORE_LISTEN' : 'HOLDFAST_STORE';
  return new CliError(`${variable}: ${withSection(error)}`);
}

/** Where services call back: as the environment or the gateway's settings say, else where this machine's own gateway is, once it is up. */
export function publicUrlFor(
  env: NodeJS.ProcessEnv,
  gateway: GatewaySettings | undefined,
  local: () => string | undefined,
): string | (() => string | undefined) {
  return gatewaySettingsFor(env, gateway).publicUrl ?? local;
}

/**
 * Settings of the gateway, of which the environment may say some.
 *
 * @throws CliError for a public URL that can't be one.
 */
export function gatewaySettingsFor(
  env: NodeJS.ProcessEnv,
  given: GatewaySettings | undefined,
): GatewaySettings {
  const ofEnv = env.HOLDFAST_PUBLIC_URL?.trim();
  if (ofEnv !== undefined && publicUrlOf(ofEnv) === undefined) {
    throw new UsageError(`HOLDFAST_PUBLIC_URL: expected ${PUBLIC_URL_FORM}`);
  }
  const publicUrl = ofEnv ?? given?.publicUrl;
  return { ...given, ...(publicUrl === undefined ? {} : { publicUrl }) };
}

/** With server and store elsewhere there is nothing in the folder to own, and many processes may run at once. */
export function needsFolder(env: NodeJS.ProcessEnv): boolean {
  return storeUrl(env) === undefined || !namesServer(env);
}

/**
 * The task queue of an agents file. Where the store is embedded it has one of its own: another file's worker, or another
 * folder's, would take its turns up without their agents or their transcript.
 */
export function taskQueueFor(env: NodeJS.ProcessEnv, folder: string, file: string): string {
  if (env.HOLDFAST_TASK_QUEUE) return env.HOLDFAST_TASK_QUEUE;
  if (storeUrl(env) !== undefined) return DEFAULT_TASK_QUEUE;
  const place = JSON.stringify([resolve(folder), resolve(file)]);
  return `${DEFAULT_TASK_QUEUE}-${shortDigest(place).slice(0, 8)}`;
}

const serverSchema = z.object({ uiUrl: z.url() });

/** The Temporal UI of the server that the environment names, or of the folder's last one; asks and starts nothing. */
export function knownUi(env: NodeJS.ProcessEnv, folder: string): UiTarget | undefined {
  const server = configuredServer(env);
  if (server !== undefined) {
    const { connectionOptions, namespace } = server;
    return { namespace, uiUrl: configuredUiUrl(connectionOptions.address, env) };
  }
  const embedded = readDevEntry(folder, 'temporal', serverSchema);
  return embedded && { namespace: 'default', uiUrl: embedded.uiUrl };
}
