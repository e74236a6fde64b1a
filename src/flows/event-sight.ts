import type { Content } from '../events/content.ts';
import { stepKeyOf } from '../protocol/identity.ts';
import type { EventKind } from '../store/sessions/stored-event.ts';
import type { Perspective } from '../tools/invocation-context.ts';
import { isBlank, isEmptyText } from './empty-part.ts';
import { isTellable } from './foreign-event.ts';
import { isReservedPart } from './reserved-calls.ts';

/** An event as the contents need it. */
export interface TranscriptEvent {
  seq: number;
  kind: EventKind;
  runKey: string;
  step: number;
  hidesAfter?: number;
  event: { content?: Content; author?: string; branch?: string; isolationScope?: string };
}

/**
 * How an agent sees an event that is no merged responses: as its own or the user's, retold, not at all, or as `answers`: it
 * carries responses to earlier calls, and stands with them.
 */
export type Sight = 'own' | 'foreign' | 'hidden' | 'answers';

/**
 * Semantics: `getContents` of `@google/adk` 2.0.0, which leaves out every event that begins with an empty text, and every event
 * with a reserved call: here a model sees what it has asked by `adk_request_input`, the answer, and the calls beside it.
 */
export function sightOf(event: TranscriptEvent, { agent, branch }: Perspective): Sight {
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
