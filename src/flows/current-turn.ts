import type { Perspective } from '../tools/invocation-context.ts';
import { Answers } from './answers.ts';
import { authorOf, type Sight, sightOf, type TranscriptEvent } from './event-sight.ts';

/**
 * What an agent of `includeContents: 'none'` sees of the visible events: what came since the latest message, or since the
 * latest event of another agent, with the calls that are answered there. Semantics: `getCurrentTurnContents` of `@google/adk`
 * 2.0.0, which begins with those calls; here their turn's own beginning comes first, as no request can begin with a call.
 */
export function currentTurnOf(
  events: readonly TranscriptEvent[],
  perspective: Perspective,
): readonly TranscriptEvent[] {
  const answers = new Answers(events, perspective);
  let start = latestPivot(events, events.length, answers, perspective);
  while (start > 0) {
    const asked = earliestAsked(events, start, answers);
    if (asked === undefined || asked >= start) break;
    start = isPivot(events[asked] as TranscriptEvent, answers, perspective)
      ? asked
      : latestPivot(events, asked, answers, perspective);
  }
  return events.slice(start);
}

/** Whether the event begins a turn for an agent. */
export function beginsTurn(event: TranscriptEvent, sight: Sight): boolean {
  return sight === 'foreign' || (sight !== 'hidden' && authorOf(event) === 'user');
}

/** 0 where there is none. */
function latestPivot(
  events: readonly TranscriptEvent[],
  before: number,
  answers: Answers,
  perspective: Perspective,
): number {
  for (let index = before - 1; index > 0; index -= 1) {
    if (isPivot(events[index] as TranscriptEvent, answers, perspective)) return index;
  }
  return 0;
}

function isPivot(event: TranscriptEvent, answers: Answers, perspective: Perspective): boolean {
  if (event.kind === 'responses') {
    const asked = answers.askedBy(event);
    return asked !== undefined && sightOf(asked, perspective) === 'foreign';
  }
  const sight = sightOf(event, perspective);
  if (!beginsTurn(event, sight)) return false;
  return sight !== 'answers' || answers.answeredBy(event).length > 0 || answers.restOf(event).length > 0;
}

/** The first event with calls that are answered from an event on. */
function earliestAsked(
  events: readonly TranscriptEvent[],
  from: number,
  answers: Answers,
): number | undefined {
  let earliest = Number.POSITIVE_INFINITY;
  for (const event of events.slice(from)) {
    for (const { seq } of answers.answeredBy(event)) earliest = Math.min(earliest, seq);
  }
  const index = events.findIndex(({ seq }) => seq === earliest);
  return index === -1 ? undefined : index;
}
