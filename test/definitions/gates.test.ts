import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { AuthCredential } from '../../src/events/auth-credential.ts';
import type { ApprovalOptions } from '../../src/tools/approval-options.ts';
import { BaseTool } from '../../src/tools/base-tool.ts';
import { CallQuestions } from '../../src/tools/call-questions.ts';
import { questionsOf } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { GateOptions } from '../../src/tools/gate-options.ts';
import { approvalTermsOf, gateDigestOf, questionOf } from '../../src/tools/tool-gate.ts';
import { callOf, contextWith } from './tool-context.ts';

const HOUR = 3_600_000;
const parameters = z.object({ amount: z.number(), note: z.string().default('none') });
const run = vi.fn(({ amount }: { amount: number }) => ({ paid: amount }));

type Pay = GateOptions<z.output<typeof parameters>>;
const pay = (options: Pay = {}) =>
  tool({ name: 'pay', description: 'Pays.', parameters, execute: run, ...options });
const approved = (approval: ApprovalOptions) => pay({ requireConfirmation: true, approval });
const asks = (of: BaseTool, args: Record<string, unknown> = { amount: 5 }) =>
  questionOf(of, args, contextWith({ call: callOf() }));

const DEFAULT_HINT =
  'Please approve or reject the tool call pay() by responding with a FunctionResponse with an expected ToolConfirmation payload.';
const BEARER = { credentialKey: 'bank', authScheme: { type: 'http', scheme: 'bearer' } };

describe('whether a call waits [confirm.require]', () => {
  test.each<[string, Pay]>([
    ['says nothing', {}],
    ['says no', { requireConfirmation: false }],
    ['says no by the other name', { requiresApproval: false }],
  ])('not where the tool %s: it has no gate', async (_, options) => {
    expect(pay(options).gate).toBeUndefined();
    expect(await asks(pay(options))).toBeUndefined();
    expect(approvalTermsOf(pay(options))).toEqual({});
  });

  test.each<[string, Pay]>([
    ['a flag', { requireConfirmation: true }],
    ['the other name of the flag', { requiresApproval: true }],
    ['both names', { requireConfirmation: true, requiresApproval: true }],
    ['a predicate that says yes', { requireConfirmation: () => true }],
    ['a predicate that says nothing', { requireConfirmation: (() => undefined) as never }],
    ['a predicate that says 0', { requireConfirmation: (() => 0) as never }],
    [
      'a provider over a flag that says no',
      { requireConfirmation: false, requireConfirmationProvider: () => true },
    ],
  ])('by %s', async (_, options) => {
    expect(await asks(pay(options))).toEqual({ hint: DEFAULT_HINT });
  });

  test("a provider's no counts more than the flag, and more than a predicate", async () => {
    const requireConfirmationProvider = async () => false;
    expect(await asks(pay({ requireConfirmation: true, requireConfirmationProvider }))).toBeUndefined();
    expect(await asks(pay({ requireConfirmation: () => true, requireConfirmationProvider }))).toBeUndefined();
  });

  test('predicates get the arguments as the function would, in a copy, and a context', async () => {
    const args = { amount: 500 };
    const dear = pay({
      requireConfirmation: (input, context) => {
        const isDear = input.amount > 100 && input.note === 'none' && context.userId === 'ada';
        input.amount = 0;
        return isDear;
      },
    });
    expect(await asks(dear, args)).toEqual({ hint: DEFAULT_HINT });
    expect(args).toEqual({ amount: 500 });
    expect(await asks(dear, { amount: 5 })).toBeUndefined();
  });

  test('a provider says what people are asked, and what the tool gets back', async () => {
    const provider = (hint?: string) =>
      pay({
        requireConfirmationProvider: ({ amount }) => ({ ...(hint ? { hint } : {}), payload: { amount } }),
      });
    expect(await asks(provider('Pay?'))).toEqual({ hint: 'Pay?', payload: { amount: 5 } });
    expect(await asks(provider())).toEqual({ hint: DEFAULT_HINT, payload: { amount: 5 } });
  });

  test.each<[string, Pay, string]>([
    [
      'throws',
      {
        requireConfirmation: () => {
          throw new Error('no rates');
        },
      },
      "Error in tool 'pay': requireConfirmation: no rates",
    ],
    [
      'rejects',
      { requireConfirmationProvider: () => Promise.reject(new Error('no rates')) },
      "Error in tool 'pay': requireConfirmationProvider: no rates",
    ],
    [
      'has a payload without a JSON form',
      { requireConfirmationProvider: () => ({ payload: { big: 1n } }) },
      "Error in tool 'pay': requireConfirmationProvider: payload: big: JSON has no bigint; give a number or a string",
    ],
    [
      'throws for its hint',
      {
        requireConfirmation: true,
        confirmationHint: () => {
          throw new Error('no words');
        },
      },
      "Error in tool 'pay': confirmationHint: no words",
    ],
  ])('one that %s keeps the call from running', async (_, options, message) => {
    await expect(asks(pay(options))).rejects.toMatchObject({ message, retryable: false });
  });

  test('arguments that the tool would refuse are refused, and nobody is asked', async () => {
    const predicate = vi.fn(() => true);
    const error = { code: 'HOLDFAST_INVALID_ARGUMENTS', retryable: false };
    await expect(asks(pay({ requireConfirmation: predicate }), { amount: 'much' })).rejects.toMatchObject(
      error,
    );
    expect(predicate).not.toHaveBeenCalled();
    await expect(pay().checkArguments({ amount: 'much' })).rejects.toMatchObject(error);
    await expect(pay().checkArguments({})).rejects.toThrow(
      'mandatory input parameters are not present:\namount',
    );
    await expect(pay().checkArguments({ amount: 5 })).resolves.toBeUndefined();
  });

  test('FunctionTool says so as in ADK', async () => {
    const dear = pay({ requireConfirmation: ({ amount }) => amount > 100 });
    expect(await dear.checkRequireConfirmation({ amount: 5 }, contextWith())).toBe(false);
    expect(await dear.checkRequireConfirmation({ amount: 500 }, contextWith())).toBe(true);
  });

  test('any tool may have a gate; one without a schema takes any arguments', async () => {
    class Plain extends BaseTool {
      constructor() {
        super({ name: 'plain', description: '', requireConfirmation: (args) => args.all === true });
      }
      override async runAsync() {
        return {};
      }
    }
    expect(await asks(new Plain(), { all: true })).toEqual({
      hint: DEFAULT_HINT.replace('pay()', 'plain()'),
    });
    expect(await asks(new Plain(), { all: false })).toBeUndefined();
    await expect(new Plain().checkArguments({ whatever: 1 })).resolves.toBeUndefined();
  });
});

