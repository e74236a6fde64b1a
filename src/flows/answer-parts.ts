import type { Content, Part } from '../events/content.ts';

/** A response, and the parts after it up to the next one: its media. */
export interface Answer {
  readonly answer: Part;
  readonly behind: readonly Part[];
}

export function isFunctionResponse({ functionResponse }: Part): boolean {
  return functionResponse !== undefined;
}

/** What merged responses hold one of for each call. */
export function isAnswer({ functionResponse, codeExecutionResult }: Part): boolean {
  return functionResponse !== undefined || codeExecutionResult !== undefined;
}

/** The parts of a content by the answers in it. */
export function splitAtAnswers(
  { parts = [] }: Content,
  isOne: (part: Part) => boolean,
): { before: readonly Part[]; answers: readonly Answer[] } {
  const before: Part[] = [];
  const answers: { answer: Part; behind: Part[] }[] = [];
  for (const part of parts) {
    if (isOne(part)) answers.push({ answer: part, behind: [] });
    else (answers.at(-1)?.behind ?? before).push(part);
  }
  return { before, answers };
}
