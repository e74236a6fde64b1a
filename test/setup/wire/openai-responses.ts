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
  'model input temperature top_p max_output_tokens metadata store user instructions include reasoning text tools tool_choice stream parallel_tool_calls truncation'.split(
    ' ',
  );

type Item = Record<string, unknown>;

/** OpenAI's Responses API, which keeps nothing: items are sent and never referred to. */
export const OPENAI_RESPONSES: WireProtocol = {
  path: '/responses',
  check(body, headers) {
    if (headers.authorization !== 'Bearer test-key-of-openai') {
      throw new WireRefusal(`Incorrect API key provided: ${String(headers.authorization)}.`, { status: 401 });
    }
    assertFields(body, FIELDS, '');
    if (body.store !== false)
      throw new WireRefusal('This organization keeps no responses: store must be false.');
    const names = new Set<string>();
    for (const tool of (body.tools ?? []) as Item[]) assertTool(tool.name, tool.parameters, names);
    assertFormat(body);
    assertInput((body.input ?? []) as Item[]);
  },
  turn(body) {
    const input = (body.input ?? []) as Item[];
    const lastSaid = input.findLastIndex(
      ({ type, role }) => type === 'function_call' || role === 'assistant',
    );
    const user = input.findLast(({ role }) => role === 'user');
    const parts = (user?.content ?? []) as Item[];
    return {
      model: String(body.model),
      streaming: body.stream === true,
      userText: parts.map((part) => part.text ?? '').join(''),
      results: input
        .slice(lastSaid + 1)
        .filter(({ type }) => type === 'function_call_output')
        .map(({ call_id, output }) => ({ id: String(call_id), output: String(output) })),
      answered: answeredSteps(
        input.map(({ type, role }) =>
          role === 'user' ? 'user' : type === 'function_call_output' ? 'result' : 'said',
        ),
      ),
      tools: ((body.tools ?? []) as Item[]).map(({ name }) => String(name)),
    };
  },
  whole(answer, turn) {
    return { ...response(answer, turn), output: itemsOf(answer, turn) };
  },
  events(answer, turn) {
    const { usage: _usage, incomplete_details: _details, ...created } = response(answer, turn);
    const data: Item[] = [
      { type: 'response.created', response: created },
      ...itemsOf(answer, turn).flatMap((item, index) => itemEvents(item, index, answer)),
      {
        type: answer.finish === 'length' ? 'response.incomplete' : 'response.completed',
        response: response(answer, turn),
      },
    ];
    return data.map((each, sequence_number) => ({
      event: String(each.type),
      data: { ...each, sequence_number },
    }));
  },
  errorEvent({ type, message }) {
    return {
      event: 'error',
      data: { type: 'error', sequence_number: 9, code: type, message, param: null },
    };
  },
  errorBody(message, type) {
    return { error: { message, type, param: null, code: type } };
  },
};

function assertFormat({ text }: Record<string, unknown>): void {
  const { format } = (text ?? {}) as { format?: Item };
  if (format?.type !== 'json_schema') return;
  const schema = format.schema as Item;
  if (schema.type !== 'object')
    throw new WireRefusal("Invalid schema for response_format 'response': schema must be an object");
  const properties = Object.keys((schema.properties ?? {}) as object);
  const required = (schema.required ?? []) as string[];
  const isStrict =
    schema.additionalProperties === false && properties.every((name) => required.includes(name));
  if (format.strict === true && !isStrict) {
    throw new WireRefusal(
      "Invalid schema for response_format 'response': 'additionalProperties' and 'required' are required",
    );
  }
}

