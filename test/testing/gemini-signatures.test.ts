import { ApiError, type Content, GoogleGenAI, type Part } from '@google/genai';
import { expect, onTestFinished, test } from 'vitest';
import { call, calls, raw, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/gemini-script.ts';
import { type MockGeminiOptions, startMockGemini } from '../../src/testing/mock-gemini.ts';

const MODEL = 'gemini-3-pro-preview';
const QUESTION: Content = { role: 'user', parts: [{ text: 'Compare them' }] };

async function start(script: GeminiScript, options: Partial<MockGeminiOptions> = {}) {
  const gemini = await startMockGemini({ script, ...options });
  onTestFinished(() => gemini.close());
  const ai = new GoogleGenAI({ apiKey: 'a-key', httpOptions: { baseUrl: gemini.url } });
  const ask = async (contents: Content[], model = MODEL) => {
    const response = await ai.models.generateContent({ model, contents });
    return response.candidates?.[0]?.content ?? {};
  };
  return { ask, ai };
}

function answers(model: Content): Content {
  const parts = model.parts ?? [];
  return {
    role: 'user',
    parts: parts.flatMap(({ functionCall }): Part[] =>
      functionCall
        ? [{ functionResponse: { id: functionCall.id, name: functionCall.name, response: { ok: true } } }]
        : [],
    ),
  };
}

function withParts(content: Content, change: (part: Part, index: number) => Part): Content {
  return { ...content, parts: content.parts?.map(change) };
}

async function expectRefusal(asked: Promise<unknown>, message: string) {
  const failure = await asked.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(failure).toBeInstanceOf(ApiError);
  expect((failure as ApiError).status).toBe(400);
  expect((failure as ApiError).message).toContain(message);
}

const MISSING = 'Function call is missing a thought_signature in functionCall parts.';
const CORRUPTED = 'Corrupted thought signature.';

const twoCalls = () => [calls([{ name: 'a', args: { x: 1, y: { z: [2] } } }, { name: 'b' }]), text('done')];

test('only the first of parallel calls is signed, and it is accepted verbatim [mock.signatures]', async () => {
  const { ask } = await start(twoCalls());
  const model = await ask([QUESTION]);
  expect(model.parts?.map((part) => typeof part.thoughtSignature)).toEqual(['string', 'undefined']);
  expect((await ask([QUESTION, model, answers(model)])).parts?.[0]?.text).toBe('done');
});

test('a stream signs the same way', async () => {
  const { ask, ai } = await start(twoCalls());
  const parts: Part[] = [];
  for await (const chunk of await ai.models.generateContentStream({ model: MODEL, contents: [QUESTION] })) {
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
  }
  const model = { role: 'model', parts };
  expect((await ask([QUESTION, model, answers(model)])).parts?.[0]?.text).toBe('done');
});

test('the order of argument names does not matter, nor does a second mock server', async () => {
  const { ask } = await start(twoCalls());
  const model = await ask([QUESTION]);
  const reordered = withParts(model, (part, index) =>
    index > 0 ? part : { ...part, functionCall: { ...part.functionCall, args: { y: { z: [2] }, x: 1 } } },
  );
  const other = await start([text('done')]);
  expect((await other.ask([QUESTION, reordered, answers(model)])).parts?.[0]?.text).toBe('done');
});

test('a lost signature is refused, with the call and its position [mock.signatures]', async () => {
  const { ask } = await start(twoCalls());
  const model = await ask([QUESTION]);
  const stripped = withParts(model, ({ thoughtSignature: _, ...part }) => part);
  const asked = ask([QUESTION, stripped, answers(model)]);
  await expectRefusal(asked, MISSING);
  await expectRefusal(asked, 'function call `default_api:a` , position 2.');
  await expectRefusal(asked, 'contents[1].parts[0]');
});

test('a moved, altered or invented signature is refused [mock.signatures]', async () => {
  const { ask } = await start(twoCalls());
  const model = await ask([QUESTION]);
  const signature = model.parts?.[0]?.thoughtSignature ?? '';
  const resend = (change: (part: Part, index: number) => Part) =>
    ask([QUESTION, withParts(model, change), answers(model)]);
  const altered = (signature[0] === 'A' ? 'B' : 'A') + signature.slice(1);
  await expectRefusal(
    resend((part) => ({ ...part, thoughtSignature: signature })),
    `${CORRUPTED} (contents[1].parts[1])`,
  );
  await expectRefusal(
    resend((part, index) => (index === 0 ? { ...part, thoughtSignature: altered } : part)),
    CORRUPTED,
  );
  await expectRefusal(
    resend((part, index) => (index === 0 ? { ...part, thoughtSignature: 'bmV2ZXIgaXNzdWVk' } : part)),
    CORRUPTED,
  );
  await expectRefusal(
    resend((part, index) =>
      index === 0 ? { ...part, functionCall: { ...part.functionCall, args: { x: 2 } } } : part,
    ),
    CORRUPTED,
  );
  await expectRefusal(
    resend((part, index) => (index === 0 ? { ...part, thoughtSignature: '!!' } : part)),
    "Invalid value at 'contents[1].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed",
  );
});

test('calls that were reordered lose their signature', async () => {
  const { ask } = await start(twoCalls());
  const model = await ask([QUESTION]);
  const reversed = { ...model, parts: model.parts?.toReversed() };
  await expectRefusal(ask([QUESTION, reversed, answers(model)]), 'function call `default_api:b`');
});

test('every step of the current turn needs its own, earlier turns need none', async () => {
  const { ask } = await start([call('a'), call('b'), text('first answer'), text('second answer')]);
  const strip = (content: Content) => withParts(content, ({ thoughtSignature: _, ...part }) => part);
  const one = await ask([QUESTION]);
  const two = await ask([QUESTION, one, answers(one)]);
  const turn = [QUESTION, one, answers(one), two, answers(two)];
  await expectRefusal(ask([QUESTION, strip(one), answers(one), two, answers(two)]), 'position 2');
  await expectRefusal(ask([QUESTION, one, answers(one), strip(two), answers(two)]), 'position 4');
  const answer = await ask(turn);
  expect(answer.parts?.[0]?.text).toBe('first answer');
  const next = [...turn.map(strip), answer, { role: 'user', parts: [{ text: 'And now?' }] }];
  expect((await ask(next)).parts?.[0]?.text).toBe('second answer');
});

test('another Gemini 3 takes the signature; a call that was never signed needs the bypass', async () => {
  const { ask } = await start([call('a'), text('one'), call('a'), text('two')]);
  const signed = await ask([QUESTION]);
  const history = (model: Content) => [QUESTION, model, answers(model)];
  expect((await ask(history(signed), 'gemini-3-flash')).parts?.[0]?.text).toBe('one');
  const unsigned = await ask([QUESTION], 'gemini-2.5-pro');
  expect(unsigned.parts?.[0]?.thoughtSignature).toBeUndefined();
  await expectRefusal(ask(history(unsigned)), MISSING);
  const bypassed = withParts(unsigned, (part) => ({
    ...part,
    thoughtSignature: 'skip_thought_signature_validator',
  }));
  expect((await ask(history(bypassed))).parts?.[0]?.text).toBe('two');
});

test('other models neither sign nor check', async () => {
  const { ask } = await start([text('ok')]);
  const model = { role: 'model', parts: [{ functionCall: { name: 'a' }, thoughtSignature: 'AAAA' }] };
  expect((await ask([QUESTION, model, answers(model)], 'gemini-2.5-flash')).parts?.[0]?.text).toBe('ok');
});

test('the option switches signing on and off for every model', async () => {
  const off = await start([call('a'), text('ok')], { thoughtSignatures: false });
  const plain = await off.ask([QUESTION]);
  expect(plain.parts?.[0]?.thoughtSignature).toBeUndefined();
  expect((await off.ask([QUESTION, plain, answers(plain)])).parts?.[0]?.text).toBe('ok');
  const on = await start([call('a')], { thoughtSignatures: true });
  const signed = await on.ask([QUESTION], 'some-model');
  expect(signed.parts?.[0]?.thoughtSignature).toEqual(expect.any(String));
  const stripped = withParts(signed, ({ thoughtSignature: _, ...part }) => part);
  await expectRefusal(on.ask([QUESTION, stripped, answers(signed)], 'some-model'), MISSING);
});

test('what a script signs, or leaves unsigned, is accepted as it was sent', async () => {
  const { ask } = await start([
    call('a', {}, { thoughtSignature: 'c2NyaXB0ZWQ=' }),
    text('one'),
    call('a', {}, { thoughtSignature: false }),
    text('two'),
    raw({ candidates: [{ content: { role: 'model', parts: [{ functionCall: { name: 'r' } }] } }] }),
    text('three'),
    text('signed text', { thoughtSignature: 'dGV4dA==' }),
    text('four'),
  ]);
  for (const expected of ['one', 'two', 'three']) {
    const model = await ask([QUESTION]);
    expect((await ask([QUESTION, model, answers(model)])).parts?.[0]?.text).toBe(expected);
  }
  const said = await ask([QUESTION]);
  expect(said.parts?.[0]?.thoughtSignature).toBe('dGV4dA==');
  expect((await ask([QUESTION, said, QUESTION])).parts?.[0]?.text).toBe('four');
});
