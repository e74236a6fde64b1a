import { createHash } from 'node:crypto';
import { finishOf, head, OPENAI_CHAT, usageOf } from './openai-chat.ts';
import {
  argumentsOf,
  assertFields,
  assertTool,
  callId,
  textPieces,
  type WireAnswer,
  type WireProtocol,
  WireRefusal,
  type WireTurn,
} from './wire-server.ts';

const FIELDS =
  'model messages temperature top_p max_tokens stream stop random_seed response_format tools tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls prompt_mode reasoning_effort safe_prompt'.split(
    ' ',
  );

type Message = Record<string, unknown>;

/** Mistral's Chat Completions: OpenAI's words with rules of its own for ids and for the order of roles. */
export const MISTRAL_CHAT: WireProtocol = {
  ...OPENAI_CHAT,
  check(body, headers) {
    if (headers.authorization !== 'Bearer test-key-of-mistral')
      throw new WireRefusal('Unauthorized', { status: 401 });
    assertFields(body, FIELDS, '');
    const names = new Set<string>();
    for (const tool of (body.tools ?? []) as { function: Message }[]) {
      assertTool(tool.function.name, tool.function.parameters, names);
    }
    assertMessages((body.messages ?? []) as Message[]);
  },
  whole(answer, turn) {
    const message = {
      role: 'assistant',
      content: contentOf(answer, textPieces(answer).join('')),
      tool_calls: callsOf(answer, turn),
    };
    return {
      ...head(turn),
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finishOf(answer) }],
      usage: usageOf(answer),
    };
  },
  events(answer, turn) {
    const chunk = (delta: object, more: object = {}) => ({
      ...head(turn),
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason: null, ...more }],
    });
    // The end comes with the calls, as Mistral sends it.
    const last = { content: '', tool_calls: callsOf(answer, turn) };
    return [
      chunk({ role: 'assistant', content: '' }),
      ...(answer.reasoning === undefined ? [] : [chunk({ content: contentOf(answer, '') })]),
      ...textPieces(answer).map((content) => chunk({ content })),
      { ...chunk(last, { finish_reason: finishOf(answer) }), usage: usageOf(answer) },
      '[DONE]',
    ].map((data) => ({ data }));
  },
  errorEvent({ type, message }) {
    return { data: { object: 'error', message, type, param: null, code: '3000' } };
  },
  errorBody(message, type) {
    return { object: 'error', message, type, param: null, code: '3000' };
  },
};

function contentOf({ reasoning }: WireAnswer, text: string): unknown {
  if (reasoning === undefined) return text;
  const thinking = { type: 'thinking', thinking: [{ type: 'text', text: reasoning }] };
  return text === '' ? [thinking] : [thinking, { type: 'text', text }];
}

/** Mistral's ids are of its own kind, whichever the script gives. */
function callsOf({ calls = [] }: WireAnswer, turn: WireTurn): object[] {
  return calls.map((call, index) => ({
    id: nine(call.id ?? callId('call', turn, index)),
    index,
    function: { name: call.name, arguments: argumentsOf(call) },
  }));
}

function nine(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 9);
}

function assertMessages(messages: readonly Message[]): void {
  let open: string[] = [];
  for (const [index, message] of messages.entries()) {
    const { role, content, tool_calls, tool_call_id, prefix } = message;
    const before = messages[index - 1]?.role;
    if (role === 'tool') {
      if (!open.includes(String(tool_call_id)))
        throw new WireRefusal('Unexpected tool call id in tool results');
      open = open.filter((id) => id !== tool_call_id);
      continue;
    }
    if (open.length > 0) throw new WireRefusal('Not the same number of function calls and responses');
    if (before === 'tool' && role !== 'assistant')
      throw new WireRefusal(`Unexpected role '${String(role)}' after role 'tool'`);
    if (role === 'system' && index > 0 && before !== 'system')
      throw new WireRefusal(`Unexpected role 'system' after role '${String(before)}'`);
    if (role !== 'assistant') continue;
    open = ((tool_calls ?? []) as Message[]).map(({ id }) => String(id));
    const wrong = open.find((id) => !/^[a-zA-Z0-9]{9}$/.test(id));
    if (wrong !== undefined)
      throw new WireRefusal(`Tool call id was ${wrong} but must be a-z, A-Z, 0-9, with a length of 9.`);
    if (new Set(open).size < open.length)
      throw new WireRefusal('Duplicate tool call id in assistant message');
    if (open.length === 0 && (content === '' || content === null))
      throw new WireRefusal('Assistant message must have either content or tool_calls, but not none.');
    if (index === messages.length - 1 && prefix !== true)
      throw new WireRefusal(
        'Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant',
      );
  }
  if (open.length > 0) throw new WireRefusal('Not the same number of function calls and responses');
}