describe('the question [confirm.hint]', () => {
  test('is the tool’s own where it has one, of the arguments', async () => {
    const confirmationHint = ({ amount, note }: { amount: number; note: string }) =>
      `Pay ${amount} (${note})?`;
    expect(await asks(pay({ requireConfirmation: true, confirmationHint }))).toEqual({
      hint: 'Pay 5 (none)?',
    });
  });

  test.each([[''], [undefined], [7]])('%j is none: the default names the tool', async (words) => {
    const hinted = pay({ requireConfirmation: true, confirmationHint: (() => words) as never });
    expect(await asks(hinted)).toEqual({ hint: DEFAULT_HINT });
  });

  test('may be one text for all calls', async () => {
    const hinted = pay({ requireConfirmation: true, confirmationHint: 'Pay this?' });
    expect(await asks(hinted)).toEqual({ hint: 'Pay this?' });
  });

  test('is never longer than people read', async () => {
    const long = pay({ requireConfirmation: true, confirmationHint: () => '\ud83d\udcb6'.repeat(600_000) });
    const hint = (await asks(long))?.hint ?? '';
    expect(hint).toHaveLength(2_000);
    expect(hint.isWellFormed()).toBe(true);
    expect(hint.endsWith('…')).toBe(true);
  });
});

describe('defaults of a tool that waits [confirm.once]', () => {
  test('one run for each approval', () => {
    const { durable } = pay({ requireConfirmation: () => false });
    expect(durable).toMatchObject({ onUnknownOutcome: 'fail', retry: { maximumAttempts: 1 } });
    const chosen = tool({
      name: 'pay',
      description: '',
      requireConfirmation: true,
      onUnknownOutcome: 'ask',
      retry: { maximumAttempts: 2 },
      execute: () => 1,
    });
    expect(chosen.durable).toMatchObject({ onUnknownOutcome: 'ask', retry: { maximumAttempts: 2 } });
  });

  test('one that waits for a credential only is run as any other', () => {
    expect(pay({ authConfig: BEARER }).durable).toEqual(pay().durable);
  });
});

describe('who may decide [approval.approvers]', () => {
  test('durations in milliseconds, defaults left out', () => {
    const approval: ApprovalOptions = {
      approvers: ['mira', 'jo'],
      quorum: 2,
      expiresIn: '2 hours',
      onExpiry: 'escalate',
      escalateTo: ['boss'],
      escalateAfter: '30 minutes',
      allowEdit: true,
      notRequester: true,
    };
    expect(approvalTermsOf(approved(approval))).toEqual({
      ...approval,
      expiresIn: 2 * HOUR,
      escalateAfter: HOUR / 2,
    });
    expect(approvalTermsOf(approved({}))).toEqual({});
    const defaults = {
      quorum: 1,
      expiresIn: 'never',
      onExpiry: 'reject',
      allowEdit: false,
      notRequester: false,
    } as const;
    expect(approvalTermsOf(approved(defaults))).toEqual({});
    expect(approvalTermsOf(approved({ expiresIn: '10 years', onExpiry: 'approve' }))).toEqual({
      expiresIn: 87_660 * HOUR,
      onExpiry: 'approve',
    });
    expect(approvalTermsOf(approved({ quorum: 3 }))).toEqual({ quorum: 3 });
  });

  test('nothing about it can be changed afterwards', () => {
    const approvers = ['mira'];
    const of = approved({ approvers });
    approvers.push('eve');
    expect(approvalTermsOf(of).approvers).toEqual(['mira']);
    expect([of.gate, approvalTermsOf(of), approvalTermsOf(of).approvers].every(Object.isFrozen)).toBe(true);
  });
});

