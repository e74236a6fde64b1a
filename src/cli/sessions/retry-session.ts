import type { Closing } from '../../../worker/closing.ts';
import { NoAnswer } from '../../client/client-errors.ts';
import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connected, connectFolder, type InFolder } from '../connect-folder.ts';
import type { Connected } from '../direct-api.ts';
import { jsonPrinter, type Printer, terminalPrinter } from '../run/printer.ts';
import { print } from '../run/run-turn.ts';
import { type NamingOptions, namedSession } from './named-session.ts';

/** How long a worker is waited for before the turn is left to itself, milliseconds. */
const WORKER_PATIENCE = 5_000;

/** `holdfast sessions retry`: a turn runs anew from a call on, and is followed to its end. Returns the exit code. */
export async function retrySession(
  argument: string,
  options: InFolder<NamingOptions & { /** Key of the call that runs anew. */ from: string }>,
  output = processOutput(),
  printer: Printer = options.json ? jsonPrinter() : terminalPrinter(),
  patience = WORKER_PATIENCE,
): Promise<number> {
  const session = (apps: Connected['apps']) => namedSession(argument, options, apps);
  const connect = (place: ConnectOptions, closing: Closing) => connectFolder({ ...place, session }, closing);
  return await connected(connect, options, output, async ({ api, apps }) => {
    const { from: callKey } = options;
    const names = await session(apps);
    const turn = await withProgress(output, 'starting', api.sessions.retry({ ...names, callKey }));
    const { invocationId, taskQueue, workflowId } = turn;
    output.note(`invocation ${invocationId} goes on from before ${callKey}, on the task queue ${taskQueue}`);
    const silence = await silenceOf(api, names, patience);
    if (silence !== undefined) {
      output.note(
        `${silence}. The turn is kept: start a worker (holdfast worker or holdfast dev, with the same folder and agents ` +
          `file); holdfast sessions show ${workflowId} tells how far it has come`,
      );
      return 0;
    }
    await print(turn, printer, { begun: true, seq: undefined, place: undefined });
    const outcome = await turn.result();
    printer.outcome(outcome, names);
    return outcome.status === 'completed' ? 0 : 1;
  });
}

/** Why nobody answers for the session's turn; undefined where somebody does, or it has ended. */
async function silenceOf(
  api: HoldfastApi,
  names: SessionNames,
  timeout: number,
): Promise<string | undefined> {
  try {
    await api.status(names, { timeout });
    return undefined;
  } catch (error) {
    if (error instanceof NoAnswer) return error.message;
    throw error;
  }
}
