import {
  CALL_TO_CANCEL,
  type CallToCancel,
  cancelCall,
  type InterruptOptions,
  interruptTurn,
  TURN_TO_INTERRUPT,
} from '../../contract/turns.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { checkedFields } from '../checked-input.ts';
import { InvalidTurn } from '../client-errors.ts';

/** @throws InvalidTurn */
export function checkedCall(names: SessionNames, call: CallToCancel) {
  const checked = checkedFields(CALL_TO_CANCEL, { ...call, ...names }, cancelCall.name);
  if ((checked.callKey === undefined) !== (checked.callId === undefined)) return checked;
  throw new InvalidTurn(`${cancelCall.name}: expected either a callKey or a callId`);
}

/** @throws InvalidTurn */
export function checkedInterrupt(names: SessionNames, options: InterruptOptions) {
  return checkedFields(TURN_TO_INTERRUPT, { ...options, ...names }, interruptTurn.name);
}
