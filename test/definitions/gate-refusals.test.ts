import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { tool } from '../../src/tools/function-tool.ts';
import { refusal } from './refusal.ts';

const pay = (options: object) => tool({ name: 'pay', description: '', execute: () => 1, ...options });
const approved = (approval: object) => pay({ requireConfirmation: true, approval });
const BEARER = { credentialKey: 'bank', authScheme: { type: 'http', scheme: 'bearer' } };

describe('refuses, naming the field [define.refuse]', () => {
  test.each<[object, string, string]>([
    [
      { approvers: [] },
      'approvers',
      'the list is empty, so nobody could decide: name somebody, or leave it out',
    ],
    [{ approvers: 'mira' }, 'approvers', 'expected a list of names, got string'],
    [
      { approvers: ['mira', 'jo', 'mira'] },
      'approvers[2]',
      'is in the list already: each person counts once',
    ],
    [{ approvers: [7] }, 'approvers[0]', 'expected a name, got number'],
    [{ approvers: [''] }, 'approvers[0]', 'expected a name, got an empty string'],
    [{ approvers: [' mira'] }, 'approvers[0]', 'a name must not begin or end with a space'],
    [{ approvers: ['mi\u0000ra'] }, 'approvers[0]', 'a name must have no control characters'],
    [{ approvers: ['m'.repeat(257)] }, 'approvers[0]', 'must have at most 256 characters'],
    [{ approvers: ['unverified'] }, 'approvers[0]', 'unproven decisions are recorded under this name'],
    [
      { escalateTo: [] },
      'escalateTo',
      'the list is empty, so nobody could decide: name somebody, or leave it out',
    ],
    [
      { approvers: ['mira', 'jo'], quorum: 3 },
      'quorum',
      '3 approvals of different people, and there are 2 approvers: name more of them',
    ],
    [
      { approvers: ['mira'], quorum: 2, escalateTo: ['boss'], escalateAfter: '1m' },
      'quorum',
      '2 approvals of different people, and there is 1 approver: name more of them',
    ],
    [
      { expiresIn: '1h', onExpiry: 'aprove' },
      'onExpiry',
      `expected 'reject' or 'approve' or 'escalate'; did you mean "approve"?`,
    ],
    [
      { onExpiry: 'approve' },
      'onExpiry',
      "'approve' never comes to pass without expiresIn: say when the request expires",
    ],
    [
      { onExpiry: 'escalate', escalateTo: ['boss'] },
      'onExpiry',
      "'escalate' never comes to pass without expiresIn: say when the request expires",
    ],
    [
      { onExpiry: 'escalate', expiresIn: '1h' },
      'onExpiry',
      "'escalate' needs escalateTo: name those who may decide from then on",
    ],
    [
      { onExpiry: 'approve', expiresIn: '1h', approvers: ['mira'] },
      'onExpiry',
      "'approve' would pass by approvers: use 'reject' or 'escalate', or leave approvers out",
    ],
    [
      { onExpiry: 'approve', expiresIn: '1h', quorum: 2 },
      'onExpiry',
      "'approve' would pass by quorum: use 'reject' or 'escalate', or leave quorum out",
    ],
    [
      { onExpiry: 'approve', expiresIn: '1h', notRequester: true },
      'onExpiry',
      "'approve' would pass by notRequester: use 'reject' or 'escalate', or leave notRequester out",
    ],
    [{ escalateAfter: '1m' }, 'escalateAfter', 'needs escalateTo: name those who may decide then'],
    [
      { escalateTo: ['boss'], escalateAfter: '1h', expiresIn: '1h' },
      'escalateAfter',
      'must be shorter than expiresIn, or the request has expired by then',
    ],
    [
      { escalateTo: ['boss'], expiresIn: '1h' },
      'escalateTo',
      "nobody is ever asked: give escalateAfter too, or onExpiry: 'escalate'",
    ],
    [{ aprovers: ['mira'] }, 'aprovers', 'unknown option; did you mean "approvers"?'],
    [{ type: 'reject' }, 'type', 'unknown option'],
  ])('approval: %j', (approval, field, problem) => {
    const error = refusal(() => approved(approval));
    expect(error).toMatchObject({ code: 'HOLDFAST_DEFINITION', field: `approval.${field}`, problem });
    // The value may follow.
    expect(error.message.indexOf(`FunctionTool "pay": approval.${field}: ${problem}`)).toBe(0);
  });

  test('arguments that are all sensitive can’t be changed: a decision travels through the history [credential.secret]', () => {
    const gated = { requireConfirmation: true, approval: { allowEdit: true } };
    const error = refusal(() => pay({ ...gated, sensitive: true }));
    expect(error).toMatchObject({ code: 'HOLDFAST_DEFINITION', field: 'approval.allowEdit' });
    expect(error.problem).toContain('list under sensitive which arguments are');
    const parameters = z.object({ pin: z.string(), amount: z.number() });
    expect(() => pay({ ...gated, parameters, sensitive: ['amount', 'pin'] })).toThrow(
      'FunctionTool "pay": approval.allowEdit: all arguments are listed under sensitive',
    );
    expect(pay({ ...gated, parameters, sensitive: ['pin'] }).gate?.approval?.allowEdit).toBe(true);
    expect(pay({ ...gated, sensitive: ['result'] }).gate?.approval?.allowEdit).toBe(true);
  });

  const UNASKED =
    'the tool never asks before it runs: set requireConfirmation: true or a function of the arguments, or leave ';
  test.each<[object, string, string]>([
    [{ approval: {} }, 'approval', `${UNASKED}approval out`],
    [{ approval: {}, requireConfirmation: false }, 'approval', `${UNASKED}approval out`],
    [{ approval: {}, authConfig: BEARER }, 'approval', `${UNASKED}approval out`],
    [{ confirmationHint: () => 'Pay?' }, 'confirmationHint', `${UNASKED}confirmationHint out`],
    [{ requireConfirmation: true, approval: 'mira' }, 'approval', 'expected an object, got string'],
    [
      { requireConfirmation: 'yes' },
      'requireConfirmation',
      'expected true, false or a function of the arguments, got string',
    ],
    [
      { requireConfirmationProvider: true },
      'requireConfirmationProvider',
      'expected a function of the arguments, got boolean',
    ],
    [
      { requireConfirmation: true, confirmationHint: 7 },
      'confirmationHint',
      'expected a function of the arguments, got number',
    ],
    [
      { requireConfirmation: false, requiresApproval: true },
      'requiresApproval',
      'contradicts requireConfirmation, which is the same option: keep one of them',
    ],
    [
      { requireConfirmation: () => true, requiresApproval: true },
      'requiresApproval',
      'contradicts requireConfirmation, which is the same option: keep one of them',
    ],
    [{ authConfig: 'key' }, 'authConfig', 'expected an object, got string'],
    [
      { authConfig: { authScheme: { type: 'apiKey' } } },
      'authConfig.credentialKey',
      'required: the name under which the credential is kept',
    ],
    [
      { authConfig: { ...BEARER, credentialKey: '' } },
      'authConfig.credentialKey',
      'required: the name under which the credential is kept',
    ],
    [
      { authConfig: { ...BEARER, credentialKey: 5 } },
      'authConfig.credentialKey',
      'expected a string, got number',
    ],
    [
      { authConfig: { credentialKey: 'bank' } },
      'authConfig.authScheme',
      "expected a security scheme of OpenAPI, like { type: 'http', scheme: 'bearer' }, got undefined",
    ],
  ])('%j', (options, field, problem) => {
    const error = refusal(() => pay(options));
    expect(error).toMatchObject({ code: 'HOLDFAST_DEFINITION', field });
    expect(error.problem.startsWith(problem), error.problem).toBe(true);
  });
});
