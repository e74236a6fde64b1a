import {
  answeredSteps,
  argumentsOf,
  assertFields,
  assertTool,
  callId,
  signatureOf,
  textPieces,
  type WireAnswer,
  type WireProtocol,
  WireRefusal,
  type WireTurn,
} from './wire-server.ts';

const FIELDS =
  'model max_tokens messages system metadata stop_sequences stream temperature thinking tool_choice tools top_k top_p output_config'.split(
    ' ',
  );

type Block = Record<string, unknown>;
interface Message {
  role: string;
  content: Block[];
}

/** Anthropic's Messages API. */
export const ANTHROPIC_MESSAGES: WireProtocol = {
  path: '/messages',
  check(body, headers) {
    if (headers['x-api-key'] !== 'test-key-of-anthropic') {
      throw new WireRefusal('invalid x-api-key', { status: 401, type: 'authentication_error' });
    }
    if (headers['anthropic-version'] === undefined)
      throw new WireRefusal('anthropic-version: header is required');
    assertFields(body, FIELDS, '');
    const most = body.max_tokens;
    if (typeof most !== 'number' || most < 1) throw new WireRefusal('max_tokens: Field required');
    const names = new Set<string>();
    for (const tool of (body.tools ?? []) as Block[]) assertTool(tool.name, tool.input_schema, names);
    const { type, budget_tokens: budget } = (body.thinking ?? {}) as Block;
    const thinks = type === 'enabled';
    if (thinks && !(Number(budget) >= 1024 && Number(budget) < most))
      throw new WireRefusal('thinking.budget_tokens: invalid');
    assertMessages((body.messages ?? []) as Message[], thinks);
  },
  turn(body) {
    const messages = (body.messages ?? []) as Message[];
    const last = messages.at(-1)?.content ?? [];
    const user = messages.findLast(
      ({ role, content }) => role === 'user' && content.some(({ type }) => type === 'text'),
    );
    return {
      model: String(body.model),
      streaming: body.stream === true,
      userText: (user?.content ?? []).map(({ text }) => text ?? '').join(''),
      results: last
        .filter(({ type }) => type === 'tool_result')
        .map(({ tool_use_id, content }) => ({ id: String(tool_use_id), output: String(content) })),
      answered: answeredSteps(
        messages.map(({ role, content }) =>
          role === 'assistant'
            ? 'said'
            : content.some(({ type }) => type === 'tool_result')
              ? 'result'
              : 'user',
        ),
      ),
      tools: ((body.tools ?? []) as Block[]).map(({ name }) => String(name)),
    };
  },
  whole(answer, turn) {
    return { ...message(turn), content: blocksOf(answer, turn), ...endOf(answer), usage: usageOf(answer) };
  },
  events(answer, turn) {
    const data: Block[] = [
      {
        type: 'message_start',
        message: { ...message(turn), content: [], stop_reason: null, usage: usageOf(answer) },
      },
      { type: 'ping' },
      ...blocksOf(answer, turn).flatMap((block, index) => blockEvents(block, index, answer)),
      { type: 'message_delta', delta: endOf(answer), usage: usageOf(answer) },
      { type: 'message_stop' },
    ];
    return data.map((each) => ({ event: String(each.type), data: each }));
  },
  errorEvent(error) {
    return { event: 'error', data: { type: 'error', error } };
  },
  errorBody(said, type) {
    return { type: 'error', error: { type, message: said } };
  },
};

