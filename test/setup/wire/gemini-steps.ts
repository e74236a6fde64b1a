import {
  calls,
  type GeminiReplyLike,
  type GeminiRequest,
  text,
  thought,
} from '../../../src/testing/index.ts';
import { textPieces, type WireAnswer } from './wire-server.ts';

/** What `inSteps` is to other protocols, for the mock Gemini server. */
export function geminiInSteps(...steps: WireAnswer[]): (request: GeminiRequest) => GeminiReplyLike {
  return ({ contents = [] }) => {
    const asked = contents.findLastIndex(
      ({ role, parts }) => role === 'user' && parts?.some((part) => part.text !== undefined),
    );
    const answered = contents
      .slice(asked + 1)
      .filter(({ parts }) => parts?.some((part) => part.functionResponse)).length;
    const answer = steps[answered] ?? { text: 'done' };
    const { reasoning, calls: asks = [] } = answer;
    return [
      ...(reasoning === undefined ? [] : [thought(reasoning)]),
      ...textPieces(answer).map((piece) => text(piece)),
      ...(asks.length === 0
        ? []
        : [
            calls(
              asks.map(({ id, name, args }) => ({
                name,
                args: args as Record<string, unknown>,
                ...(id && { id }),
              })),
            ),
          ]),
    ];
  };
}
