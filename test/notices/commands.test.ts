import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { NoticeFailed } from '../../src/approvals/notice-failed.ts';
import type { Notifier } from '../../src/approvals/notifier.ts';
import { dropNotice, listNotices, resendNotice } from '../../src/cli/notices/notice-commands.ts';
import type { DeadNotice } from '../../src/store/notices/notice-store.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { FolderOwnership } from '../../worker/index.ts';
import { openLocalGateway } from '../../worker/local-gateway.ts';
import { capturedOutput } from '../cli/captured-output.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const told: string[] = [];
let gone = true;
const pager: Notifier = {
  name: 'pager',
  async notify(requests) {
    if (gone) throw new NoticeFailed('nobody is there any more', { final: true });
    for (const { requestId } of requests) told.push(requestId);
  },
};

let environment: TurnEnvironment;
let closeGateway: () => Promise<void>;

beforeAll(async () => {
  const pay = tool({ name: 'pay', description: 'pays', execute: () => 1, requireConfirmation: true });
  const rootAgent = new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools: [pay] });
  environment = await openTurnEnvironment({
    apps: [new App({ name: 'paged', rootAgent, durable: { notifiers: [pager] } })],
    script: stepCalls([[{ name: 'pay' }]]),
    embedded: true,
  });
  // As `holdfast dev` does, which has the folder while somebody else looks at it.
  const ownership = { folder: environment.folder, release: () => undefined } as unknown as FolderOwnership;
  const { close } = await openLocalGateway({
    ownership,
    client: environment.client,
    about: () => ({
      v: 1,
      version: '0',
      namespace: '',
      taskQueue: '',
      store: 'embedded',
      apps: [],
      agents: [],
    }),
    ready: async () => ({}),
    records: environment.store,
  });
  closeGateway = close;
});
afterAll(async () => {
  await closeGateway?.();
  await environment?.close();
});

function place() {
  const { address, namespace } = environment.place;
  const env = { ...process.env, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace };
  return { folder: environment.folder, env };
}

async function dead(): Promise<string> {
  const names = { app: 'paged', userId: 'ada', sessionId: randomUUID() };
  await environment.client.sendMessage({ ...names, message: 'go' });
  const find = async () =>
    (await environment.store.notices.listDeadNotices()).map(({ noticeId }) => noticeId);
  const mine = async () => (await find()).find((id) => id.includes(names.sessionId)) ?? '';
  await expect.poll(mine).not.toBe('');
  return await mine();
}

test('notices that were given up are listed, told again, and dropped [notice.dead]', async () => {
  const [first, second] = [await dead(), await dead()];
  const listed = capturedOutput();
  await listNotices({ ...place(), limit: 10, json: true }, listed);
  const [{ notices }] = listed.values() as [
    { notices: { noticeId: string; notice: string; requestId: string }[] },
  ];
  expect(notices.map(({ noticeId }) => noticeId)).toEqual([first, second]);
  expect(notices[0]).toMatchObject({
    notifier: 'pager',
    why: 'opened',
    attempts: 1,
    error: 'nobody is there any more',
  });
  const lines = capturedOutput();
  await listNotices({ ...place(), limit: 10 }, lines);
  expect(lines.lines.join('\n')).toContain(notices[0]?.notice);

  const output = capturedOutput();
  await resendNotice(notices[0]?.notice ?? '', place(), output);
  // Nobody is there yet: it is given up once more.
  await expect.poll(() => environment.store.notices.findDeadNotice(first)).toBeDefined();
  await environment.temporal.workflow.getHandle(first).result();
  gone = false;
  await resendNotice(first, place(), output);
  await expect.poll(() => told).toEqual([notices[0]?.requestId]);
  expect(await environment.store.notices.findDeadNotice(first)).toBeUndefined();

  await dropNotice(second, place(), output);
  expect(await environment.store.notices.listDeadNotices()).toEqual([]);
  await expect(dropNotice(second, place(), output)).rejects.toMatchObject({ code: 'HOLDFAST_COMMAND_LINE' });
  const empty = capturedOutput();
  await listNotices({ ...place(), limit: 10 }, empty);
  expect(empty.notes.join('\n')).toContain('no notice was given up');
});