describe('the digest of a gate [confirm.once]', () => {
  const gated: Pay = { requireConfirmation: true, approval: { approvers: ['mira'] } };

  test('is the same for the same definition, whatever its functions do', () => {
    expect(gateDigestOf(pay(gated))).toBe(gateDigestOf(pay(gated)));
    expect(gateDigestOf(pay({ requireConfirmation: () => true }))).toBe(
      gateDigestOf(pay({ requireConfirmation: () => false })),
    );
    const other = tool({ name: 'pay', description: 'Pays more.', parameters, execute: () => 2, ...gated });
    expect(gateDigestOf(other)).toBe(gateDigestOf(pay(gated)));
  });

  test('is another one once the tool is gated, decided or called otherwise', () => {
    const digests = [
      pay(gated),
      pay(),
      pay({ requireConfirmation: true }),
      pay({ requireConfirmation: () => true }),
      pay({ requireConfirmationProvider: () => true }),
      pay({ ...gated, approval: { approvers: ['mira', 'jo'] } }),
      pay({ ...gated, approval: { approvers: ['mira'], allowEdit: true } }),
      pay({ ...gated, authConfig: BEARER }),
      pay({ ...gated, authConfig: { ...BEARER, credentialKey: 'other' } }),
      tool({
        name: 'pay',
        description: '',
        parameters: z.object({ amount: z.string() }),
        execute: run,
        ...gated,
      } as never),
      tool({ name: 'pay2', description: '', parameters, execute: run, ...gated }),
    ].map(gateDigestOf);
    expect(new Set(digests).size).toBe(digests.length);
  });

  test('and the gate itself hold no secret of the auth config', () => {
    const secret: AuthCredential = { authType: 'apiKey', apiKey: 'sk-tulip' };
    const withSecret = pay({
      authConfig: { ...BEARER, rawAuthCredential: secret, exchangedAuthCredential: secret },
    });
    expect(withSecret.gate?.credential?.authConfig).toEqual(BEARER);
    expect(gateDigestOf(withSecret)).toBe(gateDigestOf(pay({ authConfig: BEARER })));
  });
});

describe('a gated tool that another tool runs [confirm.default]', () => {
  const gated = pay({ requireConfirmation: ({ amount }) => amount > 100 });
  const inside = (amount: number, init: Parameters<typeof contextWith>[0] = {}) => {
    const toolContext = contextWith({ call: callOf(), ...init });
    return { toolContext, result: () => gated.runAsync({ args: { amount }, toolContext }) };
  };

  test('asks by the context of the call, and does not run', async () => {
    run.mockClear();
    const { toolContext, result } = inside(500);
    expect(await result()).toEqual({
      error: 'This tool call requires confirmation, please approve or reject.',
    });
    expect(run).not.toHaveBeenCalled();
    expect(questionsOf(toolContext).asked).toEqual({ kind: 'confirmation', hint: DEFAULT_HINT });
    expect(toolContext.actions).toMatchObject({
      skipSummarization: true,
      requestedToolConfirmations: { call_0: { hint: DEFAULT_HINT, confirmed: false } },
    });
  });

  test('runs once a person has approved, and not after a rejection', async () => {
    const approvedCall = inside(500, { toolConfirmation: { hint: '', confirmed: true } });
    expect(await approvedCall.result()).toEqual({ paid: 500 });
    run.mockClear();
    const rejected = inside(500, { toolConfirmation: { hint: '', confirmed: false } });
    expect(await rejected.result()).toEqual({ error: 'This tool call is rejected.' });
    const unclear = inside(500, { toolConfirmation: { hint: '', confirmed: 'yes' as never } });
    expect(await unclear.result()).toEqual({ error: 'This tool call is rejected.' });
    expect(run).not.toHaveBeenCalled();
  });

  test('runs where its own gate was passed, or says that it needs none', async () => {
    expect(await inside(5).result()).toEqual({ paid: 5 });
    const questions = new CallQuestions({ passed: gated.gate });
    expect(await inside(500, { call: callOf({ questions }) }).result()).toEqual({ paid: 500 });
  });

  test('is refused where there is no call that could wait', async () => {
    run.mockClear();
    await expect(gated.runAsync({ args: { amount: 500 }, toolContext: contextWith() })).rejects.toMatchObject(
      {
        code: 'HOLDFAST_NO_CALL',
      },
    );
    expect(run).not.toHaveBeenCalled();
  });
});
