import { defineQuery, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { CancelCall, Interrupt } from '../../src/contract/turns.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { callKeyOfId } from '../../src/protocol/identity.ts';
import type {
  CancelReceipt,
  InterruptReceipt,
  MessageReceipt,
  SendMessage,
} from '../../src/protocol/message.ts';
import { CANCEL_CALL, CHILD_STATE, INTERRUPT, SEND_MESSAGE, STATUS_QUERY } from '../../src/protocol/names.ts';
import type { ChildState, TurnStatus } from '../../src/protocol/turn.ts';
import { handleDecisions } from '../approvals/decision-handlers.ts';
import { handleHeldQuestions } from '../approvals/held-questions.ts';
import { refusal } from '../arguments.ts';
import { handleInlineCalls } from '../calls/inline-calls.ts';
import { handleJobs } from '../jobs/job-handlers.ts';
import { AnsweredMessages, answersOnly } from '../messages/answered-messages.ts';
import { checkedMessage } from '../messages/message.ts';
import { FirstOrder, Orders } from './orders.ts';
import { checkedCancel, checkedInterrupt, reasonText } from './steering.ts';
import type { Turn } from './turn.ts';

const A_MESSAGE = 'a message to the session: { messageId, message, policy?, agent? }';
const AN_ANSWER =
  "answers to this agent's requests and calls: { messageId, message }; all else goes to the root";
const A_CANCEL = 'cancels one call, its model is told: { callKey, reason? }';
const AN_INTERRUPT = 'ends the turn that runs, its open calls are answered: { reason? }';

/** The queries, signals and updates of a turn. */
export function handleTurn(turn: Turn): void {
  setHandler(defineQuery<TurnStatus>(STATUS_QUERY), () => turn.status, {
    description: 'how the turn stands: agent, step, running calls, messages that wait, spend',
  });
  const order = new FirstOrder();
  const orders = new Orders(turn.chain);
  handleMessages(turn, order);
  handleOrderUpdates(turn, orders, order);
  order.open();
  handleOrderSignals(turn, orders);
  setHandler(
    defineSignal<[ChildState]>(CHILD_STATE),
    (given) => turn.noted(() => turn.children.told(given)),
    { description: 'from the agents that run as children: one waits, or goes on' },
  );
  handleDecisions(turn.requests, turn.forwarding);
  handleHeldQuestions(turn.held, (handle) => turn.noted(handle));
  handleInlineCalls(turn.inline, turn.steering, (handle) => turn.noted(handle));
  handleJobs(turn.jobs, (handle) => turn.noted(handle));
}

function handleMessages(turn: Turn, order: FirstOrder): void {
  const { requests, jobs, forwarding, mailbox, rootWorkflowId } = turn;
  const isChild = turn.start.child !== undefined;
  const note = (text: string) => turn.note(text);
  const box = isChild ? answersOnly(rootWorkflowId, note) : mailbox;
  const answered = { requests, jobs, forwarding, mailbox: box, note };
  const messages = new AnsweredMessages(answered, () => turn.invocationId);
  const description = isChild ? AN_ANSWER : A_MESSAGE;
  setHandler(
    defineSignal<[SendMessage]>(SEND_MESSAGE),
    (given) =>
      order.signalled(() => {
        try {
          messages.signalled(checkedMessage(given));
        } catch (error) {
          box.refused(given, error instanceof Error ? error.message : String(error));
        }
      }),
    { description },
  );
  setHandler(
    defineUpdate<MessageReceipt, [SendMessage]>(SEND_MESSAGE),
    (given) => {
      order.updated();
      return messages.updated(checkedMessage(given));
    },
    {
      validator: (given) => messages.check(checkedMessage(given)),
      description: `${description}; returns a receipt`,
    },
  );
}

/** The orders by which people end work of the turn. */
function handleOrderUpdates(turn: Turn, orders: Orders, order: FirstOrder): void {
  const { steering, forwarding } = turn;
  setHandler(
    defineUpdate<CancelReceipt, [CancelCall]>(CANCEL_CALL),
    (given) => {
      order.updated();
      const named = checkedCancel(given);
      const other = otherRunOf(turn, named);
      if (other !== undefined) return cancelCallOf(other, turn, named);
      return orders.once(named, () => cancelCall(turn, named));
    },
    {
      validator: (given) => {
        const named = checkedCancel(given);
        if (otherRunOf(turn, named) !== undefined) forwarding.check(named);
        else if (!orders.knows(named)) steering.callOf(named);
      },
      description: `${A_CANCEL}; answers which call it is`,
    },
  );
  setHandler(
    defineUpdate<InterruptReceipt, [Interrupt | undefined]>(INTERRUPT),
    (given) => {
      order.updated();
      return interruptOnce(turn, orders, given);
    },
    {
      validator: (given) => void checkedInterrupt(given ?? {}),
      description: `${AN_INTERRUPT}; answers which one`,
    },
  );
}

function handleOrderSignals(turn: Turn, orders: Orders): void {
  setHandler(
    defineSignal<[CancelCall]>(CANCEL_CALL),
    (given) =>
      turn.noted(() => {
        const named = checkedCancel(given);
        const other = otherRunOf(turn, named);
        if (other === undefined) {
          orders.once(named, () => cancelCall(turn, named));
          return;
        }
        void cancelCallOf(other, turn, named).catch((error) =>
          turn.noted(() => {
            throw error;
          }),
        );
      }),
    { description: A_CANCEL },
  );
  setHandler(
    defineSignal<[Interrupt | undefined]>(INTERRUPT),
    (given) => turn.noted(() => interruptOnce(turn, orders, given)),
    { description: AN_INTERRUPT },
  );
}

function interruptOnce(turn: Turn, orders: Orders, given: Interrupt | undefined): InterruptReceipt {
  const order = checkedInterrupt(given ?? {});
  return orders.once(order, () => interrupt(turn, order));
}

function interrupt(
  { steering, chain, mailbox }: Turn,
  { reason, invocationId, queued }: Interrupt,
): InterruptReceipt {
  const running = chain.current?.invocationId;
  const cutOff = `cancelled: interrupted${reasonText(reason)}`;
  if (running === undefined || (invocationId !== undefined && invocationId !== running)) {
    // It ends as soon as it begins.
    if (queued && invocationId !== undefined && mailbox.has(invocationId)) {
      chain.withdrawn = { ...chain.withdrawn, [invocationId]: cutOff };
    }
    return { v: PROTOCOL_VERSION };
  }
  steering.end({ status: 'interrupted', cutOff });
  return { v: PROTOCOL_VERSION, invocationId: running };
}

function cancelCall({ steering }: Turn, given: CancelCall): CancelReceipt {
  const callKey = steering.callOf(given);
  steering.cancelCall(callKey, given.reason);
  return { v: PROTOCOL_VERSION, callKey, status: 'cancelling' };
}

/** Run key of the agent that has the call which is meant, where that is another one of the tree. */
function otherRunOf({ forwarding, steering }: Turn, named: CancelCall): string | undefined {
  return steering.hasCall(named) ? undefined : forwarding.callOf(named);
}

async function cancelCallOf(runKey: string, { forwarding }: Turn, given: CancelCall): Promise<CancelReceipt> {
  const callKey = given.callKey ?? callKeyOfId(given.callId ?? '') ?? '';
  const workflowId = await forwarding.send(runKey, CANCEL_CALL, given);
  if (workflowId !== undefined) return { v: PROTOCOL_VERSION, callKey, status: 'forwarded', workflowId };
  const problem = 'no agent runs that could have this call';
  throw refusal('cancelCall', 'UnknownCall', given.callKey === undefined ? 'callId' : 'callKey', problem);
}
