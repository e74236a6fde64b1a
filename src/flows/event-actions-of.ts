import { createEventActions, type EventActions } from '../events/event-actions.ts';
import { toJsonValue } from '../schema/json-value.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import { InvalidResultError } from '../tools/tool-error.ts';
import { callActionsOf } from './call-actions.ts';

/**
 * The actions of an event as JSON carries them. They are user code's to write: what the store could not keep, or merge, is
 * refused here.
 *
 * @throws InvalidResultError naming the action.
 */
export function eventActionsOf(actions: EventActions): EventActions {
  if (!isRecord(actions)) throw invalid('actions', actions);
  callActionsOf(actions);
  for (const name of ['requestedAuthConfigs', 'requestedToolConfirmations', 'agentState'] as const) {
    const value: unknown = actions[name];
    if (value !== undefined && value !== null && !isRecord(value)) throw invalid(`actions.${name}`, value);
  }
  const json: Partial<EventActions> = {};
  for (const [name, value] of Object.entries(toJsonValue(actions) as object)) {
    if (value !== null) Object.assign(json, { [name]: value });
  }
  return createEventActions(json);
}

function invalid(what: string, value: unknown): InvalidResultError {
  return new InvalidResultError(`context.${what}: expected an object, got ${kindOf(value)}`);
}
