import { crc32 } from 'node:zlib';
import {
  answeredSteps,
  argumentsOf,
  assertFields,
  assertTool,
  callId,
  signatureOf,
  textPieces,
  type WireAnswer,
  type WireEvent,
  type WireProtocol,
  WireRefusal,
  type WireTurn,
} from './wire-server.ts';

// The model and the kind of answer stand in the address.
const FIELDS =
  'model stream messages system inferenceConfig toolConfig guardrailConfig additionalModelRequestFields promptVariables additionalModelResponseFieldPaths requestMetadata performanceConfig serviceTier outputConfig'.split(
    ' ',
  );
const INFERENCE = ['maxTokens', 'temperature', 'topP', 'stopSequences'];
const ID = /^[a-zA-Z0-9_-]{1,64}$/;
const STRING_HEADER = 7;

type Block = Record<string, unknown>;
interface Message {
  role: string;
  content: Block[];
}
interface ToolSpec {
  toolSpec: { name: unknown; description?: unknown; inputSchema: { json: unknown } };
}

/** Amazon Bedrock's Converse and ConverseStream, with a bearer key: signatures of requests are not checked. */
export const BEDROCK_CONVERSE: WireProtocol = {
  path: '/model/{modelId}/converse',
  asked(path, body) {
    const [, model, operation] = /^\/model\/([^/]+)\/(converse|converse-stream)$/.exec(path) ?? [];
    if (model === undefined) return undefined;
    return { ...body, model: decodeURIComponent(model), stream: operation === 'converse-stream' };
  },
  check(body, headers) {
    if (headers.authorization !== 'Bearer test-key-of-bedrock')
      throw new WireRefusal('The security token included in the request is invalid.', { status: 403 });
    assertFields(body, FIELDS, '');
    assertFields((body.inferenceConfig ?? {}) as Block, INFERENCE, 'inferenceConfig.');
    const messages = (body.messages ?? []) as Message[];
    const tools = toolsOf(body);
    const names = new Set<string>();
    for (const { toolSpec } of tools) {
      assertTool(toolSpec.name, toolSpec.inputSchema.json, names);
      if (toolSpec.description === '') throw new WireRefusal('toolSpec.description: min length: 1');
    }
    const hasTools = messages.some(({ content }) =>
      content.some((block) => 'toolUse' in block || 'toolResult' in block),
    );
    if (hasTools && tools.length === 0)
      throw new WireRefusal(
        'The toolConfig field must be defined when using toolUse and toolResult content blocks.',
      );
    assertMessages(messages);
  },
  turn(body) {
    const messages = (body.messages ?? []) as Message[];
    const user = messages.findLast(
      ({ role, content }) => role === 'user' && content.some((block) => 'text' in block),
    );
    const last = (messages.at(-1)?.content ?? []) as { toolResult?: Block }[];
    const results: Block[] = last.flatMap(({ toolResult }) => (toolResult === undefined ? [] : [toolResult]));
    return {
      model: String(body.model),
      streaming: body.stream === true,
      userText: (user?.content ?? []).map(({ text }) => text ?? '').join(''),
      results: results.map(({ toolUseId, content }) => ({
        id: String(toolUseId),
        output: (content as Block[]).map(({ text }) => String(text)).join(''),
      })),
      answered: answeredSteps(
        messages.map(({ role, content }) =>
          role === 'assistant' ? 'said' : content.some((block) => 'toolResult' in block) ? 'result' : 'user',
        ),
      ),
      tools: toolsOf(body).map(({ toolSpec }) => String(toolSpec.name)),
    };
  },
  whole(answer, turn) {
    return {
      output: { message: { role: 'assistant', content: blocksOf(answer, turn) } },
      stopReason: stopOf(answer),
      ...metadataOf(answer),
    };
  },
  events(answer, turn) {
    return [
      { event: 'messageStart', data: { role: 'assistant' } },
      ...blocksOf(answer, turn).flatMap((block, index) => blockEvents(block, index, answer)),
      { event: 'messageStop', data: { stopReason: stopOf(answer) } },
      { event: 'metadata', data: metadataOf(answer) },
    ];
  },
  stream: {
    type: 'application/vnd.amazon.eventstream',
    frame: ({ event = '', data }) => {
      const kind = event.endsWith('Exception') ? 'exception' : 'event';
      const headers = {
        [`:${kind}-type`]: event,
        ':content-type': 'application/json',
        ':message-type': kind,
      };
      return eventStreamMessage(headers, JSON.stringify(data));
    },
  },
  errorEvent({ message }) {
    return { event: 'internalServerException', data: { message } };
  },
  errorBody(message) {
    return { message };
  },
};

function toolsOf(body: Record<string, unknown>): ToolSpec[] {
  const { tools = [] } = (body.toolConfig ?? {}) as { tools?: Block[] };
  return tools.filter((tool): tool is Block & ToolSpec => 'toolSpec' in tool);
}

