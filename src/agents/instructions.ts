import type { ContentUnion } from '@google/genai';
import { codedError } from '../contract/error.ts';
import type { Content, Part } from '../events/content.ts';
import { isRecord } from '../protocol/json.ts';
import { copyPlain, freezeDeep } from '../schema/copy-plain.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { OptionReader } from '../schema/option-reader.ts';
import type { LlmRequest } from '../tools/base-tool.ts';

/** The parts of a static instruction: a text, a part, a list of both, or a content. */
export function staticInstructionParts(read: OptionReader, given: unknown): readonly Part[] {
  const list = isRecord(given) && 'parts' in given ? given.parts : given;
  const parts = (Array.isArray(list) ? list : [list]).map((item: unknown): Part => {
    if (typeof item === 'string') return { text: item };
    if (isRecord(item)) return sentPart(read, item);
    return read.fail(
      'staticInstruction',
      `expected a text, a Content, or parts, got ${item === list ? '' : 'a list with '}${kindOf(item)}`,
    );
  });
  if (parts.length === 0) read.fail('staticInstruction', 'expected a text, a Content, or parts, got none');
  const copy = copyPlain(parts);
  freezeDeep(copy);
  return copy;
}

/** Content that a system instruction can't hold or refer to would silently be missing. */
function sentPart(read: OptionReader, part: Record<string, unknown>): Part {
  const { text, inlineData, fileData } = part;
  if (text === undefined ? isRecord(inlineData) || isRecord(fileData) : typeof text === 'string') return part;
  const has = Object.keys(part).slice(0, 5).join(', ') || 'nothing';
  return read.fail(
    'staticInstruction',
    `expected a part with text, inlineData or fileData, got one with ${has}`,
  );
}

/** Type of `staticInstruction`: `types.ContentUnion` of `@google/genai`. */
export type StaticInstruction = ContentUnion;

// The look-behind keeps a long run of braces from being tried at each of them.
const PLACEHOLDER = /(?<!\{)\{+[^{}]*\}+/g;
const NAME = /^((app|user|temp):)?[a-zA-Z_][a-zA-Z0-9_]*$/;
const ARTIFACT = 'artifact.';

/** A placeholder of an instruction names a key that the state doesn't have. */
export class MissingTemplateValue extends codedError('HOLDFAST_TEMPLATE_VALUE') {}

/**
 * Fills the placeholders of an instruction from the state: `{key}`, `{app:key}`, `{user:key}`, `{temp:key}`; with `?` after the key
 * it may be missing. Other text in braces stays as it is. Objects are written as JSON. Semantics: `injectSessionState` of
 * `@google/adk` 2.0.0.
 *
 * @param states the first that has a key counts.
 * @throws MissingTemplateValue also for `{artifact.name}`: there is no artifact service.
 */
export function fillTemplate(
  template: string,
  ...states: readonly Readonly<Record<string, unknown>>[]
): string {
  return template.replace(PLACEHOLDER, (placeholder) => {
    const inside = placeholder.replace(/^\{+|(?<!\})\}+$/g, '').trim();
    const optional = inside.endsWith('?');
    const key = optional ? inside.slice(0, -1) : inside;
    if (key.startsWith(ARTIFACT)) throw new MissingTemplateValue('Artifact service is not initialized.');
    if (!NAME.test(key)) return placeholder;
    // Own properties only: an inherited `constructor` is no value of the state.
    const state = states.find((each) => Object.hasOwn(each, key));
    if (state !== undefined) return valueText(state[key]);
    if (optional) return '';
    throw new MissingTemplateValue(
      `Context variable not found: \`${key}\`. Set it in the state, or write {${key}?} in the instruction.`,
    );
  });
}

function valueText(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value);
}

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

/**
 * The text of a static instruction, a blank line between any two parts, and contents with the parts that are no text, which the
 * text refers to. Semantics and texts: `LlmRequest.append_instructions` of adk-python.
 */
export function staticInstruction(parts: readonly Part[]): { text: string; referred: Content[] } {
  const texts: string[] = [];
  const referred: Content[] = [];
  for (const { text, inlineData, fileData } of parts) {
    if (text) {
      texts.push(text);
    } else if (inlineData !== undefined) {
      const id = `inline_data_${referred.length}`;
      const { displayName, mimeType } = inlineData;
      texts.push(`[Reference to inline binary data: ${id}${described(displayName, undefined, mimeType)}]`);
      referred.push({ role: 'user', parts: [{ text: `Referenced inline data: ${id}` }, { inlineData }] });
    } else if (fileData !== undefined) {
      const id = `file_data_${referred.length}`;
      const { displayName, fileUri, mimeType } = fileData;
      texts.push(`[Reference to file data: ${id}${described(displayName, fileUri, mimeType)}]`);
      referred.push({ role: 'user', parts: [{ text: `Referenced file data: ${id}` }, { fileData }] });
    }
  }
  return { text: texts.join('\n\n'), referred };
}

function described(name: string | undefined, uri: string | undefined, type: string | undefined): string {
  const known = [name && `'${name}'`, uri && `URI: ${uri}`, type && `type: ${type}`].filter(Boolean);
  return known.length === 0 ? '' : ` (${known.join(', ')})`;
}
