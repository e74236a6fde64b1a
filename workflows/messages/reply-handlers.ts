import { type ApplicationFailure, defineSignal, defineUpdate, setHandler } from '@temporalio/workflow';
import type { MessageReceipt, SendMessage } from '../../src/protocol/message.ts';
import { SEND_MESSAGE } from '../../src/protocol/names.ts';
import type { Requests } from '../approvals/requests.ts';
import type { Forwarding } from '../children/forwarding.ts';
import type { Jobs } from '../jobs/jobs.ts';
import { AnsweredMessages } from './answered-messages.ts';
import { checkedMessage, refusal } from './message-arguments.ts';

interface Answering {
  requests: Requests;
  jobs: Jobs;
  forwarding: Forwarding;
  /** For an operator to read. */
  note(text: string): void;
}

const REPLIES =
  "answers to this agent's requests and calls: { messageId, message }; all else goes to the root";

/** An agent below another one is sent no messages: all that it takes of them answers its own requests, or calls that wait. */
export function handleReplies(
  { requests, jobs, forwarding, note }: Answering,
  { rootWorkflowId, invocationId }: { rootWorkflowId: string; invocationId: string },
): void {
  const refused = (): ApplicationFailure =>
    refusal(
      SEND_MESSAGE,
      'InvalidMessage',
      'message',
      `this is an agent below another one, which takes nothing but answers: send it to the root's session, whose workflow is ${rootWorkflowId}`,
    );
  const messages = new AnsweredMessages(
    {
      requests,
      jobs,
      forwarding,
      note,
      mailbox: {
        signalled: () => note(refused().message),
        updated: () => {
          throw refused();
        },
      },
    },
    () => invocationId,
  );
  setHandler(
    defineUpdate<MessageReceipt, [SendMessage]>(SEND_MESSAGE),
    (given) => messages.updated(checkedMessage(given)),
    {
      validator: (given) => {
        const message = checkedMessage(given);
        if (messages.isMoreThanAnswers(message)) throw refused();
        messages.check(message);
      },
      description: `${REPLIES}; answers what became of it`,
    },
  );
  setHandler(
    defineSignal<[SendMessage]>(SEND_MESSAGE),
    (given) => {
      try {
        messages.signalled(checkedMessage(given));
      } catch (error) {
        note(error instanceof Error ? error.message : String(error));
      }
    },
    { description: REPLIES },
  );
}