function assertInput(input: readonly Item[]): void {
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const [index, item] of input.entries()) {
    const { type, role, call_id: id } = item;
    if (type === 'item_reference')
      throw new WireRefusal(`Item with id '${String(item.id)}' not found.`, { status: 404 });
    if (type === 'function_call') {
      if (typeof id !== 'string' || id.length === 0 || id.length > 64) {
        throw new WireRefusal(`Invalid 'input[${index}].call_id': ${String(id)}`);
      }
      if (seen.has(id)) throw new WireRefusal(`Duplicate call_id ${id}.`);
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(String(item.name)))
        throw new WireRefusal(`Invalid 'input[${index}].name'.`);
      JSON.parse(String(item.arguments));
      open.add(id);
      seen.add(id);
    } else if (type === 'function_call_output') {
      if (!open.delete(String(id)))
        throw new WireRefusal(`No tool call found for function call output with call_id ${String(id)}.`);
    } else if (type === 'reasoning') {
      const { encrypted_content: encrypted, summary } = item as {
        encrypted_content?: string;
        summary: Item[];
      };
      const text = summary.map((part) => String(part.text)).join('');
      if (encrypted !== signatureOf(text))
        throw new WireRefusal('The encrypted content could not be verified.');
      const next = input[index + 1];
      if (next?.type !== 'function_call' && next?.role !== 'assistant') {
        throw new WireRefusal(
          `Item '${String(item.id)}' of type 'reasoning' was provided without its required following item.`,
        );
      }
    } else if (role === 'user' || role === 'assistant') {
      if (open.size > 0) throw new WireRefusal(`No tool output found for function call ${[...open][0]}.`);
      if (item.content === '' || (item.content as unknown[]).length === 0)
        throw new WireRefusal('Empty content.');
    } else if (role !== 'system' && role !== 'developer') {
      throw new WireRefusal(`Invalid value: '${String(type ?? role)}' of 'input[${index}]'.`);
    }
  }
  if (open.size > 0) throw new WireRefusal(`No tool output found for function call ${[...open][0]}.`);
}

function response({ usage, finish }: WireAnswer, turn: WireTurn): Item {
  const { input = 10, output = 5, cached = 0, reasoning = 0 } = usage ?? {};
  return {
    id: `resp_${turn.index}`,
    created_at: 1_700_000_000,
    model: `${turn.model}-2026-01-01`,
    incomplete_details: finish === 'length' ? { reason: 'max_output_tokens' } : null,
    usage: {
      input_tokens: input,
      input_tokens_details: { cached_tokens: cached },
      output_tokens: output,
      output_tokens_details: { reasoning_tokens: reasoning },
    },
  };
}

function itemsOf(answer: WireAnswer, turn: WireTurn): Item[] {
  const { reasoning, calls = [] } = answer;
  const text = textPieces(answer).join('');
  const items: Item[] = [];
  if (reasoning !== undefined) {
    items.push({
      type: 'reasoning',
      id: `rs_${turn.index}`,
      encrypted_content: signatureOf(reasoning),
      summary: [{ type: 'summary_text', text: reasoning }],
    });
  }
  if (text !== '') {
    items.push({
      type: 'message',
      id: `msg_${turn.index}`,
      role: 'assistant',
      content: [{ type: 'output_text', text, annotations: [] }],
    });
  }
  for (const [index, call] of calls.entries()) {
    items.push({
      type: 'function_call',
      id: `fc_${turn.index}_${index}`,
      call_id: call.id ?? callId('call', turn, index),
      name: call.name,
      arguments: argumentsOf(call),
      status: 'completed',
    });
  }
  return items;
}

function itemEvents(item: Item, output_index: number, answer: WireAnswer): Item[] {
  const { id: item_id } = item;
  const done = { type: 'response.output_item.done', output_index, item };
  if (item.type === 'reasoning') {
    const where = { item_id, output_index, summary_index: 0 };
    return [
      {
        type: 'response.output_item.added',
        output_index,
        item: { ...item, summary: [], encrypted_content: null },
      },
      { type: 'response.reasoning_summary_part.added', ...where },
      { type: 'response.reasoning_summary_text.delta', ...where, delta: answer.reasoning },
      { type: 'response.reasoning_summary_part.done', ...where },
      done,
    ];
  }
  if (item.type === 'message') {
    return [
      { type: 'response.output_item.added', output_index, item: { ...item, content: [] } },
      ...textPieces(answer).map((delta) => ({
        type: 'response.output_text.delta',
        item_id,
        output_index,
        delta,
      })),
      done,
    ];
  }
  return [
    { type: 'response.output_item.added', output_index, item: { ...item, arguments: '' } },
    ...halves(String(item.arguments)).map((delta) => ({
      type: 'response.function_call_arguments.delta',
      item_id,
      output_index,
      delta,
    })),
    done,
  ];
}

function halves(text: string): string[] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)].filter((half) => half !== '');
}
