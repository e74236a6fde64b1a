import type {
  CitationMetadata,
  Content,
  FinishReason,
  FunctionCall,
  FunctionResponse,
  GroundingMetadata,
  LlmUsageMetadata,
  Transcription,
} from './content.ts';
import { createEventActions, type EventActions } from './event-actions.ts';

/** Function call ids that start like this are ours and are taken off before the model sees the call. */
export const AF_FUNCTION_CALL_ID_PREFIX = 'adk-';

export type RouteKey = string | number | boolean;

export type Route = RouteKey | RouteKey[];

/** The workflow node that an event comes from. */
export interface NodeInfo {
  path?: string;
  outputFor?: string[];
  messageAsOutput?: boolean;
}

/**
 * One entry of a session's transcript, as it is stored and sent: JSON.
 *
 * The fields of a model's response (`LlmResponse`) and those of `Event` of `@google/adk` 2.0.0.
 */
export interface Event {
  /** Given by the store. */
  id: string;
  /** The turn that the event belongs to. */
  invocationId: string;
  /** `user`, or the agent's name. */
  author?: string;
  actions: EventActions;
  /** Ids of the function calls of this event that go on after it. */
  longRunningToolIds?: string[];
  /** Path of agent names, `a.b.c`; agents of another branch don't see the event. */
  branch?: string;
  /** Milliseconds since the epoch. */
  timestamp: number;

  /** Parts of a model are those it sent, unchanged. */
  content?: Content;
  groundingMetadata?: GroundingMetadata;
  citationMetadata?: CitationMetadata;
  /** A piece of a text that is still coming; never stored. */
  partial?: boolean;
  turnComplete?: boolean;
  /** Set on an error event; `errorMessage` says more. */
  errorCode?: string;
  errorMessage?: string;
  interrupted?: boolean;
  /** JSON only. */
  customMetadata?: { [key: string]: unknown };
  usageMetadata?: LlmUsageMetadata;
  finishReason?: FinishReason;
  inputTranscription?: Transcription;
  outputTranscription?: Transcription;
  modelVersion?: string;

  output?: unknown;
  route?: Route;
  nodeInfo?: NodeInfo;
  isolationScope?: string;
}

export interface CreateEventParams extends Omit<Partial<Event>, 'actions'> {
  actions?: Partial<EventActions>;
}

/**
 * Makes a whole event of a part of one. Semantics: `createEvent` of `@google/adk` 2.0.0.
 *
 * @param params `id` defaults to a random one, `timestamp` to now, `invocationId` to `''`.
 */
export function createEvent(params: CreateEventParams = {}): Event {
  return {
    ...params,
    id: params.id || createNewEventId(),
    invocationId: params.invocationId ?? '',
    actions: createEventActions(params.actions),
    longRunningToolIds: params.longRunningToolIds ?? [],
    timestamp: params.timestamp || Date.now(),
  };
}

function createNewEventId(): string {
  return globalThis.crypto.randomUUID();
}

/** Whether `value` has the shape of an event, read from a store or just made. */
export function isEvent(value: unknown): value is Event {
  if (typeof value !== 'object' || value === null) return false;
  const { id, invocationId, timestamp, actions } = value as Record<string, unknown>;
  return (
    typeof id === 'string' &&
    typeof invocationId === 'string' &&
    typeof timestamp === 'number' &&
    typeof actions === 'object' &&
    actions !== null
  );
}

/**
 * Whether the agent has said what it has to say: no calls, no responses, not a piece of a stream; or a response that
 * the model isn't asked about, or calls that go on after the turn. Semantics: `isFinalResponse` of `@google/adk` 2.0.0.
 */
export function isFinalResponse(event: Event): boolean {
  // Other ADKs leave `actions` out.
  const actions: Partial<EventActions> = event.actions ?? {};
  if (
    actions.skipSummarization ||
    (event.longRunningToolIds?.length ?? 0) > 0 ||
    Object.keys(actions.requestedAuthConfigs ?? {}).length > 0
  ) {
    return true;
  }
  return (
    getFunctionCalls(event).length === 0 &&
    getFunctionResponses(event).length === 0 &&
    !event.partial &&
    !hasTrailingCodeExecutionResult(event)
  );
}

/** The function calls of an event, in order. */
export function getFunctionCalls(event: Pick<Event, 'content'>): FunctionCall[] {
  return (event.content?.parts ?? []).flatMap(({ functionCall }) => (functionCall ? [functionCall] : []));
}

/** The function responses of an event, in order. */
export function getFunctionResponses(event: Pick<Event, 'content'>): FunctionResponse[] {
  return (event.content?.parts ?? []).flatMap(({ functionResponse }) =>
    functionResponse ? [functionResponse] : [],
  );
}

/** Whether the last part is the result of code that the model ran, about which it will say more. */
export function hasTrailingCodeExecutionResult(event: Pick<Event, 'content'>): boolean {
  return event.content?.parts?.at(-1)?.codeExecutionResult !== undefined;
}

/** The text of an event, thoughts left out. Semantics: `stringifyContent` of `@google/adk` 2.0.0. */
export function stringifyContent(event: Pick<Event, 'content'>): string {
  return (event.content?.parts ?? []).map((part) => (part.thought ? '' : (part.text ?? ''))).join('');
}

/** Whether a part of an event is the model's thoughts. Semantics: `hasThoughts` of `@google/adk` 2.0.0. */
export function hasThoughts(event: Pick<Event, 'content'>): boolean {
  return (event.content?.parts ?? []).some(({ thought }) => thought === true);
}

/** The event without the model's thoughts; itself where it has no parts. Semantics: `pruneThoughts` of `@google/adk` 2.0.0. */
export function pruneThoughts(event: Event): Event {
  const { content } = event;
  if (!content?.parts) return event;
  return {
    ...event,
    content: { ...content, parts: content.parts.filter(({ thought }) => thought !== true) },
  };
}

/** An id that starts with {@link AF_FUNCTION_CALL_ID_PREFIX}. Semantics: the function of this name of `@google/adk` 2.0.0. */
export function generateClientFunctionCallId(): string {
  return `${AF_FUNCTION_CALL_ID_PREFIX}${globalThis.crypto.randomUUID()}`;
}

/** Gives an id to the function calls of an event that have none. Semantics: as in `@google/adk` 2.0.0. */
export function populateClientFunctionCallId(modelResponseEvent: Pick<Event, 'content'>): void {
  for (const call of getFunctionCalls(modelResponseEvent)) call.id ||= generateClientFunctionCallId();
}
