import type { HoldfastApi } from '../../client/holdfast-api.ts';
import type { ListTurns } from '../../contract/turns.ts';
import { defined } from '../../protocol/json.ts';
import type { TurnStatus } from '../../protocol/turn.ts';
import { visibleText } from '../../protocol/visible-text.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { spanText } from '../approvals/span-text.ts';
import { type CommandOutput, processOutput } from '../command-output.ts';
import { type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { progressWords } from '../jobs/job-text.ts';
import { childLines } from '../run/child-lines.ts';
import { type NamingOptions, namedSession } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

type Place = Pick<ConnectOptions, 'folder' | 'env'> & { json?: boolean };

export interface TurnOptions extends NamingOptions, Omit<Place, 'env'> {
  reason?: string;
}

export interface ListTurnsOptions
  extends Pick<ListTurns, 'status' | 'limit'>,
    NamingOptions,
    Omit<Place, 'env'> {
  session?: string;
}

type Here<Options> = Options & Pick<Place, 'env'>;

/** `holdfast turns list`. */
export async function listTurns(
  { app, user, session, status, limit, json, ...place }: Here<ListTurnsOptions>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { api, close } = await connectFolder({ ...place, onProgress: output.note });
  try {
    const turns = await api.turns(defined({ app, userId: user, sessionId: session, status, limit }));
    if (json) return output.json({ turns });
    if (turns.length === 0)
      return output.note(`no turn ${status === undefined ? 'runs' : `stands as ${status}`}`);
    const rows = turns.map((turn) =>
      [`${turn.app}/${turn.userId}/${turn.sessionId}`, turn.status, turn.agent ?? '', ago(turn.since)].map(
        visibleText,
      ),
    );
    const columns = ['SESSION', 'STATUS', 'AGENT', 'SINCE'].map((title) => ({ title }));
    for (const line of tableLines(columns, rows)) output.line(line);
  } finally {
    await close();
  }
}

/** `holdfast turns status`. */
export async function showStatus(
  session: string,
  options: Here<TurnOptions>,
  output = processOutput(),
): Promise<void> {
  await withTurn(session, options, output, async (api, names) => {
    const status = await api.status(names);
    if (options.json) output.json({ status: status ?? null });
    else if (status === undefined) output.note('no turn runs');
    else for (const line of statusLines(status)) output.line(line);
  });
}

/** `holdfast turns interrupt`. */
export async function interruptTurn(
  session: string,
  options: Here<TurnOptions>,
  output = processOutput(),
): Promise<void> {
  await withTurn(session, options, output, async (api, names) => {
    const receipt = await api.interrupt(names, defined({ reason: options.reason }));
    if (options.json) return output.json(receipt);
    if (!receipt.confirmed) return output.note(`it ends once a worker takes it up: ${receipt.reason}`);
    output.note(receipt.invocationId === undefined ? 'no turn runs' : `${receipt.invocationId} ends`);
  });
}

/** `holdfast turns cancel-call`. */
export async function cancelCall(
  session: string,
  call: string,
  options: Here<TurnOptions>,
  output = processOutput(),
): Promise<void> {
  await withTurn(session, options, output, async (api, names) => {
    const named = /\.\d+\.\d+$/.test(call) ? { callKey: call } : { callId: call };
    const receipt = await api.cancelCall(names, { ...named, ...defined({ reason: options.reason }) });
    if (options.json) return output.json(receipt);
    if (receipt.confirmed) return output.note(`${receipt.callKey} is cancelled`);
    output.note(`it is cancelled once a worker takes it up: ${receipt.reason}`);
  });
}

async function withTurn(
  session: string,
  { app, user, folder, env }: Here<TurnOptions>,
  { note }: CommandOutput,
  work: (api: HoldfastApi, names: SessionNames) => Promise<void>,
): Promise<void> {
  const { api, apps, close } = await connectFolder({ folder, env, onProgress: note });
  try {
    await work(api, await namedSession(session, defined({ app, user }), apps));
  } finally {
    await close();
  }
}

/** How a turn stands, for people. */
export function statusLines(status: TurnStatus): string[] {
  const { agent = 'agent', step, running, waiting, jobs, children = [], queued, usage } = status;
  const lines = [
    `${status.status}: ${agent}, step ${step}, ${usage.modelCalls} model calls, ${usage.totalTokens} tokens`,
    ...running.map(
      ({ tool, callKey, since }) => `${tool} ${callKey} runs since ${spanText(Date.now() - since)}`,
    ),
    ...waiting.map(
      ({ requestId, tool, since }) => `${tool} ${requestId} waits since ${spanText(Date.now() - since)}`,
    ),
    ...jobs.map(
      ({ jobId, tool, since, progress }) =>
        `${tool} waits for ${jobId} since ${spanText(Date.now() - since)}${progress === undefined ? '' : `: ${progressWords(progress)}`}`,
    ),
    ...childLines(children),
    ...(queued > 0 ? [`${queued} messages wait`] : []),
  ];
  return lines.map(visibleText);
}
