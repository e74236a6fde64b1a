import { createEventActions, type EventActions } from '../events/event-actions.ts';
import { isRecord } from '../protocol/json.ts';
import { reservedKeyIn, reservedKeyText } from '../protocol/reserved-state.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { CallActions } from '../store/turns/call-store.ts';
import { InvalidResultError } from '../tools/tool-error.ts';

/**
 * The actions of a call that its ledger row keeps. They are user code's to write, and the store merges them later, in a
 * statement that also appends other calls' results: what it could not merge is refused here.
 *
 * @throws InvalidResultError naming the action.
 */
export function callActionsOf(actions: EventActions): CallActions {
  const { skipSummarization, transferToAgent, escalate } = actions;
  const stateDelta = recordOf('stateDelta', jsonState(actions.stateDelta));
  const reserved = reservedKeyIn(stateDelta);
  if (reserved !== undefined) {
    throw new InvalidResultError(`context.actions.stateDelta: ${reservedKeyText(reserved)}`);
  }
  const artifactDelta = recordOf('artifactDelta', actions.artifactDelta);
  for (const [name, version] of Object.entries(artifactDelta)) {
    if (!Number.isSafeInteger(version))
      throw invalid(`actions.artifactDelta[${JSON.stringify(name)}]`, 'a whole number', version);
  }
  for (const [name, flag] of Object.entries({ skipSummarization, escalate })) {
    if (flag !== undefined && typeof flag !== 'boolean')
      throw invalid(`actions.${name}`, 'true or false', flag);
  }
  if (transferToAgent !== undefined && typeof transferToAgent !== 'string') {
    throw invalid('actions.transferToAgent', 'the name of an agent', transferToAgent);
  }
  return {
    ...(Object.keys(stateDelta).length > 0 ? { stateDelta } : {}),
    ...(Object.keys(artifactDelta).length > 0
      ? { artifactDelta: artifactDelta as Record<string, number> }
      : {}),
    ...(skipSummarization ? { skipSummarization } : {}),
    ...(transferToAgent ? { transferToAgent } : {}),
    ...(escalate ? { escalate } : {}),
  };
}

function jsonState(stateDelta: unknown): unknown {
  try {
    return toJsonValue(stateDelta);
  } catch (error) {
    if (!(error instanceof JsonValueError)) throw error;
    throw new InvalidResultError(`context.actions.stateDelta: ${error.message}`, { cause: error });
  }
}

function recordOf(action: string, value: unknown): Record<string, unknown> {
  if (value === undefined || value === null) return {};
  if (!isRecord(value)) throw invalid(`actions.${action}`, 'an object', value);
  return value;
}

function invalid(place: string, wanted: string, value: unknown): InvalidResultError {
  return new InvalidResultError(`context.${place}: expected ${wanted}, got ${kindOf(value)}`);
}

/**
 * The actions of an event as JSON carries them. They are user code's to write: what the store could not keep, or merge, is
 * refused here.
 *
 * @throws InvalidResultError naming the action.
 */
export function eventActionsOf(actions: EventActions): EventActions {
  if (!isRecord(actions)) throw invalid('actions', 'an object', actions);
  callActionsOf(actions);
  for (const name of ['requestedAuthConfigs', 'requestedToolConfirmations', 'agentState'] as const) {
    const value: unknown = actions[name];
    if (value !== undefined && value !== null && !isRecord(value))
      throw invalid(`actions.${name}`, 'an object', value);
  }
  const json: Partial<EventActions> = {};
  for (const [name, value] of Object.entries(toJsonValue(actions) as object)) {
    if (value !== null) Object.assign(json, { [name]: value });
  }
  return createEventActions(json);
}
