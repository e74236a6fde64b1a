import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { Payments } from '../../examples/refunds/payments.ts';
import { refund } from '../../examples/refunds/refund.ts';
import { questionOf } from '../../src/tools/tool-gate.ts';
import { HoldfastProcess } from '../cli/holdfast-process.ts';
import { callOf, contextWith } from '../definitions/tool-context.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-refunds-'));
const program = fileURLToPath(new URL('../../examples/refunds/demo.ts', import.meta.url));
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('refunds', () => {
  test.each([
    [100_00, undefined],
    [100_01, undefined],
    [1_000_00, undefined],
    [1_000_01, 2],
    [10_000_00, 2],
  ])('of %i cents wait for as many people as they should [example.refunds]', async (cents, quorum) => {
    const context = contextWith({ call: callOf() });
    const question = await questionOf(refund, { booking: 'B-1001', cents }, context);
    if (cents <= 100_00) return expect(question).toBeUndefined();
    expect(question?.hint).toBe(`Pay €${(cents / 100).toFixed(2)} of B-1001 back?`);
    expect(question?.terms).toEqual({
      approvers: ['mira', 'jo', 'nora'],
      ...(quorum === undefined ? {} : { quorum }),
      notRequester: true,
      allowEdit: true,
      expiresIn: 2 * 86_400_000,
      onExpiry: 'escalate',
      escalateTo: ['olga'],
      escalateAfter: 4 * 3_600_000,
    });
  });

  test('are paid once under a key, and the key is of no other payment [example.refunds]', () => {
    const payments = new Payments(join(work, 'own.sqlite'));
    const paid = payments.pay('key-1', 'B-1001', 80_00);
    expect(payments.pay('key-1', 'B-1001', 80_00)).toEqual(paid);
    expect(() => payments.pay('key-1', 'B-1001', 90_00)).toThrow(/belongs to R-0001/);
    expect(payments.all()).toEqual([{ receipt: 'R-0001', booking: 'B-1001', cents: 80_00 }]);
    payments.close();
  });
});

test('one command asks, decides as each approver, in the terminal, in Slack and by a link, pays once and verifies the audit [example.refunds] [approval.quorum] [approval.audit] [slack.approve] [link.once]', async () => {
  const keys = join(work, 'keys');
  const demo = new HoldfastProcess(['--folder', join(work, '.holdfast'), '--stop-server'], {
    program,
    cwd: work,
    env: { REFUNDS_KEYS: keys, REFUNDS_PAYMENTS: join(work, 'payments.sqlite') },
  });
  const { code, stdout, stderr } = await demo.finished();
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/rq-\S+ counts: 1 of 2 approvals; more are needed/);
  expect(stdout).toContain('the requester of the call may not decide');
  expect(stdout).toContain('+ cents: 29000');
  expect(stdout).toMatch(/Slack │ .*[Aa]pproved by mira, jo/);
  expect(stdout).toContain('only nora sees: Nothing was decided: the requester of the call may not decide.');
  // What jo said alone, where the store hears of the end a moment later.
  expect(stdout).toMatch(/page │ .*(jo approved this|Approved by .*jo by a link)/);
  expect(stdout).toMatch(/holds: \d+ rows, each bound to the one before/);
  const payments = new Payments(join(work, 'payments.sqlite'));
  const paid = payments.all().map(({ booking, cents }) => [booking, cents]);
  payments.close();
  expect(paid.toSorted()).toEqual([
    ['B-1001', 80_00],
    ['B-1002', 290_00],
    ['B-1003', 2_400_00],
    ['B-1004', 150_00],
    ['B-1005', 250_00],
    ['B-1006', 1_600_00],
  ]);
  const privateKeys = readdirSync(keys).filter((name) => name.endsWith('.key.json'));
  expect(privateKeys).toHaveLength(4);
  if (process.platform !== 'win32') {
    const modes = privateKeys.map((name) => statSync(join(keys, name)).mode & 0o777);
    expect(new Set(modes)).toEqual(new Set([0o600]));
  }
});
