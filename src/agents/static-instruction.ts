import type { ContentUnion } from '@google/genai';
import type { Part } from '../events/content.ts';
import { copyPlain } from '../schema/copy-plain.ts';
import { freezeDeep } from '../schema/freeze-deep.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import type { OptionReader } from '../schema/option-reader.ts';

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

/** What `staticInstruction` takes: `types.ContentUnion` of `@google/genai`. */
export type StaticInstruction = ContentUnion;
