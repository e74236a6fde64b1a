import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import type { SendMessage } from '../../src/protocol/message.ts';
import { SEND_MESSAGE } from '../../src/protocol/names.ts';
import { contentProblem } from '../../src/protocol/sizes.ts';
import { type Refuse, refusal, taken } from '../arguments.ts';

/** @throws ApplicationFailure of type `InvalidMessage` */
export function checkedMessage(given: SendMessage): SendMessage {
  const message = taken<SendMessage>(WORKFLOW_CHECKS.message, given, {
    of: SEND_MESSAGE,
    type: 'InvalidMessage',
  });
  const refuse: Refuse = (field, problem) => refusal(SEND_MESSAGE, 'InvalidMessage', field, problem);
  if (message.message === undefined && message.stored === undefined) throw missingContent(refuse);
  checkSize(message, refuse);
  return message;
}

export function missingContent(refuse: Refuse) {
  return refuse('message', 'expected text or a Content { role, parts }, got nothing');
}

/** Refuses a message that must travel through the store because of its size. @throws the error of `refuse`. */
export function checkSize(
  { message, stateDelta }: Pick<SendMessage, 'message' | 'stateDelta'>,
  refuse: Refuse,
): void {
  const problem = contentProblem(
    [message, stateDelta],
    'send it by a HoldfastClient with a store, or by the gateway, which put it into the store first',
  );
  if (problem !== undefined) throw refuse('message', problem);
}
