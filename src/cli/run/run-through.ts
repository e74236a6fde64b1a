import { resolve } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { workflowUrl } from '../../../worker/temporal/ui-link.ts';
import { GatewayClient } from '../../client/gateway-client.ts';
import type { GatewayAbout } from '../../contract/about.ts';
import { CliError } from '../cli-error.ts';
import type { ReachedOwner } from '../environment/folder-access.ts';
import { taskQueueFor } from '../environment/places.ts';
import { runTurn, tellGoingOn } from './run-turn.ts';
import type { RunningCommand, TurnLeft } from './running-command.ts';

/** How long a process that has gone away is waited for, milliseconds. */
const GATEWAY_PATIENCE = 2_000;
/** How long a process that has just started may load its agents, milliseconds. */
const LOAD_PATIENCE = 15_000;
const POLL = 200;

/**
 * Through the gateway of the process that owns the folder. Undefined where it was interrupted, what it waits for where it is left waiting.
 *
 * @throws GatewayUnreachable where that process has ended; CliError where it serves other agents.
 */
export async function runThrough(
  { file, turn, options, printer, printed, desk, interrupted }: RunningCommand,
  { url, token, pid }: ReachedOwner,
): Promise<TurnLeft> {
  const api = new GatewayClient({ url, token, patience: GATEWAY_PATIENCE });
  const owner = pid === undefined ? 'the process that owns the folder' : `process ${pid}`;
  const about = await agentsLoaded(api);
  const taskQueue = taskQueueFor(process.env, options.folder, file);
  if (about.taskQueue !== taskQueue) {
    throw new CliError(
      `the folder ${resolve(options.folder)} is in use by ${owner}, which serves another agents file ` +
        `(${about.agents.join(', ') || 'no agents'}): end that process, or use another folder (--folder)`,
    );
  }
  if (!about.agents.includes(turn.rootAgent)) {
    throw new CliError(
      `${owner} serves this file without the agent ${turn.rootAgent} (it has ${about.agents.join(', ') || 'none yet'}): ` +
        'see what it says of the file, or end it and try again',
    );
  }
  if (!printed.begun) printer.note(`${owner} owns the folder, and answers`);
  if (options.stopServer)
    printer.note(`--stop-server: the Temporal server is that of ${owner}, and stays up`);
  interrupted.keepsTurn();
  const linkOf = (workflowId: string, runId: string) => workflowUrl(about, workflowId, runId || undefined);
  const running = runTurn(api, turn, { taskQueue, linkOf, printer, printed, desk });
  const outcome = await Promise.race([running, interrupted.happened, desk.left]);
  if (outcome === undefined || typeof outcome === 'string') return outcome;
  await tellGoingOn(api, turn, printer, owner);
  return outcome;
}

async function agentsLoaded(api: GatewayClient): Promise<GatewayAbout> {
  const deadline = Date.now() + LOAD_PATIENCE;
  for (;;) {
    const about = await api.about();
    if (about.agents.length > 0 || Date.now() > deadline) return about;
    await setTimeout(POLL);
  }
}
