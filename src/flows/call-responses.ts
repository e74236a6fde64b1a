import type { Content, Part } from '../events/content.ts';
import { isAnswer, type LateAnswers, splitAtAnswers } from './answers.ts';
import { withParts } from './call-ids.ts';

/** The response of an unanswered call, beside an answered one, for the model. */
const UNANSWERED = 'the call has no response';

/**
 * The responses to `calls` as the model sees them, in call order: the response at a place has the id and the name of the call
 * at that place, or no id where the call has none. Code that the model wrote has a place like a call, where `merged` holds
 * results of code. Undefined where `merged` doesn't fit the calls and nothing came late.
 *
 * @param merged of the calls' step.
 * @param late takes the place of what `merged` has.
 */
export function responsesTo(
  calls: Content,
  merged: Content | undefined,
  late?: LateAnswers,
): Content | undefined {
  const places = placesOf(calls, merged);
  const fitting = merged === undefined ? undefined : fitted(merged, places);
  return late === undefined ? fitting : withLate(places, fitting, late);
}

/** Calls and their merged responses, by position. Empty where they don't fit each other. */
export function answeredCalls(calls: Content, merged: Content): { call: Part; answer: Part }[] {
  const places = placesOf(calls, merged);
  if (fitted(merged, places) === undefined) return [];
  const answers = (merged.parts ?? []).filter(isAnswer);
  return places.flatMap((call, index) => {
    const answer = answers[index];
    return answer === undefined ? [] : [{ call, answer }];
  });
}

/** The parts that want an answer: calls, and code that somebody here has run. */
function placesOf({ parts = [] }: Content, merged: Content | undefined): Part[] {
  const withCode = merged?.parts?.some(({ codeExecutionResult }) => codeExecutionResult !== undefined);
  return parts.filter(({ functionCall, executableCode }, index) => {
    if (functionCall !== undefined) return true;
    const isAnswered = parts[index + 1]?.codeExecutionResult !== undefined;
    return withCode && executableCode !== undefined && !isAnswered;
  });
}

function fitted(merged: Content, places: readonly Part[]): Content | undefined {
  let index = 0;
  let fits = true;
  const answered = withParts(merged, (part) => {
    if (!isAnswer(part)) return part;
    const place = places[index];
    index += 1;
    fits &&= place !== undefined && isCall(place) === (part.functionResponse !== undefined);
    return place === undefined ? part : responseTo(place, part);
  });
  return fits && index === places.length ? answered : undefined;
}

function withLate(places: readonly Part[], merged: Content | undefined, late: LateAnswers): Content {
  const { before, answers } = splitAtAnswers(merged ?? {}, isAnswer);
  let call = 0;
  const answered = places.flatMap((place, index) => {
    const known = answers[index];
    if (isCall(place)) {
      const [response, ...media] = late.get(call) ?? [];
      call += 1;
      if (response !== undefined) return [responseTo(place, response), ...media];
      if (known === undefined) return [responseTo(place, { functionResponse: unanswered() })];
    }
    return known === undefined ? [] : [known.answer, ...known.following];
  });
  return { role: 'user', ...merged, parts: [...before, ...answered] };
}

function unanswered(): Part['functionResponse'] & object {
  return { response: { error: UNANSWERED } };
}

function isCall({ functionCall }: Part): boolean {
  return functionCall !== undefined;
}

/** That others follow it is for programs: a model may read it as if they came by themselves, and some providers refuse it. */
function responseTo({ functionCall }: Part, part: Part): Part {
  const { functionResponse } = part;
  if (functionCall === undefined || functionResponse === undefined) return part;
  const { id, name } = functionCall;
  const isSame = functionResponse.id === id && functionResponse.name === name;
  if (isSame && functionResponse.willContinue === undefined) return part;
  const { id: _other, willContinue: _, ...rest } = functionResponse;
  const named = name === undefined ? rest : { ...rest, name };
  return { ...part, functionResponse: id === undefined ? named : { ...named, id } };
}