function assertMessages(messages: readonly Message[]): void {
  if (messages[0]?.role !== 'user')
    throw new WireRefusal('A conversation must start with a user message. Try again with one.');
  const seen = new Set<string>();
  const open = new Set<string>();
  for (const [index, { role, content }] of messages.entries()) {
    const where = `messages.${index}.content`;
    if (messages[index - 1]?.role === role)
      throw new WireRefusal('A conversation must alternate between user and assistant roles.');
    if (content.length === 0)
      throw new WireRefusal(`The content field in the Message object at messages.${index} is empty.`);
    for (const { toolResult } of content) {
      if (toolResult !== undefined && !open.delete(String((toolResult as Block).toolUseId)))
        throw new WireRefusal('The number of toolResult blocks exceeds the number of toolUse blocks.');
    }
    if (open.size > 0)
      throw new WireRefusal(
        `Expected toolResult blocks at ${where} for the following Ids: ${[...open].join()}`,
      );
    for (const [position, block] of content.entries()) {
      assertBlock(block, `${where}.${position}`);
      if (block.toolUse === undefined) continue;
      const id = String((block.toolUse as Block).toolUseId);
      if (!ID.test(id)) throw new WireRefusal(`${where}.${position}.toolUse.toolUseId: fails the pattern`);
      if (seen.has(id)) throw new WireRefusal(`The ${where} contains duplicate Ids: ${id}`);
      seen.add(id);
      open.add(id);
    }
  }
  if (open.size > 0)
    throw new WireRefusal(`Expected toolResult blocks for the following Ids: ${[...open].join()}`);
}

function assertBlock({ text, reasoningContent }: Block, where: string): void {
  if (typeof text === 'string' && text.trim() === '')
    throw new WireRefusal(`The text field in the ContentBlock object at ${where} is blank.`);
  const { reasoningText } = (reasoningContent ?? {}) as { reasoningText?: Block };
  if (reasoningText !== undefined && reasoningText.signature !== signatureOf(String(reasoningText.text)))
    throw new WireRefusal(`${where}: Invalid signature in reasoningContent`);
}

function stopOf({ calls = [], finish }: WireAnswer): string {
  if (finish === 'length') return 'max_tokens';
  if (finish === 'refused') return 'content_filtered';
  return calls.length > 0 ? 'tool_use' : 'end_turn';
}

/** What was read from the cache or written into it is no part of `inputTokens`. */
function metadataOf({ usage }: WireAnswer): Block {
  const { input = 10, output = 5, cached = 0, written = 0 } = usage ?? {};
  return {
    usage: {
      inputTokens: input - cached - written,
      outputTokens: output,
      totalTokens: input + output,
      cacheReadInputTokens: cached,
      cacheWriteInputTokens: written,
    },
    metrics: { latencyMs: 1 },
  };
}

function blocksOf(answer: WireAnswer, turn: WireTurn): Block[] {
  const { reasoning, calls = [] } = answer;
  const text = textPieces(answer).join('');
  return [
    ...(reasoning === undefined
      ? []
      : [{ reasoningContent: { reasoningText: { text: reasoning, signature: signatureOf(reasoning) } } }]),
    ...(text === '' ? [] : [{ text }]),
    ...calls.map((call, index) => ({
      toolUse: { toolUseId: call.id ?? callId('tooluse', turn, index), name: call.name, input: call.args },
    })),
  ];
}

/** Only calls have a start. */
function blockEvents(block: Block, contentBlockIndex: number, answer: WireAnswer): WireEvent[] {
  const delta = (given: Block) => ({
    event: 'contentBlockDelta',
    data: { contentBlockIndex, delta: given, p: 'abcd' },
  });
  const stop = { event: 'contentBlockStop', data: { contentBlockIndex } };
  if (block.reasoningContent !== undefined) {
    const { reasoningText } = block.reasoningContent as { reasoningText: Block };
    const { text, signature } = reasoningText;
    return [delta({ reasoningContent: { text } }), delta({ reasoningContent: { signature } }), stop];
  }
  if (block.text !== undefined) return [...textPieces(answer).map((text) => delta({ text })), stop];
  const { toolUseId, name, input } = block.toolUse as Block;
  const call = answer.calls?.find((each) => each.name === name && each.args === input);
  const json = call === undefined ? JSON.stringify(input) : argumentsOf(call);
  const middle = Math.ceil(json.length / 2);
  return [
    { event: 'contentBlockStart', data: { contentBlockIndex, start: { toolUse: { toolUseId, name } } } },
    delta({ toolUse: { input: json.slice(0, middle) } }),
    delta({ toolUse: { input: json.slice(middle) } }),
    stop,
  ];
}

/** One message of `application/vnd.amazon.eventstream`: lengths, headers and payload, with a checksum of each half. */
function eventStreamMessage(headers: Record<string, string>, payload: string): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) =>
      Buffer.concat([
        Buffer.from([name.length, ...Buffer.from(name), STRING_HEADER]),
        Buffer.from([value.length >> 8, value.length & 255]),
        Buffer.from(value),
      ]),
    ),
  );
  const body = Buffer.from(payload);
  const prelude = Buffer.concat([uint32(16 + head.length + body.length), uint32(head.length)]);
  const checked = Buffer.concat([prelude, uint32(crc32(prelude)), head, body]);
  return Buffer.concat([checked, uint32(crc32(checked))]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
