import type { FunctionResponse } from '@google/genai';
import { messageOf } from '../protocol/message-of.ts';
import { GeminiRefusal, MockGeminiError } from './gemini-error.ts';
import { type GeminiReply, type GeminiReplyLike, toReply } from './gemini-reply.ts';
import { functionResponsesOf, type GeminiRequest, lastUserText } from './gemini-request.ts';

/** The facts that a script's function gets about a request besides its body. */
export type GeminiScriptInfo = Readonly<{
  /** 0-based, in order of arrival. */
  index: number;
  streaming: boolean;
  /** Aborts when the client goes away or the mock server closes. */
  signal: AbortSignal;
  /** Header names in lower case, without credentials. */
  headers: Readonly<Record<string, string>>;
  /** The text of the last user message, '' when there is none. */
  userText: string;
  /** The function responses of this turn, those of the newest content first: the results that the client has sent since the message. */
  functionResponses: readonly FunctionResponse[];
}>;

/** Replies in order, or a function that answers each request. */
export type GeminiScript =
  | readonly GeminiReplyLike[]
  | ((request: GeminiRequest, info: GeminiScriptInfo) => GeminiReplyLike | Promise<GeminiReplyLike>);

export type ScriptRunner = (
  request: GeminiRequest,
  info: Omit<GeminiScriptInfo, 'userText' | 'functionResponses'>,
) => Promise<GeminiReply>;

/** @throws {MockGeminiError} `MOCK_GEMINI_BAD_OPTION` for what is no script, `…_BAD_REPLY` for a bad entry. */
export function scriptRunner(script: GeminiScript): ScriptRunner {
  if (typeof script === 'function') {
    return async (request, info) => {
      const { index } = info;
      try {
        const userText = lastUserText(request);
        return toReply(
          await script(request, { ...info, userText, functionResponses: functionResponsesOf(request) }),
        );
      } catch (cause) {
        if (info.signal.aborted) throw cause;
        const reason = messageOf(cause);
        throw scriptFailure(`The mock server's script failed on request ${index + 1}: ${reason}`, cause);
      }
    };
  }
  if (!Array.isArray(script)) {
    throw new MockGeminiError(
      'MOCK_GEMINI_BAD_OPTION',
      `script must be a list of replies or a function that returns one, got ${typeof script}`,
    );
  }
  const replies = script.map((entry: GeminiReplyLike) => toReply(entry));
  return async (_, { index }) => {
    const next = replies[index];
    if (next) return next;
    throw scriptFailure(`script exhausted: ${replies.length} replies, this is request ${index + 1}`);
  };
}

// 400, because a caller that retries would only hide the mistake in the test.
function scriptFailure(message: string, cause?: unknown): GeminiRefusal {
  return new GeminiRefusal(400, message, { status: 'FAILED_PRECONDITION', cause });
}
