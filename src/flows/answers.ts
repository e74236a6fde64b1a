import type { Content, Part } from '../events/content.ts';
import type { Perspective } from '../tools/invocation-context.ts';
import {
  authorOf,
  hasCalls,
  hasCode,
  isBlank,
  isEmptyText,
  isReservedPart,
  retoldResponse,
  stepKey,
  type TranscriptEvent,
  visibilityOf,
} from './event-visibility.ts';

/** A response, and the parts after it up to the next one: its media. */
interface Answer {
  readonly answer: Part;
  readonly following: readonly Part[];
}

function isFunctionResponse({ functionResponse }: Part): boolean {
  return functionResponse !== undefined;
}

/** Merged responses have one such part for each call. */
export function isAnswer({ functionResponse, codeExecutionResult }: Part): boolean {
  return functionResponse !== undefined || codeExecutionResult !== undefined;
}

/** The parts of a content by the answers in it. */
export function splitAtAnswers(
  { parts = [] }: Content,
  isOne: (part: Part) => boolean,
): { before: readonly Part[]; answers: readonly Answer[] } {
  const before: Part[] = [];
  const answers: { answer: Part; following: Part[] }[] = [];
  for (const part of parts) {
    if (isOne(part)) answers.push({ answer: part, following: [] });
    else (answers.at(-1)?.following ?? before).push(part);
  }
  return { before, answers };
}

/** Answers of later events to the calls of one event: the latest response by the call's place, with the media after it. */
export type LateAnswers = ReadonlyMap<number, readonly Part[]>;

interface KnownCall {
  event: TranscriptEvent;
  place: number;
  isOwn: boolean;
}

/**
 * Pairs of calls and responses in a transcript: merged responses by run and step, responses that came by other events by the call's id on
 * the wire, of which the latest counts, an outcome before any update (`willContinue`). Semantics: `getContents` of `@google/adk`
 * 2.0.0, but there an event that answers the calls of several fails the request, and what users said beside an answer is lost
 * with the next one.
 */
export class Answers {
  readonly #merged = new Map<string, TranscriptEvent>();
  readonly #asking = new Map<string, TranscriptEvent>();
  readonly #late = new Map<TranscriptEvent, Map<number, Part[]>>();
  readonly #asked = new Map<TranscriptEvent, TranscriptEvent[]>();
  readonly #rest = new Map<TranscriptEvent, Part[]>();
  /** The latest answers to the agent's own calls. */
  readonly #latest = new Map<TranscriptEvent, TranscriptEvent>();

  /** @param events visible ones, in order. */
  constructor(events: readonly TranscriptEvent[], perspective: Perspective) {
    const calls = new Map<string, KnownCall>();
    for (const event of events) {
      if (event.kind === 'responses') {
        this.#merge(event, perspective);
        continue;
      }
      if (event.kind === 'model' && (hasCalls(event) || hasCode(event)))
        this.#asking.set(stepKey(event), event);
      const visibility = visibilityOf(event, perspective);
      if (visibility === 'answers') this.#distribute(event, calls);
      else if (visibility !== 'hidden') noteCalls(calls, event, visibility === 'own');
    }
  }

  /** The merged responses of a model event. */
  mergedFor(event: TranscriptEvent): Content | undefined {
    return event.kind === 'model' ? this.#merged.get(stepKey(event))?.event.content : undefined;
  }

  /** The model event that merged responses answer. */
  askedBy(responses: TranscriptEvent): TranscriptEvent | undefined {
    return this.#asking.get(stepKey(responses));
  }

  lateFor(event: TranscriptEvent): LateAnswers | undefined {
    return this.#late.get(event);
  }

  /** All events, other agents' too, with calls that `event` answers. */
  answeredBy(event: TranscriptEvent): readonly TranscriptEvent[] {
    return this.#asked.get(event) ?? [];
  }

  /** The latest event that answers calls of one of the agent's own. */
  latestFor(asked: TranscriptEvent): TranscriptEvent | undefined {
    return this.#latest.get(asked);
  }

  /** The agent's own call events that `event` is the latest to answer, in order. */
  askedLastBy(event: TranscriptEvent): readonly TranscriptEvent[] {
    const asked = this.answeredBy(event).filter((each) => this.#latest.get(each) === event);
    return asked.toSorted((one, other) => one.seq - other.seq);
  }

  /** The contents of an event that answers none of the agent's calls. */
  restOf(event: TranscriptEvent): readonly Part[] {
    return this.#rest.get(event) ?? [];
  }

  #merge(event: TranscriptEvent, perspective: Perspective): void {
    this.#merged.set(stepKey(event), event);
    const asked = this.#asking.get(stepKey(event));
    if (asked !== undefined && visibilityOf(asked, perspective) !== 'hidden') this.#asked.set(event, [asked]);
  }

  #distribute(event: TranscriptEvent, calls: ReadonlyMap<string, KnownCall>): void {
    const asked = new Set<TranscriptEvent>();
    const rest: Part[] = [];
    const { before, answers } = splitAtAnswers(event.event.content ?? {}, isFunctionResponse);
    rest.push(...before);
    for (const { answer: response, following } of answers) {
      const call = calls.get(response.functionResponse?.id ?? '');
      if (call === undefined || isReservedPart(response)) {
        rest.push(...following);
        continue;
      }
      asked.add(call.event);
      if (!call.isOwn) {
        rest.push(...retoldResponse(authorOf(call.event) ?? '', response), ...following);
        continue;
      }
      const responses = this.#lateOf(call.event);
      if (!isOutdated(response, responses.get(call.place)?.[0])) {
        responses.set(call.place, [response, ...following.filter(isMedia)]);
      }
      rest.push(...following.filter((part) => !isMedia(part)));
      this.#latest.set(call.event, event);
    }
    this.#asked.set(event, [...asked]);
    this.#rest.set(
      event,
      rest.filter((part) => !isEmptyText(part) && !isBlank(part)),
    );
  }

  #lateOf(event: TranscriptEvent): Map<number, Part[]> {
    const late = this.#late.get(event) ?? new Map<number, Part[]>();
    this.#late.set(event, late);
    return late;
  }
}

function noteCalls(calls: Map<string, KnownCall>, event: TranscriptEvent, isOwn: boolean): void {
  let place = 0;
  for (const { functionCall } of event.event.content?.parts ?? []) {
    if (functionCall === undefined) continue;
    if (functionCall.id) calls.set(functionCall.id, { event, place, isOwn });
    place += 1;
  }
}

/** An update that was overtaken by the outcome. */
function isOutdated(response: Part, known: Part | undefined): boolean {
  return (
    response.functionResponse?.willContinue === true &&
    known !== undefined &&
    known.functionResponse?.willContinue !== true
  );
}

function isMedia(part: Part): boolean {
  return part.text === undefined;
}
