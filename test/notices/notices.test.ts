import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { App } from '../../src/agents/app.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { verifyApprovalLink } from '../../src/approvals/approval-link.ts';
import { NoticeFailed } from '../../src/approvals/notice-failed.ts';
import type { EndedRequest, NoticeContext, NotifiedRequest, Notifier } from '../../src/approvals/notifier.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import type { Confirm } from '../../src/protocol/gate.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { tool } from '../../src/tools/tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const credentialKeys = `k1:${randomBytes(32).toString('base64')}`;

/** What is done with the notices of one session. */
interface Pager {
  notify?(request: NotifiedRequest, context: NoticeContext): Promise<void>;
  ended?(request: EndedRequest, context: NoticeContext): Promise<void>;
}

const pagers = new Map<string, Pager>();

function pagerOf(name: string, more: Partial<Notifier> = {}): Notifier {
  return {
    name,
    async notify(requests, _why, context) {
      for (const request of requests) await pagers.get(request.sessionId)?.notify?.(request, context);
    },
    async ended(requests, context) {
      for (const request of requests) await pagers.get(request.sessionId)?.ended?.(request, context);
    },
    ...more,
  };
}

const paid = () => ({ paid: true });
const pay = tool({ name: 'pay', description: 'pays', execute: paid, requireConfirmation: true });
const agent = (name: string) => new LlmAgent({ name, model: 'gemini-2.5-flash', tools: [pay] });
const apps = [
  new App({ name: 'paged', rootAgent: agent('cashier'), durable: { notifiers: [pagerOf('pager')] } }),
  new App({
    name: 'impatient',
    rootAgent: agent('clerk'),
    durable: { notifiers: [pagerOf('pager', { retryFor: 3_000 })] },
  }),
];

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({
    apps,
    script: stepCalls([[{ name: 'pay' }]]),
    workerOptions: { credentialKeys, publicUrl: 'https://agents.example.com' },
  });
});
afterAll(() => environment?.close());

async function asking(pager: Pager, { app = 'paged' } = {}) {
  const sessionId = randomUUID();
  pagers.set(sessionId, pager);
  const { workflowId } = await environment.client.sendMessage({
    ...{ app, userId: 'ada', sessionId },
    message: 'go',
  });
  const handle = environment.temporal.workflow.getHandle(workflowId);
  const request = await expect
    .poll(async () => (await handle.query<TurnStatus>('status')).waiting[0], { timeout: 30_000 })
    .toBeDefined()
    .then(async () => (await handle.query<TurnStatus>('status')).waiting[0]);
  const confirm = (given: Partial<Confirm> = {}) =>
    handle.executeUpdate('confirm', { args: [{ requestId: request?.requestId, confirmed: true, ...given }] });
  return { handle, requestId: request?.requestId ?? '', confirm, sessionId };
}

test('are told of the end of what they were told of, and find what they have kept [notice.ended]', async () => {
  const told: unknown[] = [];
  const turn = await asking({
    async notify({ requestId }, { keep, kept }) {
      expect(await kept(requestId)).toBeUndefined();
      await keep(requestId, { ts: '1.2' }, `C1:${requestId}`);
    },
    async ended({ requestId, status, reason, by, decidedAt, tool }, { kept }) {
      told.push({ requestId, status, reason, by, decidedAt, tool, kept: await kept(requestId) });
    },
  });
  const place = `C1:${turn.requestId}`;
  await expect.poll(() => environment.store.findNote('pager', place), { timeout: 30_000 }).toBeDefined();
  await turn.confirm({ confirmed: false, reason: 'not today' });
  await turn.handle.result();
  expect(told).toEqual([
    {
      ...{ requestId: turn.requestId, status: 'rejected', reason: 'not today', tool: 'pay' },
      by: [{ principal: 'unverified', verified: false }],
      decidedAt: expect.any(Number),
      kept: { ts: '1.2' },
    },
  ]);
  expect(await environment.store.findNote('pager', place)).toMatchObject({
    requestId: turn.requestId,
    value: { ts: '1.2' },
  });
  expect(await environment.store.findNote('other', place)).toBeUndefined();
});

