import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MessageReceipt } from '../../src/protocol/message.ts';
import { type GatedTurn, GateEnvironment, type ScriptedCall } from '../setup/gate-environment.ts';
import { inTier } from '../setup/tier.ts';

let environment: GateEnvironment;
beforeAll(async () => {
  environment = await GateEnvironment.open();
});
afterAll(() => environment.close());

const gated: ScriptedCall = { tool: 'refund', gate: {} };

async function waiting(...calls: ScriptedCall[]): Promise<GatedTurn> {
  const turn = environment.turn([calls]);
  await turn.start();
  await expect.poll(async () => (await turn.status()).waiting.length).toBe(calls.length);
  return turn;
}

const reply = (id: unknown, response: unknown = { confirmed: true }, name = 'adk_request_confirmation') => ({
  functionResponse: { id, name, response },
});
const message = (...parts: object[]) => ({ messageId: 'm', message: { role: 'user', parts } });

describe('a reply whose id is no text', () => {
  test.for([
    ['a number', 7],
    ['an object', { id: 'rq' }],
    ['a list', ['rq']],
    ['true', true],
  ] as const)('%s says why it changes nothing, and the turn goes on [confirm.reply]', async ([_name, id]) => {
    const turn = await waiting(gated);
    const { replies } = await turn.update<MessageReceipt>('sendMessage', message(reply(id)));
    expect(replies).toMatchObject([
      { status: 'refused', reason: expect.stringContaining('functionResponse.id') },
    ]);
    await turn.signal('sendMessage', message(reply(id), reply(turn.request(), { confirmed: false })));
    // What is beside it counts.
    await turn.result();
    expect(turn.types.filter((type) => type !== 'holdfast.recordEntries')).toEqual(['holdfast.closeCall']);
  });

  test('null counts as none, as serialisers of other languages write it [confirm.reply]', async () => {
    const turn = await waiting(gated);
    const { replies } = await turn.update<MessageReceipt>('sendMessage', message(reply(null)));
    expect(replies).toMatchObject([{ status: 'approved', requestId: turn.request() }]);
    await turn.result();
  });
});

const ODD = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    '',
    'yes',
    'rq-',
    'rq-e.1.0.1',
    'toString',
    '__proto__',
    0,
    -1,
    1e21,
    [],
    {},
  ),
  fc.constantFrom<unknown>(
    [null],
    [[]],
    { id: null },
    { confirmed: true },
    { response: null },
    '{"confirmed":true}',
  ),
);
const FIELDS = [
  'v',
  'requestId',
  'callKey',
  'callId',
  'confirmed',
  'withdraw',
  'args',
  'payload',
  'reason',
  'attestation',
];
const MORE = [
  'response',
  'credentialRef',
  'messageId',
  'policy',
  'stateDelta',
  'runConfig',
  'agent',
  'stored',
  'invocationId',
];
const payload = fc.oneof(
  { weight: 4, arbitrary: fc.dictionary(fc.constantFrom(...FIELDS, ...MORE), ODD, { maxKeys: 5 }) },
  {
    weight: 4,
    arbitrary: fc.record({
      messageId: fc.constantFrom('m', 'n'),
      message: fc.record({
        role: fc.constantFrom('user', undefined),
        parts: fc.array(
          fc.oneof(
            ODD.map((text) => ({ text })),
            fc
              .record({
                id: fc.oneof(ODD, fc.constant(undefined)),
                name: fc.oneof(
                  fc.constantFrom(
                    'adk_request_confirmation',
                    'adk_request_input',
                    'adk_request_credential',
                    'refund',
                  ),
                  ODD,
                ),
                response: fc.oneof(
                  fc.dictionary(fc.constantFrom(...FIELDS, ...MORE, 'result'), ODD, { maxKeys: 2 }),
                  ODD,
                ),
              })
              .map((functionResponse) => ({ functionResponse })),
          ),
          { minLength: 1, maxLength: 3 },
        ),
      }),
    }),
  },
  { weight: 1, arbitrary: ODD },
);
const order = fc.record({
  name: fc.constantFrom('sendMessage', 'confirm', 'provideInput', 'provideCredential', 'cancelCall'),
  way: fc.constantFrom('signal' as const, 'update' as const),
  payload,
});

test('whatever is sent, its sender is answered, and no turn is stopped by it [confirm.signal] [confirm.reply]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(order, { minLength: 12, maxLength: 20 }), async (orders) => {
      const turn = environment.turn([
        [
          { tool: 'refund', gate: { attested: true } },
          { tool: 'order', asks: [{ kind: 'input' }] },
          { tool: 'fetch', asks: [{ kind: 'credential' }] },
        ],
      ]);
      await turn.start();
      for (const { name, way, payload: sent } of orders) {
        const isDone = ({ message: text = '' }: Error) => {
          if (!/already completed|Workflow Update failed|not found|closing workflow/i.test(text))
            throw new Error(text);
        };
        await turn[way](name, sent as object).then(undefined, isDone);
      }
      // Whatever of it has ended the turn: it answers, and ends.
      expect((await turn.status()).v).toBe(1);
      await turn.signal('interrupt', {}).catch(() => undefined);
      await turn.handle.terminate().catch(() => undefined);
    }),
    { numRuns: inTier(2, 8), endOnFailure: true },
  );
});
