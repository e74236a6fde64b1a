import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ApprovalOptions } from '../../src/tools/approval-options.ts';
import { CallQuestions } from '../../src/tools/call-questions.ts';
import { questionsOf } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { GateOptions } from '../../src/tools/gate-options.ts';
import { gateDigestOf, questionOf } from '../../src/tools/tool-gate.ts';
import { StaticToolset } from '../../src/tools/toolsets.ts';
import { withConfirmation } from '../../src/tools/with-confirmation.ts';
import { callOf, contextWith } from './tool-context.ts';

const parameters = z.object({ amount: z.number() });
const pay = (options: GateOptions<z.output<typeof parameters>>) =>
  tool({ name: 'pay', description: 'Pays.', parameters, execute: () => 'paid', ...options });
const of = (approval: unknown, own: ApprovalOptions = {}) =>
  pay({ requireConfirmationProvider: () => ({ approval: approval as ApprovalOptions }), approval: own });
const context = () => contextWith({ call: callOf() });
const termsIn = async (approval: unknown, own?: ApprovalOptions) =>
  (await questionOf(of(approval, own), { amount: 5 }, context()))?.terms;

const OWN: ApprovalOptions = {
  approvers: ['mira', 'jo', 'sam'],
  quorum: 2,
  expiresIn: '1h',
  allowEdit: true,
  notRequester: true,
};
const KEPT = { ...OWN, expiresIn: 3_600_000 };

describe('terms of one call [approval.approvers]', () => {
  test.each<[string, unknown, object]>([
    ['none of its own', {}, KEPT],
    ['fewer people', { quorum: 1 }, { ...KEPT, quorum: undefined }],
    ['more people', { quorum: 3 }, { ...KEPT, quorum: 3 }],
    ['other people', { approvers: ['boss', 'chair'] }, { ...KEPT, approvers: ['boss', 'chair'] }],
    [
      'what takes back the rest',
      { quorum: 1, expiresIn: 'never', allowEdit: false, notRequester: false },
      { approvers: OWN.approvers },
    ],
    ['undefined, which says nothing', { approvers: undefined, quorum: undefined }, KEPT],
    [
      'escalation',
      { onExpiry: 'escalate', escalateTo: ['boss'] },
      { ...KEPT, onExpiry: 'escalate', escalateTo: ['boss'] },
    ],
  ])("are laid over the tool's, field by field: %s", async (_, approval, terms) => {
    expect(await termsIn(approval, OWN)).toEqual(terms);
  });

  test('by a predicate as by a provider; without them nothing is said of terms', async () => {
    const dear = pay({ requireConfirmation: ({ amount }) => amount > 100 && { approval: { quorum: 2 } } });
    expect((await questionOf(dear, { amount: 500 }, context()))?.terms).toEqual({ quorum: 2 });
    expect(
      await questionOf(pay({ requireConfirmation: true, approval: OWN }), { amount: 5 }, context()),
    ).toEqual({ hint: expect.any(String) });
  });

  test.each<[string, unknown, string]>([
    ['a wrong value', { quorum: 0 }, 'approval.quorum: expected a whole number, 1 or more, got 0'],
    [
      'a misspelt field',
      { aprovers: ['mira'] },
      'approval.aprovers: unknown option; did you mean "approvers"?',
    ],
    [
      'nobody',
      { approvers: [] },
      'approval.approvers: the list is empty, so nobody could decide: name somebody, or leave it out',
    ],
    [
      "what doesn't go with the tool's own",
      { quorum: 4 },
      'approval.quorum: 4 approvals of different people, and there are 3 approvers: name more of them',
    ],
    [
      'a way around the approvers',
      { onExpiry: 'approve' },
      "approval.onExpiry: 'approve' would pass by approvers: use 'reject' or 'escalate', or leave approvers out",
    ],
    ['a list', ['mira'], 'approval: expected an object, got array'],
    ['null', null, 'approval: expected an object, got null'],
  ])('%s keeps the call from running', async (_, approval, problem) => {
    await expect(termsIn(approval, OWN)).rejects.toMatchObject({
      message: `Error in tool 'pay': requireConfirmationProvider: ${problem}`,
      code: 'HOLDFAST_GATE_FAILED',
      retryable: false,
    });
  });

  test('let nobody change arguments that are all sensitive [credential.secret]', async () => {
    const secret = tool({
      name: 'pay',
      description: 'Pays.',
      parameters,
      sensitive: true,
      requireConfirmation: () => ({ approval: { allowEdit: true } }),
      execute: () => 'paid',
    });
    await expect(questionOf(secret, { amount: 5 }, context())).rejects.toMatchObject({
      code: 'HOLDFAST_GATE_FAILED',
      message: expect.stringContaining('approval.allowEdit: the tool is sensitive: true'),
    });
  });

  test('change nothing about what the tool is', () => {
    expect(gateDigestOf(of({ quorum: 2 }))).toBe(gateDigestOf(of({ quorum: 3 })));
  });

  test.each<[string, unknown]>([
    ['others', { approvers: ['boss'], quorum: 1 }],
    ['those that take back', { quorum: 1, expiresIn: 'never', allowEdit: false, notRequester: false }],
  ])(
    'are the same in a toolset with a confirmation of its own: %s [confirm.toolset]',
    async (_, approval) => {
      const inner = of(approval, OWN);
      const [outer = inner] = await withConfirmation(new StaticToolset([inner]), true).getTools(context());
      expect(outer).not.toBe(inner);
      const question = await questionOf(outer, { amount: 5 }, context());
      expect(question?.terms).toEqual(await termsIn(approval, OWN));
    },
  );

  test('a toolset may say them too [confirm.toolset]', async () => {
    const plain = tool({ name: 'pay', description: '', parameters, execute: () => 'paid' });
    const toolset = withConfirmation(new StaticToolset([plain]), false, () => ({ approval: { quorum: 2 } }));
    const [outer = plain] = await toolset.getTools(context());
    expect((await questionOf(outer, { amount: 5 }, context()))?.terms).toEqual({ quorum: 2 });
  });

  test('of a tool that another tool runs are those that its question is asked on [confirm.default]', async () => {
    for (const [inner, terms] of [
      [of({ quorum: 2 }), { quorum: 2 }],
      [pay({ requireConfirmation: true, approval: { approvers: ['mira'] } }), { approvers: ['mira'] }],
    ] as const) {
      const toolContext = contextWith({ call: callOf({ questions: new CallQuestions() }) });
      await inner.runAsync({ args: { amount: 5 }, toolContext });
      expect(questionsOf(toolContext).asked).toMatchObject({ kind: 'confirmation', terms });
    }
  });
});
