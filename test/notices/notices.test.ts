import { randomBytes, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { verifyApprovalLink } from '../../src/approvals/approval-link.ts';
import { NoticeFailed } from '../../src/approvals/notice-failed.ts';
import type { EndedRequest, NoticeContext, NotifiedRequest, Notifier } from '../../src/approvals/notifier.ts';
import type { Confirm } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import type { DeliverNotice } from '../../src/protocol/gate.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import { text } from '../../src/testing/gemini-reply.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
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

const warnings: string[] = [];

let environment: TurnEnvironment;
beforeAll(async () => {
  environment = await openTurnEnvironment({
    apps,
    // A message says how often it is to pay.
    script: (request, info) => {
      const [, times = '1'] = /pay (\d+) times/.exec(JSON.stringify(request.contents)) ?? [];
      const script = stepCalls([Array.from({ length: Number(times) }, () => ({ name: 'pay' }))]);
      return typeof script === 'function' ? script(request, info) : text('done');
    },
    logger: { warn: (...line: unknown[]) => void warnings.push(JSON.stringify(line)) },
    workerOptions: { credentialKeys, publicUrl: 'https://agents.example.com' },
  });
});
afterAll(() => environment?.close());

async function asking(pager: Pager, { app = 'paged', message = 'go' } = {}) {
  const sessionId = randomUUID();
  pagers.set(sessionId, pager);
  const { workflowId } = await environment.client.sendMessage({
    ...{ app, userId: 'ada', sessionId },
    message,
  });
  const handle = environment.temporal.workflow.getHandle(workflowId);
  const request = await expect
    .poll(async () => (await handle.query<TurnStatus>('status')).waiting[0])
    .toBeDefined()
    .then(async () => (await handle.query<TurnStatus>('status')).waiting[0]);
  const confirm = (given: Partial<Confirm> = {}) =>
    handle.executeUpdate('confirm', { args: [{ requestId: request?.requestId, confirmed: true, ...given }] });
  return { handle, requestId: request?.requestId ?? '', confirm, sessionId };
}

/** A workflow as somebody starts it who may start workflows; the request's own names where nothing else is given. */
async function startByHand(requestId: string, given: Partial<DeliverNotice>) {
  const { session, app, userId, sessionId, workflowId } = (await environment.store.approvals.find(
    requestId,
  )) as ApprovalRow;
  const names = { session, app, userId, sessionId, workflowId, requestIds: [requestId] };
  return await environment.temporal.workflow.start('deliverNotice', {
    workflowId: `forged-${randomUUID()}`,
    taskQueue: 'holdfast',
    args: [{ v: 1, ...names, why: 'opened', notifier: 'pager', since: Date.now(), retryFor: 1, ...given }],
  });
}

async function triedAgain(notice: Awaited<ReturnType<typeof startByHand>>) {
  await expect
    .poll(async () => (await notice.describe()).raw.pendingActivities?.[0]?.attempt)
    .toBeGreaterThan(2);
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
  await expect.poll(() => environment.store.notices.findNote('pager', place)).toBeDefined();
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
  expect(await environment.store.notices.findNote('pager', place)).toMatchObject({
    requestId: turn.requestId,
    value: { ts: '1.2' },
  });
  expect(await environment.store.notices.findNote('other', place)).toBeUndefined();
});

test('make links by which one person decides [notice.ended]', async () => {
  const links: (string | undefined)[] = [];
  const turn = await asking({
    notify: async (request, { linkFor }) => void links.push(linkFor(request, 'mira')),
  });
  await expect.poll(() => links).toHaveLength(1);
  const [link = ''] = links;
  expect(link).toMatch(/^https:\/\/agents\.example\.com\/a\//);
  const token = link.slice(link.lastIndexOf('/') + 1);
  expect(await verifyApprovalLink(parseCredentialKeys(credentialKeys), token, Date.now())).toMatchObject({
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
  await expect.poll(() => tries).toBeGreaterThan(1);
  await turn.confirm();
  expect(await turn.handle.result()).toMatchObject({ status: 'completed' });
  expect(told).toEqual([]);
  down = false;
  // Of the request itself nobody need be told any more.
  await expect.poll(() => told).toEqual([`approved ${turn.requestId}`]);
});

if (isDeep) {
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
    await expect.poll(() => begun).toBeGreaterThan(1);
    until.resolve();
    await expect.poll(() => told).toBeGreaterThan(0);
  });
}

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
  await expect.poll(() => order).toContain('ended');
  expect(order).toEqual(['opening', 'opened', 'ended']);
});

test('hear of requests whose turn was cancelled [notice.ended]', async () => {
  const told: string[] = [];
  const turn = await asking({ ended: async ({ status }) => void told.push(status) });
  await turn.handle.cancel();
  await turn.handle.result().catch(() => undefined);
  await expect.poll(() => told).toEqual(['cancelled']);
});

