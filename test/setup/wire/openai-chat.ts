import {
  answeredSteps,
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
  'model messages temperature top_p max_tokens max_completion_tokens stop seed frequency_penalty presence_penalty stream stream_options tools tool_choice response_format user'.split(
    ' ',
  );

type Message = Record<string, unknown>;

/** OpenAI's Chat Completions. */
export const OPENAI_CHAT: WireProtocol = {
  path: '/chat/completions',
  check(body) {
    assertFields(body, FIELDS, '');
    const names = new Set<string>();
    for (const tool of (body.tools ?? []) as { function: Message }[]) {
      assertTool(tool.function.name, tool.function.parameters, names);
    }
    assertMessages((body.messages ?? []) as Message[]);
  },
  turn(body) {
    const messages = (body.messages ?? []) as Message[];
    const lastSaid = messages.findLastIndex(({ role }) => role === 'assistant');
    const content = messages.findLast(({ role }) => role === 'user')?.content ?? '';
    return {
      model: String(body.model),
      streaming: body.stream === true,
      userText:
        typeof content === 'string' ? content : (content as Message[]).map(({ text }) => text ?? '').join(''),
      results: messages
        .slice(lastSaid + 1)
        .filter(({ role }) => role === 'tool')
        .map(({ tool_call_id, content: output }) => ({ id: String(tool_call_id), output: String(output) })),
      answered: answeredSteps(
        messages.map(({ role }) => (role === 'user' ? 'user' : role === 'tool' ? 'result' : 'said')),
      ),
      tools: ((body.tools ?? []) as { function: Message }[]).map((tool) => String(tool.function.name)),
    };
  },
  whole(answer, turn) {
    const content = textPieces(answer).join('');
    const tool_calls = callsOf(answer, turn);
    const message = { role: 'assistant', content, ...(tool_calls.length > 0 && { tool_calls }) };
    return {
      ...head(turn),
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finishOf(answer) }],
      usage: usageOf(answer),
    };
  },
  events(answer, turn) {
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      ...head(turn),
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta, finish_reason }],
    });
    return [
      chunk({ role: 'assistant', content: '' }),
      ...textPieces(answer).map((content) => chunk({ content })),
      ...callsOf(answer, turn).map((call, index) => chunk({ tool_calls: [{ index, ...call }] })),
      chunk({}, finishOf(answer)),
      { ...head(turn), object: 'chat.completion.chunk', choices: [], usage: usageOf(answer) },
      '[DONE]',
    ].map((data) => ({ data }));
  },
  errorEvent({ type, message }) {
    return { data: { error: { message, type, code: null, param: null } } };
  },
  errorBody(message, type) {
    return { error: { message, type, param: null, code: null } };
  },
};

/** The same of local servers and routers, which show the reasoning of their models. */
export const COMPATIBLE_CHAT: WireProtocol = {
  ...OPENAI_CHAT,
  check(body, headers) {
    if (headers.authorization !== 'Bearer test-key-of-compatible')
      throw new WireRefusal('Invalid API key', { status: 401 });
    OPENAI_CHAT.check(body, headers);
  },
  whole(answer, turn) {
    const { choices, ...rest } = OPENAI_CHAT.whole(answer, turn) as { choices: { message: object }[] };
    const withReasoning = choices.map((choice) => ({
      ...choice,
      message: { ...choice.message, ...reasoningOf(answer) },
    }));
    return { ...rest, choices: withReasoning };
  },
  events(answer, turn) {
    const [first, ...others] = OPENAI_CHAT.events(answer, turn);
    const choices = [{ index: 0, delta: reasoningOf(answer), finish_reason: null }];
    const thought = { data: { ...head(turn), object: 'chat.completion.chunk', choices } };
    return [first ?? thought, ...(answer.reasoning === undefined ? [] : [thought]), ...others];
  },
};

function reasoningOf({ reasoning }: WireAnswer): object {
  return reasoning === undefined ? {} : { reasoning_content: reasoning };
}

function assertMessages(messages: readonly Message[]): void {
  let open = new Set<string>();
  const seen = new Set<string>();
  for (const [index, { role, tool_calls, tool_call_id, content }] of messages.entries()) {
    if (role === 'tool') {
      if (!open.delete(String(tool_call_id))) {
        throw new WireRefusal(
          `messages with role 'tool' must be a response to a preceding message with 'tool_calls' (${index})`,
        );
      }
      continue;
    }
    if (open.size > 0)
      throw new WireRefusal(`tool_call_ids did not have response messages: ${[...open].join(', ')}`);
    if (role === 'assistant') {
      const ids = ((tool_calls ?? []) as Message[]).map(({ id }) => String(id));
      if (ids.some((id) => seen.has(id)) || new Set(ids).size < ids.length)
        throw new WireRefusal('Duplicate tool call ids');
      for (const id of ids) seen.add(id);
      open = new Set(ids);
      if (ids.length === 0 && (content === null || content === ''))
        throw new WireRefusal('An assistant message is empty.');
    }
  }
  if (open.size > 0)
    throw new WireRefusal(`tool_call_ids did not have response messages: ${[...open].join(', ')}`);
}

export function head({ model, index }: WireTurn): object {
  return { id: `chatcmpl-${index}`, created: 1_700_000_000, model };
}

function callsOf({ calls = [] }: WireAnswer, turn: WireTurn): object[] {
  return calls.map((call, index) => ({
    id: call.id ?? callId('call', turn, index),
    type: 'function',
    function: { name: call.name, arguments: argumentsOf(call) },
  }));
}

export function finishOf({ calls = [], finish }: WireAnswer): string {
  if (finish === 'length') return 'length';
  if (finish === 'refused') return 'content_filter';
  return calls.length > 0 ? 'tool_calls' : 'stop';
}

export function usageOf({ usage }: WireAnswer): object {
  const { input = 10, output = 5, cached = 0, reasoning = 0 } = usage ?? {};
  return {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}
