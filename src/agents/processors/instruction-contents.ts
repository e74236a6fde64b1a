import type { Content } from '../../events/content.ts';
import type { LlmRequest } from '../../tools/base-tool.ts';

/** The contents are set after the instructions, which have contents of their own with a static instruction. */
const instructionContents = new WeakMap<LlmRequest, Content[]>();

export function addInstructionContents(llmRequest: LlmRequest, contents: Content[]): void {
  llmRequest.contents.push(...contents);
  instructionContents.set(llmRequest, contents);
}

/**
 * Puts the contents of the instructions before the user's last message, or after the responses to the last calls. Semantics:
 * adk-python.
 */
export function insertInstructionContents(llmRequest: LlmRequest): void {
  const contents = instructionContents.get(llmRequest);
  if (contents === undefined) return;
  const said = llmRequest.contents;
  let index = said.length;
  while (index > 0 && isSaidByUser(said[index - 1])) index -= 1;
  said.splice(index, 0, ...contents);
}

function isSaidByUser(content: Content | undefined): boolean {
  return content?.role === 'user' && !content.parts?.some(({ functionResponse }) => functionResponse);
}
