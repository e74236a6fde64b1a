import type {
  BaseLlmRequestProcessor,
  BaseLlmResponseProcessor,
} from '../agents/processors/base-llm-processor.ts';
import type { Event } from '../events/event.ts';
import { createEventActions } from '../events/event-actions.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { presentFields } from '../schema/copy-plain.ts';
import { JsonValueError, toJsonValue } from '../schema/json-value.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { DraftEvent } from '../store/sessions/session-store.ts';
import type { InvocationContext } from '../tools/invocation-context.ts';
import { checkEventState } from '../tools/state-schema.ts';
import { eventActionsOf } from './call-actions.ts';

const TEXTS = ['author', 'branch', 'isolationScope', 'errorCode', 'errorMessage'] as const;

/**
 * An event that user code has made, as it is stored: a copy, as JSON carries it, under the invocation's id, by the agent
 * unless it names somebody else. The store gives its id and its time, and null fields are absent.
 *
 * @throws JsonValueError, InvalidResultError for an event that can't be stored, or can't be read again as a part of the transcript.
 */
export function draftOf(
  event: unknown,
  { invocationId, agent, branch }: Pick<InvocationContext, 'invocationId' | 'agent' | 'branch'>,
): DraftEvent {
  const json: unknown = toJsonValue(event);
  if (!isRecord(json)) throw new JsonValueError([], `expected an event, got ${kindOf(event)}`);
  const given = withoutNulls(json);
  assertReadable(given);
  checkEventState(agent, given.actions);
  const { id: _id, timestamp: _timestamp, partial: _partial, ...fields } = given as unknown as Event;
  const author = fields.author || agent?.name;
  return {
    ...fields,
    invocationId,
    ...defined({ author }),
    ...(fields.branch || branch === undefined ? {} : { branch }),
    actions: eventActionsOf(fields.actions ?? createEventActions()),
  };
}

function withoutNulls(json: Record<string, unknown>): Record<string, unknown> {
  const given = presentFields(json);
  const { content } = given;
  if (!isRecord(content) || !Array.isArray(content.parts)) return given;
  const parts = content.parts.map((part) => (isRecord(part) ? presentFields(part) : part));
  return { ...given, content: { ...presentFields(content), parts } };
}

function assertReadable(event: Record<string, unknown>): void {
  for (const field of TEXTS) {
    const value = event[field];
    if (value === undefined || typeof value === 'string') continue;
    throw new JsonValueError([field], `expected a string, got ${kindOf(value)}`);
  }
  const { content, longRunningToolIds: ids } = event;
  if (ids !== undefined && !(Array.isArray(ids) && ids.every((id) => typeof id === 'string'))) {
    throw new JsonValueError(['longRunningToolIds'], 'expected a list of call ids');
  }
  if (content === undefined) return;
  if (!isRecord(content) || !hasParts(content)) {
    throw new JsonValueError(['content'], 'expected a Content ({ role, parts })');
  }
  const { role } = content;
  if (role === undefined || role === 'user' || role === 'model') return;
  throw new JsonValueError(['content', 'role'], "expected 'user' or 'model'");
}

/** A part without anything in it has the provider refuse the session from then on. */
function hasParts({ parts }: Record<string, unknown>): boolean {
  if (parts === undefined) return true;
  return Array.isArray(parts) && parts.every((part) => isRecord(part) && Object.keys(part).length > 0);
}

const MOST_EVENTS = 1_000;

/**
 * Events that a processor yields for one request or response. An endless one would hold its worker, and not only its turn: a
 * generator that never waits lets no timer fire.
 *
 * @throws TypeError for a value that is no generator.
 * @throws RangeError after 1,000 events.
 */
export async function* yieldedBy(
  processor: BaseLlmRequestProcessor | BaseLlmResponseProcessor,
  events: AsyncIterable<unknown>,
): AsyncGenerator<unknown, void> {
  if (typeof events?.[Symbol.asyncIterator] !== 'function') {
    throw new TypeError(
      `runAsync of ${processor.constructor.name} must be an async generator (async *runAsync)`,
    );
  }
  let count = 0;
  for await (const event of events) {
    count += 1;
    if (count > MOST_EVENTS) throw new RangeError(`it yielded more than ${MOST_EVENTS} events`);
    yield event;
  }
}
