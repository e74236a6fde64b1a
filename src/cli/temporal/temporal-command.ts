import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { constants, devNull } from 'node:os';
import { z } from 'zod';
import { readDevEntry } from '../../../worker/folder/dev-file.ts';
import { configuredServer } from '../../../worker/temporal/client-config.ts';
import { messageOf } from '../../protocol/message-of.ts';
import { shellWord } from '../../protocol/shell-word.ts';
import { CliError } from '../cli-error.ts';
import { findTemporalCli } from './temporal-cli.ts';

export interface TemporalOptions {
  folder: string;
  env: NodeJS.ProcessEnv;
}

/** Variables of the Temporal CLI that name a server. */
interface ServerVariables {
  TEMPORAL_ADDRESS: string;
  TEMPORAL_NAMESPACE: string;
}

const devServerSchema = z.object({ address: z.string() });

/**
 * `holdfast temporal …`: the Temporal CLI, on the server that the environment names, else on the folder's. Returns its exit code.
 *
 * @param args for the Temporal CLI, as they are.
 * @throws CliError where there is no server, or no Temporal CLI.
 */
export async function temporalCommand(
  args: readonly string[],
  { folder, env }: TemporalOptions,
): Promise<number> {
  const configured = configuredServer(env);
  const variables: ServerVariables = configured
    ? { TEMPORAL_ADDRESS: configured.connectionOptions.address, TEMPORAL_NAMESPACE: configured.namespace }
    : { TEMPORAL_ADDRESS: embeddedAddress(folder), TEMPORAL_NAMESPACE: 'default' };
  const program = await findTemporalCli(env);
  if (typeof program !== 'string') throw notInstalled(program.why, variables, args);
  // TLS settings, API key and profile: the CLI reads them from the same variables and file, and from none for the folder's server.
  const inherited = configured ? env : { ...withoutTemporal(env), TEMPORAL_CONFIG_FILE: devNull };
  return await passedOn(program, args, { ...inherited, ...variables });
}

function embeddedAddress(folder: string): string {
  const known = isThere(folder) ? readDevEntry(realpathSync(folder), 'temporal', devServerSchema) : undefined;
  if (known !== undefined) return known.address;
  throw new CliError(
    `no Temporal server is named, and none has run in the folder ${folder}: start holdfast dev, name another folder ` +
      '(holdfast temporal --folder PATH …), or set TEMPORAL_ADDRESS',
  );
}

function isThere(folder: string): boolean {
  try {
    return realpathSync(folder) !== '';
  } catch {
    // For any reason, no server has left its address there.
    return false;
  }
}

function withoutTemporal(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

function notInstalled(why: string, variables: ServerVariables, args: readonly string[]): CliError {
  const words = Object.entries(variables).map(([name, value]) => `${name}=${shellWord(value)}`);
  return new CliError(
    [
      `the Temporal CLI is not on this machine (${why}).`,
      'Install it (https://docs.temporal.io/cli#install; brew install temporal), or name it by HOLDFAST_TEMPORAL_CLI. Then this command works, and so does',
      `  ${[...words, 'temporal', ...args.map(shellWord)].join(' ')}`,
    ].join('\n'),
  );
}

/** Ctrl-C reaches it from the terminal; it ends by itself, and this process with it. */
async function passedOn(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const child = spawn(program, args, { stdio: 'inherit', env });
  // The first is told below; where it can't be ended either, there is another one.
  child.on('error', () => undefined);
  const untilItEnds = () => undefined;
  const forwardSignal = () => {
    // A child that could not be started has no id, and Node would end this process's own group in its place.
    if (child.pid !== undefined) child.kill('SIGTERM');
  };
  process.on('SIGINT', untilItEnds);
  process.on('SIGTERM', forwardSignal);
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null];
    return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
  } catch (error) {
    throw new CliError(`${program} can't be run: ${messageOf(error)}`);
  } finally {
    process.off('SIGINT', untilItEnds);
    process.off('SIGTERM', forwardSignal);
  }
}