test('many notices are read page by page, named by the end of their ids, and told again at once [notice.dead]', async () => {
  gone = true;
  const all = [await dead(), await dead(), await dead()];
  const pages: string[] = [];
  let after: string | undefined;
  do {
    const output = capturedOutput();
    await listNotices(
      { ...place(), limit: 2, json: true, ...(after === undefined ? {} : { after }) },
      output,
    );
    const [page] = output.values() as [{ notices: { noticeId: string }[]; next?: string }];
    expect(page.notices.length).toBeLessThanOrEqual(2);
    pages.push(...page.notices.map(({ noticeId }) => noticeId));
    after = page.next;
  } while (after !== undefined);
  expect(pages).toEqual(all);
  const lines = capturedOutput();
  await listNotices({ ...place(), limit: 2 }, lines);
  expect(lines.notes.join('\n')).toMatch(/--after \d+:[\w-]+$/m);

  const output = capturedOutput();
  const end = (noticeId = '', size = 12) => noticeId.slice(-size);
  await dropNotice(end(all[0]), place(), output);
  expect(await environment.store.notices.findDeadNotice(all[0] ?? '')).toBeUndefined();
  await environment.store.notices.addDeadNotice({
    ...((await environment.store.notices.findDeadNotice(all[1] ?? '')) as DeadNotice),
    noticeId: `another-${end(all[1])}`,
  });
  await expect(dropNotice(end(all[1]), place(), output)).rejects.toThrow('several notices');
  await expect(dropNotice('x', place(), output)).rejects.toMatchObject({ code: 'HOLDFAST_COMMAND_LINE' });
  await dropNotice(`another-${end(all[1])}`, place(), output);

  await expect(resendNotice(undefined, place(), output)).rejects.toMatchObject({
    code: 'HOLDFAST_COMMAND_LINE',
  });
  await expect(resendNotice(all[1], { ...place(), all: true }, output)).rejects.toMatchObject({
    code: 'HOLDFAST_COMMAND_LINE',
  });
  gone = false;
  const before = told.length;
  await resendNotice(undefined, { ...place(), all: true, app: 'other' }, output);
  expect(await environment.store.notices.listDeadNotices()).toHaveLength(2);
  await resendNotice(undefined, { ...place(), all: true, app: 'paged' }, output);
  await expect.poll(() => told.length).toBe(before + 2);
  expect(await environment.store.notices.listDeadNotices()).toEqual([]);
});

test('a notice that is still being told is kept, and is not sent again [notice.dead]', async () => {
  gone = true;
  const noticeId = await dead();
  const { workflow } = environment.temporal;
  // As the one that has buried it, in the moment before it is over.
  const busy = await workflow.start('deliverNotice', {
    ...{ workflowId: noticeId, taskQueue: 'nobody', workflowIdReusePolicy: 'ALLOW_DUPLICATE' },
    args: [],
  });
  const output = capturedOutput();
  await expect(resendNotice(noticeId, place(), output)).rejects.toThrow(/still being told.*try again/);
  await expect(resendNotice(undefined, { ...place(), all: true }, output)).rejects.toThrow(/still being/);
  expect(output.lines).toEqual([]);
  expect(await environment.store.notices.findDeadNotice(noticeId)).toMatchObject({ noticeId });
  await busy.terminate();
  gone = false;
  const before = told.length;
  await resendNotice(noticeId, place(), output);
  await expect.poll(() => told.length).toBe(before + 1);
  expect(await environment.store.notices.findDeadNotice(noticeId)).toBeUndefined();
});

test('notices go with the session that they are of [notice.dead]', async () => {
  gone = true;
  const noticeId = await dead();
  const [app = '', userId = '', sessionId = ''] = noticeId.split('/');
  await environment.client.sessions.delete({ app, userId, sessionId, cancelRunning: true });
  expect(await environment.store.notices.findDeadNotice(noticeId)).toBeUndefined();
});
