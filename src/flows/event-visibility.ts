import type { EventKind } from '../contract/events.ts';
import { type Content, type Part, trustIn, withTrust } from '../events/content.ts';
import { stepKeyOf } from '../protocol/identity.ts';
import type { Perspective } from '../tools/invocation-context.ts';

/**
 * The events of a transcript that agents see, in order. A rewind, an event with `hidesAfter`, takes the transcript back:
 * visible are the events that were visible at the seq `hidesAfter`, and later ones. So a rewind that a later
 * one takes back hides nothing any more. Linear in the number of events. Semantics: the contents of adk-python after `Runner.rewind_async`.
 *
 * @param events in seq order; a part of a transcript is taken as what there is.
 * @example visibleEvents([{ seq: 1 }, { seq: 2 }, { seq: 3, hidesAfter: 1 }, { seq: 4 }]); // seq 1 and 4
 */
export function visibleEvents<E extends { seq: number; hidesAfter?: number }>(events: readonly E[]): E[] {
  const visible: E[] = [];
  let reach = Number.POSITIVE_INFINITY;
  for (let index = events.length - 1; index >= 0; index -= 1) {
    const event = events[index] as E;
    if (event.seq > reach) continue;
    if (event.hidesAfter === undefined) visible.push(event);
    else reach = event.hidesAfter;
  }
  return visible.reverse();
}

/** Whether a part is an empty text alone. A part with a signature isn't. */
export function isEmptyText(part: Part): boolean {
  return part.text === '' && saysNothing(part);
}

/** Without any data: providers refuse every request with such a part. User code, and models of one's own, may make them. */
export function isBlank(part: Part): boolean {
  return typeof part.text !== 'string' && saysNothing(part);
}

function saysNothing(part: Part): boolean {
  return Object.entries(part).every(
    ([field, value]) => field === 'text' || field === 'thought' || value === undefined || value === null,
  );
}

/** Calls that ask a person, and not a tool. Names: `framework_function_calls` of `@google/adk` 2.0.0. */
const RESERVED_CALL_NAMES: ReadonlySet<string> = new Set([
  'adk_request_confirmation',
  'adk_request_credential',
  'adk_request_input',
]);

/** Whether the part asks a person, or is a person's answer. */
export function isReservedPart({ functionCall, functionResponse }: Part): boolean {
  const name = functionCall?.name ?? functionResponse?.name;
  return name !== undefined && RESERVED_CALL_NAMES.has(name);
}

/** Whether it is by its mark, or is a person's answer: no tool can have the name of those. */
export function isTrustedResponse(part: Part): boolean {
  return trustIn(part.partMetadata) === true || isReservedPart(part);
}

const HEADER: Part = { text: 'For context:' };

/**
 * Another agent's texts, calls and responses as an agent reads them: a user's content. Media stays; thoughts, which
 * `@google/adk` 2.0.0 passes on as the agent's own, and empty texts are left out. Undefined where nothing is left. Texts:
 * `convertForeignEvent` there.
 */
export function retoldContent(author: string, { parts = [] }: Content): Content | undefined {
  const retold = parts.flatMap((part) => retoldPart(author, part));
  return retold.length === 0 ? undefined : { role: 'user', parts: [HEADER, ...retold] };
}

/** The answer to another agent's call that came with a message. */
export function retoldResponse(author: string, response: Part): Part[] {
  return [HEADER, ...retoldPart(author, response)];
}

/** Whether {@link retoldContent} has something to tell. */
function isTellable({ parts = [] }: Content): boolean {
  return parts.some((part) => !part.thought && !isEmpty(part));
}

function retoldPart(author: string, part: Part): Part[] {
  const { text, functionCall, functionResponse } = part;
  if (part.thought || isEmpty(part)) return [];
  if (text) return [{ text: `[${author}] said: ${text}` }];
  if (functionCall !== undefined) {
    const args = json(functionCall.args);
    return [{ text: `[${author}] called tool \`${functionCall.name}\` with parameters: ${args}` }];
  }
  if (functionResponse !== undefined) {
    const response = json(functionResponse.response);
    const told = { text: `[${author}] tool \`${functionResponse.name}\` returned result: ${response}` };
    return [isTrustedResponse(part) ? told : withTrust(told, false)];
  }
  // A signature is only good with the model that gave it, and in its own content.
  const { thoughtSignature: _signature, ...media } = part;
  return [part.thoughtSignature === undefined ? part : media];
}

function isEmpty(part: Part): boolean {
  return part.text === '' || isBlank(part);
}

function json(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value ?? {});
}

/** An event as the contents need it. */
export interface TranscriptEvent {
  seq: number;
  kind: EventKind;
  runKey: string;
  step: number;
  hidesAfter?: number;
  event: {
    id?: string;
    timestamp?: number;
    content?: Content;
    author?: string;
    branch?: string;
    isolationScope?: string;
    isCompacted?: boolean;
  };
}

/**
 * How an agent sees an event that is no merged responses: as its own or the user's, retold, not at all, or as `answers`: it
 * carries responses to earlier calls, and stands with them.
 */
export type Visibility = 'own' | 'foreign' | 'hidden' | 'answers';

/**
 * Semantics: `getContents` of `@google/adk` 2.0.0, which leaves out every event that begins with an empty text, and every event
 * with a reserved call: here a model sees what it has asked by `adk_request_input`, the answer, and the calls beside it.
 */
export function visibilityOf(event: TranscriptEvent, { agent, branch }: Perspective): Visibility {
  const { content, isolationScope } = event.event;
  // It asks people, and an answer to it is no model's to read.
  if (event.kind === 'request') return 'hidden';
  if (content === undefined || !saysSomething(content) || isolationScope !== undefined) return 'hidden';
  if (isOfAnotherBranch(event.event.branch, branch)) return 'hidden';
  const parts = content.parts ?? [];
  const foreign = isForeign(event, agent);
  const answers = !foreign && parts.some(({ functionResponse }) => functionResponse !== undefined);
  // A person may say more than the answer that was asked for.
  if (answers && event.kind === 'message') return 'answers';
  if (event.kind !== 'model' && parts.some(isReservedPart)) return 'hidden';
  if (!foreign) return answers ? 'answers' : 'own';
  return isTellable(content) ? 'foreign' : 'hidden';
}

function isForeign(event: TranscriptEvent, agent: string): boolean {
  const author = authorOf(event);
  return agent !== '' && author !== undefined && author !== agent && author !== 'user';
}

/** Undefined for an event without an author: it belongs to each reader. */
export function authorOf({ kind, event }: TranscriptEvent): string | undefined {
  return event.author ?? (kind === 'message' ? 'user' : undefined);
}

/** An agent sees the events of its own branch, of those above it, and of none. */
function isOfAnotherBranch(branch: string | undefined, own: string | undefined): boolean {
  return !!branch && !!own && branch !== own && !own.startsWith(`${branch}.`);
}

/** An empty text alone is refused by some providers. With a signature it isn't alone. */
function saysSomething({ parts = [] }: Content): boolean {
  return parts.some((part) => !isEmptyText(part) && !isBlank(part));
}

export function hasCalls({ event }: TranscriptEvent): boolean {
  return event.content?.parts?.some(({ functionCall }) => functionCall !== undefined) ?? false;
}

export function hasCode({ event }: TranscriptEvent): boolean {
  return event.content?.parts?.some(({ executableCode }) => executableCode !== undefined) ?? false;
}

/** Calls and the responses to them share it. */
export function stepKey({ runKey, step }: TranscriptEvent): string {
  return stepKeyOf(runKey, step);
}
