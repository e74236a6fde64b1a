import { setTimeout } from 'node:timers/promises';
import type { RecordedInvocation } from '../../store/turns/turn-store.ts';
import type { ClientContext } from '../client-context.ts';
import { wasSent } from '../messages/was-sent.ts';
import { hasEnded, type SentTurn } from './await-result.ts';
import { isOpen, latestRun } from './open-run.ts';
import { storedTurn } from './stored-turn.ts';
import type { TurnNames } from './turn-names.ts';

type Run = Awaited<ReturnType<typeof latestRun>>;
type PlaceOfTurn = Pick<SentTurn, 'runId' | 'taskQueue'>;

/**
 * While a run's workflow task is being worked on, the server keeps back what the run was sent: its history shows a signal only
 * then. Milliseconds, a workflow task's own limit apart.
 */
const KEPT_BACK = 2_000;
const LOOK_INTERVAL = 100;

/** The receipt of a sent message; undefined if it isn't known. Sends nothing. */
export async function findTurn(context: ClientContext, names: TurnNames): Promise<SentTurn | undefined> {
  const deadline = Date.now() + KEPT_BACK;
  for (;;) {
    const found = await lookForTurn(context, names);
    if (found !== 'in an open run, perhaps') return found;
    if (Date.now() > deadline) return undefined;
    await setTimeout(LOOK_INTERVAL);
  }
}

async function lookForTurn(
  context: ClientContext,
  names: TurnNames,
): Promise<SentTurn | 'in an open run, perhaps' | undefined> {
  const { store, temporal } = context;
  const { session, workflowId, messageId } = names;
  const run = await latestRun(temporal, workflowId);
  const place = { runId: run?.runId ?? '', taskQueue: run?.taskQueue ?? context.taskQueue };
  // A retry that nobody has taken up yet is known to its run only.
  if (run !== undefined && isOpen(run) && isOf(run, messageId)) return begun(names, run, place);
  const recorded = async () => {
    const found = await store?.turns.findInvocation(session, names.invocationId);
    return found && recordedTurn(names, found, place);
  };
  const known = await recorded();
  if (known !== undefined) return known;
  const row = await store?.messages.findWaiting(session, names.invocationId);
  if (row?.status === 'waiting') return { ...storedTurn(names, row), ...place, disposition: 'sent' };
  if (row?.status === 'rejected') return withoutContent(names, place, 'sent');
  if (run === undefined) return undefined;
  if (isOf(run, messageId)) return begun(names, run, place);
  if (await wasSent(temporal, temporal.workflow.getHandle(workflowId, run.runId), names)) {
    return withoutContent(names, place, 'sent');
  }
  // It may have been taken up in between.
  return (await recorded()) ?? (isOpen(run) ? 'in an open run, perhaps' : undefined);
}

function isOf(run: NonNullable<Run>, messageId: string): boolean {
  return run.memo?.messageId === messageId;
}

function begun(names: TurnNames, { memo }: NonNullable<Run>, place: PlaceOfTurn): SentTurn {
  const invocationId = typeof memo?.invocationId === 'string' ? memo.invocationId : names.invocationId;
  return withoutContent({ ...names, invocationId }, place, 'attached');
}

function recordedTurn(names: TurnNames, recorded: RecordedInvocation, place: PlaceOfTurn): SentTurn {
  const turn = withoutContent({ ...names, invocationId: recorded.invocationId }, place, 'attached');
  return hasEnded(recorded) ? { ...turn, ended: recorded } : turn;
}

function withoutContent(
  names: TurnNames,
  place: PlaceOfTurn,
  disposition: SentTurn['disposition'],
): SentTurn {
  return { names, start: { ...names.session, messageId: names.messageId }, ...place, disposition };
}
