import { ApplicationFailure } from '@temporalio/common';
import { defineSignal, defineUpdate, getExternalWorkflowHandle, log, setHandler } from '@temporalio/workflow';
import { PROTOCOL_VERSION } from '../contract/version.ts';
import { type Confirm, callKeyOfRequest, type DecisionReceipt } from '../protocol/gate.ts';
import { runKeyOfCallKey } from '../protocol/identity.ts';
import { CONFIRM } from '../protocol/names.ts';
import type { OutgoingTurn } from './outgoing-turn.ts';

type AskingTurn = Pick<OutgoingTurn, 'invocationId' | 'workflowId'>;

/** Turns that ask what this workflow asks; each workflow has modules of its own. */
const asking = new Set<AskingTurn>();

/** A question is pending for as long as `work` takes. */
export async function whileAsking<T>(turn: AskingTurn, work: () => Promise<T>): Promise<T> {
  asking.add(turn);
  try {
    return await work();
  } finally {
    asking.delete(turn);
  }
}

/**
 * Has this workflow take the signal and the update `confirm`, with the payload that turns take, and give them to the question of
 * {@link confirm} that is meant: the only one that waits, or the one that `requestId` or `callKey` names. Call it at the beginning
 * of a workflow that has no handlers of that name itself. Without it decisions go to the question's own workflow, as clients, the
 * gateway and the command line send them.
 *
 * @example
 * export async function publish(): Promise<void> {
 *   handleConfirm();
 *   const { confirmed } = await confirm({ app: 'desk', userId: 'ada', hint: 'Publish?' });
 * }
 */
export function handleConfirm(): void {
  const description =
    'approves or rejects what this workflow asks: { confirmed, reason? }; requestId unless it is the only one';
  setHandler(
    defineUpdate<DecisionReceipt, [Confirm]>(CONFIRM),
    async (given) => {
      const { workflowId } = askedBy(given);
      await getExternalWorkflowHandle(workflowId).signal(CONFIRM, given);
      const { requestId = '', callKey = callKeyOfRequest(requestId) ?? '' } = given;
      return { v: PROTOCOL_VERSION, requestId, callKey, status: 'forwarded', workflowId };
    },
    {
      validator: (given) => void askedBy(given),
      description: `${description}; answers to whom it was given`,
    },
  );
  setHandler(
    defineSignal<[Confirm]>(CONFIRM),
    async (given) => {
      try {
        await getExternalWorkflowHandle(askedBy(given).workflowId).signal(CONFIRM, given);
      } catch (error) {
        log.warn(error instanceof Error ? error.message : String(error));
      }
    },
    { description },
  );
}

/** @throws ApplicationFailure of type `NotPending` or `AmbiguousRequest`. */
function askedBy(given: unknown): AskingTurn {
  if (typeof given !== 'object' || given === null) throw refused('NotPending', 'expected { confirmed }');
  const { requestId, callKey } = given as Record<string, unknown>;
  const named = typeof requestId === 'string' ? callKeyOfRequest(requestId) : callKey;
  const isNamed = requestId !== undefined || callKey !== undefined;
  const runKey = typeof named === 'string' ? runKeyOfCallKey(named) : undefined;
  const meant = [...asking].filter(({ invocationId }) => !isNamed || invocationId === runKey);
  const [turn, another] = meant;
  if (turn === undefined) throw refused('NotPending', 'no such question of this workflow waits');
  if (another !== undefined) {
    throw refused('AmbiguousRequest', `requestId: ${meant.length} questions wait, name one by its id`);
  }
  return turn;
}

function refused(type: 'NotPending' | 'AmbiguousRequest', problem: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`confirm: ${problem}`, type);
}