test('make links by which one person decides [notice.ended]', async () => {
  const links: (string | undefined)[] = [];
  const turn = await asking({
    notify: async (request, { linkFor }) => void links.push(linkFor(request, 'mira')),
  });
  await expect.poll(() => links, { timeout: 30_000 }).toHaveLength(1);
  const [link = ''] = links;
  expect(link).toMatch(/^https:\/\/agents\.example\.com\/a\//);
  const token = link.slice(link.lastIndexOf('/') + 1);
  expect(await verifyApprovalLink(parseCredentialKeys(credentialKeys), token)).toMatchObject({
    requestId: turn.requestId,
    approver: 'mira',
  });
  await turn.confirm();
  await turn.handle.result();
});

test('that are down are told once they are up, and their turn goes on meanwhile [notice.outlives]', async () => {
  let down = true;
  const told: string[] = [];
  let tries = 0;
  const down_ = () => {
    tries += 1;
    if (down) throw new NoticeFailed('the pager is down');
  };
  const turn = await asking({
    notify: async ({ requestId }) => {
      down_();
      told.push(`opened ${requestId}`);
    },
    ended: async ({ requestId, status }) => {
      down_();
      told.push(`${status} ${requestId}`);
    },
  });
  await expect.poll(() => tries, { timeout: 30_000 }).toBeGreaterThan(1);
  await turn.confirm();
  expect(await turn.handle.result()).toMatchObject({ status: 'completed' });
  expect(told).toEqual([]);
  down = false;
  // Of the request itself nobody need be told any more.
  await expect.poll(() => told, { timeout: 60_000 }).toEqual([`approved ${turn.requestId}`]);
});

test('that hang hold a turn that is over for ten seconds at most, and are told all the same [notice.outlives]', async () => {
  const until = Promise.withResolvers<void>();
  let begun = 0;
  let told = 0;
  const turn = await asking({
    async ended() {
      begun += 1;
      await until.promise;
      told += 1;
    },
  });
  await turn.confirm();
  expect(await turn.handle.result()).toMatchObject({ status: 'completed' });
  expect(told).toBe(0);
  await expect.poll(() => begun, { timeout: 60_000 }).toBeGreaterThan(1);
  until.resolve();
  await expect.poll(() => told, { timeout: 60_000 }).toBeGreaterThan(0);
}, 120_000);

test('are never told of an end while they are being told that it waits [notice.ended]', async () => {
  const order: string[] = [];
  const begun = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const turn = await asking({
    async notify() {
      order.push('opening');
      begun.resolve();
      await goOn.promise;
      order.push('opened');
    },
    ended: async () => void order.push('ended'),
  });
  await begun.promise;
  await turn.confirm();
  await turn.handle.result();
  goOn.resolve();
  await expect.poll(() => order, { timeout: 60_000 }).toContain('ended');
  expect(order).toEqual(['opening', 'opened', 'ended']);
}, 120_000);

test('hear of requests whose turn was cancelled [notice.ended]', async () => {
  const told: string[] = [];
  const turn = await asking({ ended: async ({ status }) => void told.push(status) });
  await turn.handle.cancel();
  await turn.handle.result().catch(() => undefined);
  await expect.poll(() => told, { timeout: 30_000 }).toEqual(['cancelled']);
});

test('believe no end that the store has not recorded, whoever starts a workflow that says so [notice.ended]', async () => {
  const told: string[] = [];
  const turn = await asking({ ended: async ({ status }) => void told.push(status) });
  const session = (await environment.store.findApproval(turn.requestId))?.session ?? '';
  const forged = await environment.temporal.workflow.start('deliverNotice', {
    workflowId: `forged-${randomUUID()}`,
    taskQueue: 'holdfast',
    args: [
      {
        ...{ v: 1, session, app: 'paged', userId: 'ada', sessionId: turn.sessionId, workflowId: 'w' },
        ...{ why: 'ended', requestIds: [turn.requestId], notifier: 'pager', since: Date.now(), retryFor: 1 },
        endings: [
          { requestId: turn.requestId, status: 'approved', by: { principal: 'mira', verified: true } },
        ],
      },
    ],
  });
  expect(await forged.result()).toMatchObject({ status: 'dead' });
  expect(told).toEqual([]);
  await turn.confirm();
  await turn.handle.result();
  await expect.poll(() => told, { timeout: 60_000 }).toEqual(['approved']);
});

test('say in vain is in vain: such a notice is kept as dead at once [notice.dead]', async () => {
  let tries = 0;
  const turn = await asking({
    async notify() {
      tries += 1;
      throw new NoticeFailed('nobody is there any more', { final: true });
    },
  });
  const dead = await deadOf(turn.requestId);
  expect(dead).toMatchObject({
    notifier: 'pager',
    why: 'opened',
    error: 'nobody is there any more',
    attempts: 1,
  });
  expect(tries).toBe(1);
  await turn.confirm();
  await turn.handle.result();
});

test('that fail for longer than they want are kept as dead, without the secrets of addresses [notice.dead]', async () => {
  const turn = await asking(
    {
      async notify() {
        throw new Error('no answer of https://ada:S3CRET@hooks.example.com/T1/S3CRET?key=S3CRET');
      },
    },
    { app: 'impatient' },
  );
  const dead = await deadOf(turn.requestId);
  expect(dead).toMatchObject({ app: 'impatient', error: 'no answer of https://hooks.example.com' });
  expect(dead?.attempts).toBeGreaterThan(1);
  await turn.confirm();
  await turn.handle.result();
}, 120_000);

async function deadOf(requestId: string) {
  const find = async () =>
    (await environment.store.listDeadNotices()).find((notice) => notice.requestId === requestId);
  await expect.poll(find, { timeout: 60_000 }).toBeDefined();
  return await find();
}
