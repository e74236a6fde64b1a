import { DefaultLogger } from '@temporalio/worker';
import type { FolderOwnership } from '../../../worker/folder/lock.ts';
import { workflowUrl } from '../../../worker/temporal/ui-link.ts';
import { offerGemini } from '../../testing/offer-gemini.ts';
import { type AgentsEnvironment, openAgentsEnvironment } from '../environment/agents-environment.ts';
import { lineLogger } from '../environment/operator-log.ts';
import { folderLogger, installRuntime } from '../environment/worker-logs.ts';
import { runTurn, tellGoingOn } from './run-turn.ts';
import type { RunningCommand, TurnLeft } from './running-command.ts';

/** Somebody has pressed Ctrl-C and waits: running tools get a moment, and another attempt later. Milliseconds. */
const SHUTDOWN_GRACE = 1_000;

/** With a worker of this process. Undefined where it was interrupted, what it waits for where it is left waiting. */
export async function runHere(
  { file, loaded, turn, options, printer, printed, desk, interrupted }: RunningCommand,
  ownership: FolderOwnership | undefined,
): Promise<TurnLeft> {
  let environment: AgentsEnvironment | undefined;
  const gemini = await offerGemini(loaded.agents, loaded.geminiScript, process.env, printer.note);
  const log = ownership && folderLogger(ownership.folder, printer.note);
  installRuntime(log ?? new DefaultLogger('ERROR'), { handlesSignals: true });
  try {
    environment = await openAgentsEnvironment({
      folder: options.folder,
      ownership,
      file,
      loaded,
      rootAgent: turn.rootAgent,
      env: process.env,
      logger: log ?? lineLogger(printer.note),
      grace: SHUTDOWN_GRACE,
      stopsServer: options.stopServer ? 'always' : 'never',
      onProgress: printer.note,
    });
    interrupted.keepsTurn();
    const { client, server, taskQueue, failed } = environment;
    const linkOf = (workflowId: string, runId: string) => workflowUrl(server, workflowId, runId || undefined);
    const running = runTurn(client, turn, { taskQueue, linkOf, printer, printed, desk });
    const outcome = await Promise.race([running, interrupted.happened, desk.left, failed]);
    if (outcome === undefined || typeof outcome === 'string') return outcome;
    await tellGoingOn(client, turn, printer, 'the next command with this file');
    return outcome;
  } finally {
    await environment?.close();
    await gemini?.close();
  }
}