if (isDeep) {
  test('believe no end that the store has not recorded, whoever starts a workflow that says so [notice.ended]', async () => {
    const told: string[] = [];
    const turn = await asking({ ended: async ({ status }) => void told.push(status) });
    const forged = await startByHand(turn.requestId, {
      why: 'ended',
      retryFor: 0,
      ...{
        endings: [
          { requestId: turn.requestId, status: 'approved', by: { principal: 'mira', verified: true } },
        ],
      },
    });
    // Nobody has asked the notifier: it has not failed, and nothing is given up.
    await triedAgain(forged);
    expect(told).toEqual([]);
    await turn.confirm();
    await turn.handle.result();
    expect(await forged.result()).toMatchObject({ status: 'told' });
    await expect.poll(() => told).toEqual(['approved', 'approved']);
    const dead = await environment.store.notices.listDeadNotices();
    expect(dead.filter(({ requestId }) => requestId === turn.requestId)).toEqual([]);
  });
}

test('are told by a workflow of nothing that another app, user or session asks [notice.forged]', async () => {
  const told: string[] = [];
  const turn = await asking({
    notify: async ({ requestId }) => void told.push(requestId),
    ended: async ({ requestId }) => void told.push(requestId),
  });
  await expect.poll(() => told).toHaveLength(1);
  const others = [{ app: 'impatient' }, { userId: 'eve' }, { sessionId: randomUUID() }];
  for (const names of others) {
    for (const notifier of ['pager', undefined]) {
      for (const why of ['opened', 'ended'] as const) {
        const forged = await startByHand(turn.requestId, {
          ...names,
          why,
          ...(notifier === undefined ? { notifier } : {}),
        });
        expect([names, notifier, (await forged.result()).status]).toEqual([
          names,
          notifier,
          notifier === undefined ? 'told' : 'unwanted',
        ]);
      }
    }
  }
  expect(told).toHaveLength(1);
  // Its own names are another matter.
  const own = await startByHand(turn.requestId, {});
  expect(await own.result()).toMatchObject({ status: 'told' });
  expect(told).toHaveLength(2);
  await turn.confirm();
  await turn.handle.result();
});

if (isDeep) {
  test('hear of no escalation that the audit does not have [notice.forged]', async () => {
    const told: string[] = [];
    const turn = await asking({ notify: async ({ requestId }) => void told.push(requestId) });
    await expect.poll(() => told).toHaveLength(1);
    const forged = await startByHand(turn.requestId, { why: 'escalated' });
    await triedAgain(forged);
    expect(told).toHaveLength(1);
    await turn.confirm();
    await turn.handle.result();
    expect(await forged.result()).toMatchObject({ status: 'unwanted' });
    expect(told).toHaveLength(1);
  });
}

test('are asked by no workflow for more than Holdfast asks them for [notice.forged]', async () => {
  const turn = await asking({});
  const several = await startByHand(turn.requestId, { requestIds: [turn.requestId, turn.requestId] });
  await expect(several.result()).rejects.toMatchObject({
    cause: { cause: { type: 'HOLDFAST_NOT_A_NOTICE' } },
  });
  const many = await startByHand(turn.requestId, {
    requestIds: Array.from({ length: 1_001 }, (_, at) => `rq-${at}`),
  });
  await expect(many.result()).rejects.toMatchObject({
    cause: { type: 'InvalidStart', message: expect.stringContaining('deliverNotice: requestIds: ') },
  });
  const malformed = {
    app: 5,
    why: 'paid',
    requestIds: { toString: 1 },
    retryFor: -1,
    since: 'now',
  };
  for (const [field, value] of Object.entries(malformed)) {
    const forged = await startByHand(turn.requestId, { [field]: value });
    await expect(forged.result()).rejects.toMatchObject({
      cause: { type: 'InvalidStart', message: expect.stringContaining(`deliverNotice: ${field}: `) },
    });
  }
  await turn.confirm();
  await turn.handle.result();
});

test('that are in vain for one of several requests are told of the others [notice.dead]', async () => {
  const told = new Set<string>();
  let vain: string | undefined;
  const turn = await asking(
    {
      async notify({ requestId }) {
        vain ??= requestId;
        if (requestId === vain) throw new NoticeFailed('nobody is there for this one', { final: true });
        told.add(requestId);
      },
    },
    { message: 'pay 3 times' },
  );
  const { waiting } = await turn.handle.query<TurnStatus>('status');
  expect(waiting).toHaveLength(3);
  await expect.poll(() => told.size).toBe(2);
  expect(await deadOf(vain ?? '')).toMatchObject({ error: 'nobody is there for this one' });
  const dead = (await environment.store.notices.listDeadNotices()).map(({ requestId }) => requestId);
  for (const { requestId } of waiting) expect(dead.includes(requestId)).toBe(requestId === vain);
  await turn.handle.cancel();
  await turn.handle.result().catch(() => undefined);
});

