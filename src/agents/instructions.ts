import type { ContentUnion } from '@google/genai';
import type { ContextArtifacts } from '../artifacts/context-artifacts.ts';
import { codedError } from '../contract/error.ts';
import type { Content, Part } from '../events/content.ts';
import { isRecord } from '../protocol/json.ts';
import { copyPlain, freezeDeep } from '../schema/copy-plain.ts';
import { kindOf } from '../schema/kind-of.ts';
import type { OptionReader } from '../schema/options.ts';
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
 * @throws MissingTemplateValue also for `{artifact.name}`: {@link fillInstruction} has artifacts.
 */
export function fillTemplate(
  template: string,
  ...states: readonly Readonly<Record<string, unknown>>[]
): string {
  return filled(template, undefined, states);
}

/**
 * As {@link fillTemplate}, and `{artifact.name}` is the text of the artifact; an artifact of bytes is written as the JSON of its part.
 *
 * @param artifacts undefined where there is no artifact service.
 * @throws MissingTemplateValue; errors of the artifact service.
 */
export async function fillInstruction(
  template: string,
  artifacts: Pick<ContextArtifacts, 'load'> | undefined,
  ...states: readonly Readonly<Record<string, unknown>>[]
): Promise<string> {
  const named = new Set(
    [...template.matchAll(PLACEHOLDER)].flatMap(([placeholder]) => {
      const { key } = placeheld(placeholder);
      return key.startsWith(ARTIFACT) ? [key.slice(ARTIFACT.length)] : [];
    }),
  );
  if (named.size === 0 || artifacts === undefined) return filled(template, undefined, states);
  const texts = new Map<string, string>();
  for (const name of named) {
    const part = await artifacts.load(name);
    if (part !== undefined) texts.set(name, part.text ?? valueText(part));
  }
  return filled(template, texts, states);
}

function filled(
  template: string,
  artifacts: ReadonlyMap<string, string> | undefined,
  states: readonly Readonly<Record<string, unknown>>[],
): string {
  return template.replace(PLACEHOLDER, (placeholder) => {
    const { key, optional } = placeheld(placeholder);
    if (key.startsWith(ARTIFACT)) {
      if (artifacts === undefined) throw new MissingTemplateValue('Artifact service is not initialized.');
      const name = key.slice(ARTIFACT.length);
      const text = artifacts.get(name);
      if (text !== undefined) return text;
      if (optional) return '';
      throw new MissingTemplateValue(
        `Artifact ${name} not found. Save it first, or write {artifact.${name}?} in the instruction.`,
      );
    }
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

function placeheld(placeholder: string): { key: string; optional: boolean } {
  const inside = placeholder.replace(/^\{+|(?<!\})\}+$/g, '').trim();
  const optional = inside.endsWith('?');
  return { key: optional ? inside.slice(0, -1) : inside, optional };
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