function assertMessages(messages: readonly Message[], thinks: boolean): void {
  if (messages[0]?.role !== 'user') throw new WireRefusal('messages: first message must use the "user" role');
  const ids = new Set<string>();
  let open = new Set<string>();
  for (const [index, { role, content }] of messages.entries()) {
    const where = `messages.${index}`;
    if (messages[index - 1]?.role === role) throw new WireRefusal(`${where}: roles must alternate`);
    if (content.length === 0) throw new WireRefusal(`${where}: all messages must have non-empty content`);
    assertResults(content, open, where);
    open = new Set();
    for (const [position, block] of content.entries()) {
      assertBlock(block, `${where}.content.${position}`);
      if (block.type !== 'tool_use') continue;
      const id = String(block.id);
      if (!/^[a-zA-Z0-9_-]+$/.test(id))
        throw new WireRefusal(`${where}: tool_use.id should match the pattern`);
      if (ids.has(id)) throw new WireRefusal(`${where}: \`tool_use\` ids must be unique`);
      ids.add(id);
      open.add(id);
    }
  }
  if (open.size > 0)
    throw new WireRefusal('`tool_use` ids were found without `tool_result` blocks immediately after');
  const answered = messages.at(-1)?.content.some(({ type }) => type === 'tool_result');
  const first = String(messages.findLast(({ role }) => role === 'assistant')?.content[0]?.type);
  if (thinks && answered && !first.endsWith('thinking')) {
    throw new WireRefusal(`Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`.`);
  }
}

function assertResults(content: readonly Block[], open: Set<string>, where: string): void {
  const results = content.filter(({ type }) => type === 'tool_result');
  for (const { tool_use_id: id } of results) {
    if (!open.delete(String(id)))
      throw new WireRefusal(
        `${where}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${String(id)}`,
      );
  }
  if (open.size > 0)
    throw new WireRefusal(
      `${where}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after`,
    );
  const isFirst = content.slice(0, results.length).every(({ type }) => type === 'tool_result');
  if (!isFirst) throw new WireRefusal(`${where}: tool_result blocks must come first`);
}

function assertBlock(block: Block, where: string): void {
  const { type, text, thinking, signature } = block;
  if (type === 'text' && String(text).trim() === '')
    throw new WireRefusal(`${where}: text content blocks must be non-empty`);
  if (type === 'thinking' && signature !== signatureOf(String(thinking))) {
    throw new WireRefusal(`${where}: Invalid \`signature\` in \`thinking\` block`);
  }
}

function message({ model, index }: WireTurn): Block {
  return { id: `msg_${index}`, type: 'message', role: 'assistant', model };
}

function endOf({ calls = [], finish }: WireAnswer): Block {
  const reason = finish === 'length' ? 'max_tokens' : finish === 'refused' ? 'refusal' : undefined;
  return { stop_reason: reason ?? (calls.length > 0 ? 'tool_use' : 'end_turn'), stop_sequence: null };
}

/** What was read from the cache or written into it is no part of Anthropic's `input_tokens`. */
function usageOf({ usage }: WireAnswer): Block {
  const { input = 10, output = 5, cached = 0, written = 0 } = usage ?? {};
  return {
    input_tokens: input - cached - written,
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
  };
}

function blocksOf(answer: WireAnswer, turn: WireTurn): Block[] {
  const { reasoning, calls = [] } = answer;
  const text = textPieces(answer).join('');
  return [
    ...(reasoning === undefined
      ? []
      : [{ type: 'thinking', thinking: reasoning, signature: signatureOf(reasoning) }]),
    ...(text === '' ? [] : [{ type: 'text', text }]),
    ...calls.map((call, index) => ({
      type: 'tool_use',
      id: call.id ?? callId('toolu', turn, index),
      name: call.name,
      input: call.args,
    })),
  ];
}

function blockEvents(block: Block, index: number, answer: WireAnswer): Block[] {
  const delta = (given: Block) => ({ type: 'content_block_delta', index, delta: given });
  const begun = (content_block: Block) => ({ type: 'content_block_start', index, content_block });
  const stop = { type: 'content_block_stop', index };
  if (block.type === 'thinking') {
    const { thinking, signature } = block;
    return [
      begun({ type: 'thinking', thinking: '', signature: '' }),
      delta({ type: 'thinking_delta', thinking }),
      delta({ type: 'signature_delta', signature }),
      stop,
    ];
  }
  if (block.type === 'text') {
    const pieces = textPieces(answer).map((text) => delta({ type: 'text_delta', text }));
    return [begun({ type: 'text', text: '' }), ...pieces, stop];
  }
  const call = answer.calls?.find(({ name, args }) => name === block.name && args === block.input);
  const json = call === undefined ? JSON.stringify(block.input) : argumentsOf(call);
  const middle = Math.ceil(json.length / 2);
  return [
    begun({ ...block, input: {} }),
    delta({ type: 'input_json_delta', partial_json: json.slice(0, middle) }),
    delta({ type: 'input_json_delta', partial_json: json.slice(middle) }),
    stop,
  ];
}