test('are told although the activity of their turn is given up [notice.outlives]', async () => {
  let begun = 0;
  const told: string[] = [];
  const turn = await asking({
    async notify({ requestId }) {
      begun += 1;
      if (begun === 1) await new Promise(() => undefined);
      told.push(requestId);
    },
  });
  await expect.poll(() => begun).toBe(1);
  const { workflowId } = turn.handle;
  const { pendingActivities } = (await turn.handle.describe()).raw;
  const isNotify = ({ activityType }: { activityType?: { name?: string | null } | null }) =>
    activityType?.name === 'holdfast.notify';
  // As Temporal does once its time is over, which takes a day.
  await environment.temporal.workflowService.respondActivityTaskFailedById({
    ...{
      namespace: environment.place.namespace,
      workflowId,
      activityId: pendingActivities?.find(isNotify)?.activityId ?? '',
    },
    failure: { message: 'its time is over', applicationFailureInfo: { type: 'Late', nonRetryable: true } },
  });
  await expect.poll(() => told).toEqual([turn.requestId]);
  await turn.confirm();
  await turn.handle.result();
});

if (isDeep) {
  test('lose none of their time to a store that is away [notice.outlives]', async () => {
    const told: string[] = [];
    await sql`alter table holdfast.notice_notes rename to elsewhere`.execute(environment.store.db);
    let turn: Awaited<ReturnType<typeof asking>>;
    try {
      turn = await asking(
        { notify: async ({ requestId }) => void told.push(requestId) },
        { app: 'impatient' },
      );
      const notice = await noticeOf(turn.handle.workflowId);
      // That is 7 seconds later: its notifier wants to be tried for 3.
      await expect
        .poll(async () => (await notice.describe()).raw.pendingActivities?.[0]?.attempt)
        .toBeGreaterThan(3);
      expect(told).toEqual([]);
    } finally {
      await sql`alter table holdfast.elsewhere rename to notice_notes`.execute(environment.store.db);
    }
    await expect.poll(() => told).toEqual([turn.requestId]);
    await turn.confirm();
    await turn.handle.result();
  });
}

if (isDeep) {
  test('whose notifier takes its worker with it each time are kept as dead after their time [notice.dead]', async () => {
    let begun = 0;
    const turn = await asking(
      {
        async notify() {
          begun += 1;
          if (begun === 1) throw new Error('down');
          await new Promise(() => undefined);
        },
      },
      { app: 'impatient' },
    );
    const notice = await noticeOf(turn.handle.workflowId);
    const find = async () =>
      (await environment.store.notices.listDeadNotices()).find(
        ({ requestId }) => requestId === turn.requestId,
      );
    // Each attempt that hangs is taken from its worker, as Temporal does with one whose worker is gone.
    const dead = async () => {
      const [pending] = (await notice.describe()).raw.pendingActivities ?? [];
      if (pending?.attempt === begun - 1) {
        await environment.temporal.workflowService
          .respondActivityTaskFailedById({
            ...{
              namespace: environment.place.namespace,
              workflowId: notice.workflowId,
              activityId: pending.activityId ?? '',
            },
            failure: { message: 'the worker is gone', applicationFailureInfo: { type: 'Gone' } },
          })
          // Between two attempts there is none to take away.
          .catch(() => undefined);
      }
      return await find();
    };
    await expect.poll(dead, { interval: 300 }).toBeDefined();
    expect(await find()).toMatchObject({ error: 'the last attempt was lost with its worker' });
    await turn.confirm();
    await turn.handle.result();
  });
}

test('say why they fail, without the secrets of addresses, in the log [notice.dead]', async () => {
  const why = `the pager is away: ${randomUUID()}`;
  let tries = 0;
  const turn = await asking({
    async notify() {
      tries += 1;
      if (tries <= 2) throw new NoticeFailed(`${why} https://hooks.example.com/T1/S3CRET`);
    },
  });
  await expect.poll(() => tries).toBeGreaterThan(2);
  const lines = warnings.filter(
    (line) => line.startsWith('["the notifier pager failed') && line.includes(why),
  );
  expect(lines).toHaveLength(2);
  expect(lines.join()).not.toContain('S3CRET');
  await turn.confirm();
  await turn.handle.result();
});

/** The workflow that goes on with a turn's notice. */
async function noticeOf(workflowId: string) {
  const { workflow } = environment.temporal;
  const find = async () => {
    for await (const { workflowId: id } of workflow.list({ query: "WorkflowType = 'deliverNotice'" })) {
      if (id.startsWith(`${workflowId}/`)) return id;
    }
    return '';
  };
  await expect.poll(find).not.toBe('');
  return workflow.getHandle(await find());
}

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

if (isDeep) {
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
  });
}

if (isDeep) {
  test('are asked once more at the end of their time, and not later, however long they want to wait [notice.dead]', async () => {
    const asked: number[] = [];
    const turn = await asking(
      {
        async notify() {
          asked.push(Date.now());
          throw new NoticeFailed('come again next month', { retryAfter: 30 * 86_400_000 });
        },
      },
      { app: 'impatient' },
    );
    expect(await deadOf(turn.requestId)).toMatchObject({ error: 'come again next month', attempts: 2 });
    const [first = 0, last = 0, ...more] = asked;
    expect(more).toEqual([]);
    expect(last - first).toBeGreaterThanOrEqual(2_900);
    await turn.confirm();
    await turn.handle.result();
  });
}

async function deadOf(requestId: string) {
  const find = async () =>
    (await environment.store.notices.listDeadNotices()).find((notice) => notice.requestId === requestId);
  await expect.poll(find).toBeDefined();
  return await find();
}
