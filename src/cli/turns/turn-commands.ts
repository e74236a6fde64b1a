import type { ListTurns } from '../../contract/turns.ts';
import { defined } from '../../protocol/json.ts';
import type { TurnStatus } from '../../protocol/turn.ts';
import { visibleText } from '../../protocol/visible-text.ts';
import { requestFilter } from '../approvals/named-request.ts';
import { processOutput } from '../command-output.ts';
import { connected, connectFolder, type InFolder } from '../connect-folder.ts';
import { progressWords } from '../jobs/job-text.ts';
import { childLines } from '../run/child-lines.ts';
import { type NamingOptions, namedSession } from '../sessions/named-session.ts';
import { ago, spanText, tableLines } from '../sessions/shown-values.ts';

type TurnOptions = InFolder<NamingOptions & { reason?: string }>;

/** `holdfast turns list`. */
export async function listTurns(
  options: InFolder<NamingOptions & Pick<ListTurns, 'status' | 'limit'> & { session?: string }>,
  output = processOutput(),
): Promise<void> {
  await connected(connectFolder, options, output, async ({ api }) => {
    const { status, limit, json } = options;
    const turns = await api.turns({ ...requestFilter(options), ...defined({ status, limit }) });
    if (json) return output.json({ turns });
    if (turns.length === 0)
      return output.note(`no turn ${status === undefined ? 'runs' : `stands as ${status}`}`);
    const rows = turns.map((turn) =>
      [`${turn.app}/${turn.userId}/${turn.sessionId}`, turn.status, turn.agent ?? '', ago(turn.since)].map(
        visibleText,
      ),
    );
    for (const line of tableLines(['SESSION', 'STATUS', 'AGENT', 'SINCE'], rows)) output.line(line);
  });
}

/** `holdfast turns status`. */
export async function showStatus(
  session: string,
  options: TurnOptions,
  output = processOutput(),
): Promise<void> {
  await connected(connectFolder, options, output, async ({ api, apps }) => {
    const status = await api.status(await namedSession(session, options, apps));
    if (options.json) output.json({ status: status ?? null });
    else if (status === undefined) output.note('no turn runs');
    else for (const line of statusLines(status)) output.line(line);
  });
}

/** `holdfast turns interrupt`. */
export async function interruptTurn(
  session: string,
  options: TurnOptions,
  output = processOutput(),
): Promise<void> {
  await connected(connectFolder, options, output, async ({ api, apps }) => {
    const names = await namedSession(session, options, apps);
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
  options: TurnOptions,
  output = processOutput(),
): Promise<void> {
  await connected(connectFolder, options, output, async ({ api, apps }) => {
    const names = await namedSession(session, options, apps);
    const named = /\.\d+\.\d+$/.test(call) ? { callKey: call } : { callId: call };
    const receipt = await api.cancelCall(names, { ...named, ...defined({ reason: options.reason }) });
    if (options.json) return output.json(receipt);
    if (receipt.confirmed) return output.note(`${receipt.callKey} is cancelled`);
    output.note(`it is cancelled once a worker takes it up: ${receipt.reason}`);
  });
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
