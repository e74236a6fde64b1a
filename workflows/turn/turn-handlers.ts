import { defineQuery, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { ChildState } from '../../src/protocol/agent-run.ts';
import type { CancelCall, CancelReceipt, Interrupt, InterruptReceipt } from '../../src/protocol/message.ts';
import { CANCEL_CALL, CHILD_STATE, INTERRUPT, STATUS_QUERY } from '../../src/protocol/names.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import type { Forwarding } from '../children/forwarding.ts';
import { callKeyOfId } from '../jobs/job-book.ts';
import { checkedInterrupt, refusal } from '../messages/message-arguments.ts';
import type { Orders } from './orders.ts';
import { reasonText, type Steering } from './steering.ts';

const A_CANCEL = 'cancels one call, its model is told: { callKey, reason? }';
const AN_INTERRUPT = 'ends the turn that runs, its open calls are answered: { reason? }';

/** What is asked of a turn, and of each of its children. */
export interface SteeredTurn {
  steering: Steering;
  orders: Orders;
  forwarding: Forwarding;
  /** The invocation that is under way. */
  current(): string | undefined;
  /** An invocation whose message waits is to end as soon as it begins, for this reason. */
  withdraw?(invocationId: string, cutOff: string): void;
  /** Carries out what nobody is told the failure of. */
  noted(handle: () => unknown): void;
  /** A child says what it does. */
  told(state: ChildState): void;
}

/** How a turn is asked how it stands. */
export function handleStatus(status: () => TurnStatus): void {
  setHandler(defineQuery<TurnStatus>(STATUS_QUERY), status, {
    description: 'how the turn stands: agent, step, running calls, messages that wait, spend',
  });
}

/**
 * The orders by which people end its work, as they are answered.
 *
 * @param before called before each of them is carried out.
 */
export function handleOrders(turn: SteeredTurn, before: () => void = () => undefined): void {
  const { steering, orders, forwarding } = turn;
  setHandler(
    defineUpdate<CancelReceipt, [CancelCall]>(CANCEL_CALL),
    (given) => {
      before();
      const other = otherRunOf(turn, given);
      if (other !== undefined) return cancelCallOf(other, turn, given);
      return orders.once(given, () => cancelCall(turn, given));
    },
    {
      validator: (given) => {
        if (otherRunOf(turn, given) !== undefined) forwarding.check(given);
        else if (!orders.knows(given)) steering.callOf(given);
      },
      description: `${A_CANCEL}; answers which call it is`,
    },
  );
  setHandler(
    defineUpdate<InterruptReceipt, [Interrupt | undefined]>(INTERRUPT),
    (given = {}) => {
      before();
      return orders.once(given, () => interrupt(turn, given));
    },
    {
      validator: (given) => void checkedInterrupt(given ?? {}),
      description: `${AN_INTERRUPT}; answers which one`,
    },
  );
}

/** The same as signals, and what children say. */
export function hearOrders(turn: SteeredTurn): void {
  const { orders, noted, told } = turn;
  setHandler(
    defineSignal<[CancelCall]>(CANCEL_CALL),
    (given) => {
      const other = otherRunOf(turn, given);
      if (other === undefined) {
        noted(() => orders.once(given, () => cancelCall(turn, given)));
        return;
      }
      void cancelCallOf(other, turn, given).catch((error) =>
        noted(() => {
          throw error;
        }),
      );
    },
    { description: A_CANCEL },
  );
  setHandler(
    defineSignal<[Interrupt | undefined]>(INTERRUPT),
    (given) => noted(() => orders.once(given ?? {}, () => interrupt(turn, given ?? {}))),
    { description: AN_INTERRUPT },
  );
  setHandler(defineSignal<[ChildState]>(CHILD_STATE), (given) => noted(() => told(given)), {
    description: 'from the agents that run as children: one waits, or goes on',
  });
}

function interrupt({ steering, current, withdraw }: SteeredTurn, given: Interrupt): InterruptReceipt {
  const { reason, invocationId, queued } = checkedInterrupt(given);
  const running = current();
  const cutOff = `cancelled: interrupted${reasonText(reason)}`;
  if (running === undefined || (invocationId !== undefined && invocationId !== running)) {
    if (queued && invocationId !== undefined) withdraw?.(invocationId, cutOff);
    return { v: PROTOCOL_VERSION };
  }
  steering.end({ status: 'interrupted', cutOff });
  return { v: PROTOCOL_VERSION, invocationId: running };
}

function cancelCall({ steering }: SteeredTurn, given: CancelCall): CancelReceipt {
  const callKey = steering.callOf(given);
  steering.cancelCall(callKey, given.reason);
  return { v: PROTOCOL_VERSION, callKey, status: 'cancelling' };
}

/** Run key of whoever has the call that is meant, where that is another one of the tree. */
function otherRunOf({ forwarding, steering }: SteeredTurn, given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null || steering.hasCall(given)) return undefined;
  return forwarding.callOf(given);
}

async function cancelCallOf(
  runKey: string,
  { forwarding }: SteeredTurn,
  given: CancelCall,
): Promise<CancelReceipt> {
  const callKey = given.callKey ?? callKeyOfId(given.callId ?? '') ?? '';
  const workflowId = await forwarding.send(runKey, CANCEL_CALL, given);
  if (workflowId !== undefined) return { v: PROTOCOL_VERSION, callKey, status: 'forwarded', workflowId };
  const problem = 'no agent runs that could have this call';
  throw refusal('cancelCall', 'UnknownCall', given.callKey === undefined ? 'callId' : 'callKey', problem);
}
