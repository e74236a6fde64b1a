import { expect } from 'vitest';
import type { APPROVALS } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import type { ContractScene } from './contract-scene.ts';
import { pathOf, type RowsOf, timeout } from './operation-row.ts';

const NONE = 'rq-e-nobody.1.0.1';
const ATTESTED = 'approvals/decision-attestation.test.ts';

/** Reasons to refuse any answer to a request. */
const REFUSED = {
  HOLDFAST_REQUEST_NOT_FOUND: { given: () => ({ requestId: NONE }), exit: 1 },
  HOLDFAST_DECISION_REFUSED: {
    given: (_scene: ContractScene, { shown }: { shown?: { session: string } }) => ({
      shown: { ...shown, argsDigest: 'of others' },
    }),
  },
  HOLDFAST_REQUEST_NOT_PENDING: {
    given: async ({ env }: ContractScene, { requestId }: { requestId: string }) => {
      const row = await env.client.approvals.get({ requestId });
      await env.client.interrupt(row as ApprovalRow, { timeout });
      await expect
        .poll(async () => (await env.client.approvals.get({ requestId }))?.status)
        .toBe('cancelled');
      return {};
    },
    exit: 1,
  },
} as const;

const request = async ({ env }: ContractScene, requestId: string) =>
  await env.client.approvals.get({ requestId });

/** A session whose request was approved, and whose turn has ended. */
async function approved(scene: ContractScene) {
  const [{ requestId, app, userId, sessionId, session }] = await scene.asking('pay');
  const { client } = scene.env;
  await client.approvals.confirm({ requestId }, { confirmed: true, timeout });
  await expect.poll(() => client.status({ app, userId, sessionId }, { timeout })).toBeUndefined();
  return { names: { app, userId, sessionId }, session };
}

const AUDIT = { rows: expect.arrayContaining([expect.objectContaining({ kind: 'approved' })]) };
const HOLDS = { ok: true, problems: [], rows: expect.any(Number) };
const NO_SESSION = { HOLDFAST_SESSION_NOT_FOUND: { given: () => ({ sessionId: 'none' }), exit: 1 } } as const;
const NO_STORED = { HOLDFAST_SESSION_NOT_FOUND: { given: () => ({ session: 'none' }), exit: 1 } } as const;

/** Answers `{ requestId, signed, … }`. */
const printed = ({ signed: _signed, ...receipt }: { signed: boolean }) => receipt;

/** Decisions about the request of a tool. */
async function asked(scene: ContractScene, message: string) {
  const [{ requestId, session, argsDigest }] = await scene.asking(message);
  return { requestId, shown: { session, argsDigest }, timeout };
}

