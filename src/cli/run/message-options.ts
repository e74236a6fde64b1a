import type { Content } from '../../events/content.ts';
import { isRecord } from '../../protocol/json.ts';
import { kindOf } from '../../schema/kind-of.ts';
import { UsageError } from '../cli-error.ts';
import { objectOption, parsedOption } from '../field-option.ts';

/** What the user says, as the command line has it. */
export interface MessageOptions {
  message?: string;
  /** JSON of a Content, in the place of the text. */
  content?: string;
  /** JSON of a state delta. */
  state?: string;
}

export interface GivenMessage {
  message: string | Content;
  stateDelta?: Record<string, unknown>;
}

/** @throws CliError naming the option, and the field of a content. */
export function givenMessage({ message, content, state }: MessageOptions): GivenMessage {
  if (message !== undefined && content !== undefined) {
    throw new UsageError('--message and --content: give one of the two');
  }
  return {
    message: content === undefined ? textOf(message) : contentOf(content),
    ...(state === undefined ? {} : { stateDelta: objectOption('--state', state, 'values by key') }),
  };
}

function textOf(message: string | undefined): string {
  if (message === undefined) {
    throw new UsageError('say what the user says: --message <text>, or --content <JSON>');
  }
  if (message.trim() === '') throw new UsageError('--message is empty: say what the agent is to do');
  return message;
}

function contentOf(json: string): Content {
  const content = parsedOption('--content', json);
  if (!isRecord(content)) fail('--content', `expected a Content { "parts": [ … ] }, got ${kindOf(content)}`);
  const { role, parts } = content;
  if (role !== undefined && role !== 'user') fail('--content: role', 'expected "user" or nothing');
  if (!Array.isArray(parts) || parts.length === 0) {
    fail(
      '--content: parts',
      `expected a list of at least one part${Array.isArray(parts) ? '' : `, got ${kindOf(parts)}`}`,
    );
  }
  for (const [index, part] of parts.entries()) {
    if (!isRecord(part) || Object.keys(part).length === 0) {
      fail(
        `--content: parts[${index}]`,
        `expected a part, { "text": "…" } for one, got ${isRecord(part) ? 'an empty one' : kindOf(part)}`,
      );
    }
    if (part.text !== undefined && typeof part.text !== 'string') {
      fail(`--content: parts[${index}].text`, `expected a string, got ${kindOf(part.text)}`);
    }
  }
  return content;
}

function fail(what: string, problem: string): never {
  throw new UsageError(`${what}: ${problem}`);
}
