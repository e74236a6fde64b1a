import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Content } from '../../../src/events/content.ts';
import type { LlmResponse } from '../../../src/models/llm-response.ts';
import type { LlmRequest } from '../../../src/tools/base-tool.ts';
import { ANTHROPIC_MESSAGES } from '../../setup/wire/anthropic-messages.ts';
import { BEDROCK_CONVERSE } from '../../setup/wire/bedrock-converse.ts';
import { MISTRAL_CHAT } from '../../setup/wire/mistral-chat.ts';
import { WIRE_PROVIDERS } from '../../setup/wire/providers.ts';
import { WireServer } from '../../setup/wire/wire-server.ts';
import { ask, failure, request, userText } from '../ask.ts';

const ADD = {
  name: 'math.add:two',
  description: 'adds',
  parametersJsonSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] },
};

const withTools = (contents: Content[]): LlmRequest =>
  request({ contents, config: { tools: [{ functionDeclarations: [ADD] }] } });

/** The next request after an answer whose calls were answered. */
function following(response: LlmResponse | undefined): Content[] {
  const { content } = response as { content: Content };
  const answers = (content.parts ?? []).flatMap(({ functionCall }) =>
    functionCall === undefined
      ? []
      : [
          {
            functionResponse: {
              name: functionCall.name ?? '',
              id: functionCall.id ?? '',
              response: { sum: 3 },
            },
          },
        ],
  );
  return [
    userText('Hi'),
    content,
    ...(answers.length > 0 ? [{ role: 'user', parts: answers }] : [userText('More')]),
  ];
}