export const APPROVAL_ROWS: RowsOf<typeof APPROVALS> = {
  listApprovals: {
    given: async (scene) => {
      const [first, second] = await scene.asking('pay pay pay adk_request_input');
      const { app, userId, sessionId, rootWorkflowId } = first;
      await scene.asking('pay', { ...scene.names(), app: 'other' });
      const { requestId } = first;
      await scene.env.client.approvals.confirm({ requestId }, { confirmed: false, timeout });
      await expect.poll(async () => (await request(scene, requestId))?.status).toBe('rejected');
      const after = { since: second?.since ?? 0, requestId: second?.requestId ?? '' };
      const whose = { app, userId, sessionId, rootWorkflowId };
      return { ...whose, kind: 'confirmation', status: ['rejected'], limit: 1, order: 'newest', after };
    },
    ask: async ({ approvals }, list) => ({ approvals: await approvals.list(list) }),
    answer: { approvals: [{ status: 'rejected', tool: 'pay', kind: 'confirmation', args: { amount: 5 } }] },
    errors: {
      HOLDFAST_INVALID_TURN: { given: () => ({ status: ['open'] }) },
    },
  },
  getApproval: {
    given: async (scene) => ({ requestId: (await scene.asking('pay'))[0].requestId }),
    ask: ({ approvals }, which) => approvals.get(which),
    answer: { app: 'test', kind: 'confirmation', status: 'pending', tool: 'pay', agent: 'desk', votes: [] },
    command: ({ requestId }) => ['approvals', 'show', requestId],
    errors: {
      HOLDFAST_REQUEST_NOT_FOUND: { given: () => ({ requestId: NONE }), exit: 1 },
      HOLDFAST_INVALID_TURN: { given: () => ({ requestId: 'call-1' }), exit: 1 },
    },
  },
  getSessionApproval: {
    given: async (scene) => {
      const [first, second] = await scene.asking('pay adk_request_input');
      const { app, userId, sessionId } = first;
      return { app, userId, sessionId, callKey: second?.callKey ?? '' };
    },
    without: { requestId: 'client/approvals.test.ts', callId: 'client/approvals.test.ts' },
    ask: ({ approvals }, which) => approvals.get(which),
    answer: { kind: 'input', status: 'pending', callKey: expect.stringMatching(/\.1\.1$/) },
    errors: {
      HOLDFAST_REQUEST_NOT_FOUND: { given: () => ({ callKey: 'e-none.1.0' }) },
      HOLDFAST_AMBIGUOUS_REQUEST: { given: () => ({ callKey: undefined }) },
      HOLDFAST_INVALID_TURN: { given: () => ({ callId: 'adk-1' }) },
    },
  },
  confirmRequest: {
    given: async (scene) => ({
      ...(await asked(scene, 'pay')),
      ...{
        confirmed: true,
        withdraw: false,
        args: { amount: 50 },
        payload: { by: 'phone' },
        reason: 'as agreed',
      },
    }),
    without: { attestation: ATTESTED },
    ask: ({ approvals }, { requestId, ...options }) => approvals.confirm({ requestId }, options),
    answer: { confirmed: true, v: 1, status: 'approved' },
    done: async (scene, { requestId, ...options }) => {
      const decided = { args: { amount: 5 }, editedArgs: { amount: 50 }, answerPayload: { by: 'phone' } };
      await expect
        .poll(() => request(scene, requestId))
        .toMatchObject({ ...decided, status: 'approved', reason: 'as agreed' });
      await expect.poll(() => scene.paid.at(-1)).toBe(50);
      const { approvals } = scene.env.client;
      const again = { ...options, timeout };
      expect(await approvals.confirm({ requestId }, again)).toMatchObject({ status: 'duplicate' });
      scene.paid.push(0);
    },
    command: ({ requestId, args, payload, reason = '' }) => [
      ...['approvals', 'approve', requestId, '--args', JSON.stringify(args)],
      ...['--payload', JSON.stringify(payload), '--reason', reason],
    ],
    printed,
    errors: {
      HOLDFAST_INVALID_TURN: { given: () => ({ reason: 'x'.repeat(2_001) }), exit: 2 },
      ...REFUSED,
    },
  },
  provideInput: {
    given: async (scene) => ({ ...(await asked(scene, 'adk_request_input')), response: { size: 'L' } }),
    without: { attestation: ATTESTED },
    ask: ({ approvals }, { requestId, ...options }) => approvals.provideInput({ requestId }, options),
    answer: { confirmed: true, v: 1, status: 'answered' },
    done: async (scene, { requestId }) => {
      await expect.poll(() => request(scene, requestId)).toMatchObject({ response: { size: 'L' } });
    },
    command: ({ requestId, response }) => [
      'approvals',
      'answer',
      requestId,
      '--response',
      JSON.stringify(response),
    ],
    printed,
    errors: {
      HOLDFAST_INVALID_TURN: { given: () => ({ response: 'x'.repeat(40_000) }) },
      ...REFUSED,
    },
  },
  provideCredential: {
    given: async (scene) => {
      const [{ requestId, session, argsDigest, app, userId }] = await scene.asking('charge');
      const credential = {
        authType: 'http',
        http: { scheme: 'bearer', credentials: { token: 'x' } },
      } as const;
      const put = { app, userId, credentialKey: 'cards', credential };
      const { credentialRef } = await scene.env.client.credentials.put(put);
      return { requestId, shown: { session, argsDigest }, timeout, credentialRef };
    },
    ask: ({ approvals }, { requestId, ...options }) => approvals.provideCredential({ requestId }, options),
    answer: { confirmed: true, v: 1, status: 'answered' },
    done: async (scene, { requestId, credentialRef }) => {
      await expect.poll(() => request(scene, requestId)).toMatchObject({ credentialRef });
    },
    command: ({ requestId, credentialRef }) => [
      ...['approvals', 'provide-credential', requestId, '--credential', credentialRef],
    ],
    printed,
    errors: {
      HOLDFAST_INVALID_TURN: { given: () => ({ credentialRef: 'sk-live-secret' }), exit: 2 },
      ...REFUSED,
    },
  },
  getAudit: {
    given: async (scene) => (await approved(scene)).names,
    ask: async ({ approvals }, which) => ({ rows: await approvals.audit(which) }),
    answer: AUDIT,
    command: (names) => ['approvals', 'audit', 'show', pathOf(names)],
    errors: NO_SESSION,
  },
  getAuditById: {
    given: async (scene) => ({ session: await deleted(scene) }),
    ask: async ({ approvals }, which) => ({ rows: await approvals.audit(which) }),
    answer: AUDIT,
    command: ({ session }) => ['approvals', 'audit', 'show', '--store-id', session],
    errors: NO_STORED,
  },
  verifyAudit: {
    given: async (scene) => (await approved(scene)).names,
    ask: ({ approvals }, which) => approvals.verifyAudit(which),
    answer: HOLDS,
    command: (names) => ['approvals', 'audit', 'verify', pathOf(names)],
    errors: NO_SESSION,
  },
  verifyAuditById: {
    given: async (scene) => ({ session: await deleted(scene) }),
    ask: ({ approvals }, which) => approvals.verifyAudit(which),
    answer: HOLDS,
    command: ({ session }) => ['approvals', 'audit', 'verify', '--store-id', session],
    errors: NO_STORED,
  },
};

/** The store's id of a session that is gone. */
async function deleted(scene: ContractScene): Promise<string> {
  const { names, session } = await approved(scene);
  await scene.env.client.sessions.delete(names);
  return session;
}
