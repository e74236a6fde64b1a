import type { Content, Part } from '@google/genai';

/** Fields of a part that `@google/genai` 3.1.0 sends; it leaves out all others. */
const SENT_PART_FIELDS: ReadonlySet<string> = new Set<keyof Part>([
  'audioTranscription',
  'codeExecutionResult',
  'executableCode',
  'fileData',
  'functionCall',
  'functionResponse',
  'inlineData',
  'mediaProcessing',
  'mediaResolution',
  'partMetadata',
  'speechMetadata',
  'text',
  'thought',
  'thoughtSignature',
  'toolCall',
  'toolResponse',
  'videoMetadata',
]);

const SENT_CALL_FIELDS: ReadonlySet<string> = new Set(['id', 'name', 'args', 'partialArgs', 'willContinue']);

/**
 * A body for `httpOptions.extraBody` that makes the SDK send `contents` as they are, where it would drop fields
 * that are newer than itself. The provider may refuse parts that come back without a field it had sent, as it did
 * when thought signatures were new.
 *
 * @returns undefined where the SDK sends everything anyway.
 */
export function verbatimBody(contents: Content[]): { contents: Content[] } | undefined {
  const loses = contents.some((content) => content.parts?.some(losesFields));
  return loses ? { contents } : undefined;
}

function losesFields(part: Part): boolean {
  return (
    hasOtherFields(part, SENT_PART_FIELDS) ||
    (part.functionCall !== undefined && hasOtherFields(part.functionCall, SENT_CALL_FIELDS))
  );
}

function hasOtherFields(value: object, known: ReadonlySet<string>): boolean {
  return Object.keys(value).some((field) => !known.has(field));
}
