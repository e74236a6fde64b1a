import { sendMessage } from '../../contract/messages.ts';
import type { Content } from '../../events/content.ts';
import { UsageError } from '../cli-error.ts';
import { jsonField } from '../field-option.ts';

/** The user's message, as the command line has it. */
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
  const stateDelta =
    state === undefined ? undefined : (jsonField(sendMessage, 'stateDelta', '--state', state) ?? undefined);
  return {
    message: content === undefined ? textOf(message) : contentOf(content),
    ...(stateDelta === undefined ? {} : { stateDelta }),
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
  const content = jsonField(sendMessage, 'message', '--content', json);
  if (typeof content === 'object') return content as Content;
  throw new UsageError(
    '--content: expected a Content { "parts": [ … ] }, got text, which goes with --message',
  );
}
