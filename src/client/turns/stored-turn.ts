import { PROTOCOL_VERSION } from '../../contract/version.ts';
import type { SendMessage } from '../../protocol/message.ts';
import type { WaitingMessage } from '../../protocol/step.ts';
import type { OutgoingTurn } from '../messages/outgoing-turn.ts';
import type { TurnNames } from './turn-names.ts';

type StoredTurn = Pick<OutgoingTurn, 'names' | 'start'> & { message: SendMessage };

/** A message whose content waits in the store's inbox, in the forms in which it crosses Temporal. */
export function storedTurn(names: TurnNames, waiting: WaitingMessage): StoredTurn {
  const { digest, bytes, agent, runConfig } = waiting;
  const message = {
    v: PROTOCOL_VERSION,
    messageId: names.messageId,
    stored: { digest, bytes },
    ...(agent === undefined ? {} : { agent }),
    ...(runConfig === undefined ? {} : { runConfig }),
  };
  return { names, start: { ...message, ...names.session }, message };
}