describe.each(WIRE_PROVIDERS)('a model of $name', ({ protocol, model: modelAt, reasons }) => {
  let server: WireServer;
  beforeAll(async () => {
    server = await WireServer.start(protocol);
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test.each([false, true])(
    'streaming %s: text, parallel calls, reasoning and usage come as Gemini has them [model.aiSdk]',
    async (stream) => {
      server.reset(() => ({
        ...(reasons && { reasoning: 'Let me think.' }),
        text: ['I ', 'add.'],
        calls: [
          { name: 'math_add_two', args: { a: 1 } },
          { name: 'math_add_two', args: { a: 2 } },
        ],
        usage: { input: 100, output: 20, cached: 40 },
      }));
      const model = modelAt(server.url);
      const responses = await ask(model, withTools([userText('Hi')]), { stream });
      const [name] = server.requests.map((body) => JSON.stringify(body).match(/math_add_two_[\w-]+/)?.[0]);
      expect(name).toMatch(/^[\w-]{1,64}$/);
      const last = responses.at(-1);
      expect(last).toMatchObject({
        finishReason: 'STOP',
        usageMetadata: { promptTokenCount: 100, cachedContentTokenCount: 40, totalTokenCount: 120 },
      });
      const parts = last?.content?.parts ?? [];
      expect(parts.filter(({ thought }) => thought).map(({ text }) => text)).toEqual(
        reasons ? ['Let me think.'] : [],
      );
      expect(parts.filter(({ thought, text }) => !thought && text).map(({ text }) => text)).toEqual([
        'I add.',
      ]);
      expect(parts.flatMap(({ functionCall }) => functionCall?.args ?? [])).toEqual([{ a: 1 }, { a: 2 }]);
      const pieces = responses
        .filter(({ partial }) => partial)
        .map(({ content }) => content?.parts?.[0] ?? {});
      if (stream) {
        expect(pieces.flatMap(({ text, thought }) => (thought ? [] : (text ?? [])))).toEqual(['I ', 'add.']);
        expect(pieces.some(({ functionCall }) => functionCall?.willContinue)).toBe(true);
      } else expect(pieces).toEqual([]);
    },
  );

  test('what it said goes back verbatim, and each result under the id of its call [model.aiSdk.verbatim]', async () => {
    server.reset(({ results, tools }) =>
      results.length > 0
        ? { text: results.map(({ output }) => output).join() }
        : {
            ...(reasons && { reasoning: 'Hm.' }),
            calls: [1, 2].map((a) => ({ name: tools[0] ?? '', args: { a } })),
          },
    );
    const model = modelAt(server.url);
    const [first] = await ask(model, withTools([userText('Hi')]));
    expect(first?.content?.parts?.at(-1)?.functionCall?.name).toBe(ADD.name);
    const [second] = await ask(model, withTools(following(structuredClone(first))));
    expect(second?.content?.parts).toMatchObject([{ text: '{"sum":3},{"sum":3}' }]);
    expect(server.refusals).toEqual([]);
    if (reasons) expect(JSON.stringify(server.requests[1])).toContain('Hm.');
  });

  test('calls without ids, of one id, and of another model are told apart; results that are missing are made up [model.aiSdk.ids]', async () => {
    server.reset(() => ({ text: 'fine' }));
    const call = (id?: string) => ({ functionCall: { name: 'other', args: {}, ...(id && { id }) } });
    const answer = (id?: string) => ({
      functionResponse: { name: 'other', response: { result: 'r' }, ...(id && { id }) },
    });
    const contents: Content[] = [
      userText('Hi'),
      {
        role: 'model',
        parts: [
          { text: 'secret', thought: true, thoughtSignature: 'AAAA' },
          call('x'),
          call('x'),
          call(),
          call('weird id:1'),
        ],
      },
      { role: 'user', parts: [answer('x'), answer('x'), answer(), { text: 'and more' }] },
      {
        role: 'model',
        parts: [{ executableCode: { code: '1+1' } }, { codeExecutionResult: { output: '2' } }, call('x')],
      },
    ];
    await ask(modelAt(server.url), request({ contents }));
    expect(server.refusals).toEqual([]);
    const sent = JSON.stringify(server.requests[0]);
    expect(sent).toContain('the call has no response');
    expect(sent).toContain('1+1');
    expect(sent).not.toContain('secret');
    expect(sent).not.toContain('AAAA');
  });

  test.each<[string, object, object]>([
    [
      '429 with retry-after',
      { status: 429, headers: { 'retry-after': '7' } },
      { kind: 'rate_limited', retryAfterMs: 7000, retryable: true },
    ],
    ['500', { status: 500 }, { kind: 'unavailable', retryable: true }],
    ['529', { status: 529 }, { kind: 'unavailable', retryable: true }],
    ['400', { status: 400 }, { kind: 'bad_request', retryable: false }],
    ['404', { status: 404 }, { kind: 'not_found', retryable: false }],
    ['a body that is no JSON', { status: 502, body: '<html>' }, { kind: 'unavailable', retryable: true }],
    [
      'a used-up account',
      {
        status: 429,
        body: { error: { message: 'no money', type: 'insufficient_quota', code: 'insufficient_quota' } },
      },
      { kind: 'rate_limited', retryable: false },
    ],
    ['a connection that is cut before the response', { cutAfter: 0 }, { kind: 'network', retryable: true }],
  ])('%s is classed as of Gemini [model.aiSdk.failures]', async (_name, fault, expected) => {
    for (const stream of [false, true]) {
      server.reset(() => ({ fault }));
      const { error, responses } = await failure(modelAt(server.url), request(), { stream });
      expect(error).toMatchObject(expected);
      expect(responses).toEqual([]);
      // One request each: attempts are Temporal's.
      expect(server.requests).toHaveLength(1);
    }
  });

  test('a stream that is cut, or that tells of an error, gives no answer [model.aiSdk.failures]', async () => {
    server.reset(() => ({ fault: { cutAfter: 3 }, answer: { text: ['a', 'b', 'c', 'd'] } }));
    const cut = await failure(modelAt(server.url), request(), { stream: true });
    expect(cut.error).toMatchObject({ kind: 'network', retryable: true });
    server.reset(() => ({
      fault: { streamError: { type: 'server_error', message: 'oops' } },
      answer: { text: ['a', 'b'] },
    }));
    const told = await failure(modelAt(server.url), request(), { stream: true });
    // Mistral's package finds no answer in an error.
    const kind = protocol === MISTRAL_CHAT ? 'network' : 'unavailable';
    expect(told.error).toMatchObject({ kind, retryable: true });
    expect(told.responses.every(({ partial }) => partial)).toBe(true);
  });

  test('a stream that ends too early without a broken connection gives no answer [model.aiSdk.failures]', async () => {
    server.reset(() => ({ fault: { endAfter: 3 }, answer: { text: ['a', 'b', 'c', 'd'] } }));
    const { error } = await failure(modelAt(server.url), request(), { stream: true });
    expect(error).toMatchObject({ kind: 'network', retryable: true });
  });

  test('a key is in no message, and a wrong one is told as such [model.aiSdk.secrets]', async () => {
    const apiKey = 'not-a-word-anyone-may-see';
    server.reset(({ body }) => ({
      fault: {
        status: 401,
        body: { error: { message: `wrong: ${apiKey} ${String(body.model)}`, type: 'authentication_error' } },
      },
    }));
    const { error } = await failure(modelAt(server.url, { apiKey }));
    expect(error).toMatchObject({ kind: 'authentication', retryable: false });
    expect(JSON.stringify([error.message, error, String(error.stack)])).not.toContain(apiKey);
  });

  test('an aborted call and one that takes too long end [model.aiSdk.failures]', async () => {
    server.reset(() => ({ fault: { hang: true } }));
    const late = await failure(modelAt(server.url), request({ config: { httpOptions: { timeout: 50 } } }));
    expect(late.error).toMatchObject({ kind: 'timeout', retryable: true });
    const abort = new AbortController();
    const ended = failure(modelAt(server.url), request(), { signal: abort.signal, stream: true });
    await expect.poll(() => server.requests.length).toBe(2);
    abort.abort();
    expect((await ended).error).toMatchObject({ kind: 'aborted' });
  });

  test('arguments that are no JSON are told to the model, and a cut answer says so [model.aiSdk]', async () => {
    server.reset(({ tools }) => ({
      calls: [{ name: tools[0] ?? '', args: {}, raw: '{"a": ' }],
      finish: 'length',
    }));
    for (const stream of [true, false]) {
      // Their answers have the arguments as an object.
      if ([ANTHROPIC_MESSAGES, BEDROCK_CONVERSE].includes(protocol) && !stream) continue;
      const last = (await ask(modelAt(server.url), withTools([userText('Hi')]), { stream })).at(-1);
      expect(last?.finishReason).toBe('MAX_TOKENS');
    }
  });

  test("an answer by a schema is asked for in the provider's way [model.aiSdk.schema]", async () => {
    server.reset(({ tools }) =>
      tools.length > 0
        ? { calls: [{ name: tools[0] ?? '', args: { city: 'Oslo' } }] }
        : { text: '{"city":"Oslo"}' },
    );
    const responseJsonSchema = {
      type: 'object',
      properties: { city: { type: 'string' }, zip: { type: 'string' } },
      required: ['city'],
    };
    const [response] = await ask(
      modelAt(server.url),
      request({ config: { responseJsonSchema, responseMimeType: 'application/json' } }),
    );
    expect(server.refusals).toEqual([]);
    expect(JSON.parse(response?.content?.parts?.map(({ text }) => text).join('') ?? '')).toEqual({
      city: 'Oslo',
    });
  });
});
