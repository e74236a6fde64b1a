import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Permission } from '../../src/contract/lists.ts';
import { type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { ABOUT } from '../gateway/gateway-stub.ts';
import { until } from '../setup/until.ts';
import { readPage, sendForm } from './browser-form.ts';
import { openPageDesk, type PageDesk } from './page-desk.ts';

let desk: PageDesk;
let served: ServedGateway;
let cookie: string;
let decider: string;
beforeAll(async () => {
  desk = await openPageDesk();
  const { namespace, uiUrl } = desk.environment.place;
  served = await serveGateway({
    gateway: { ...desk.options, about: () => ({ ...ABOUT, namespace, uiUrl }) },
  });
  cookie = await cookieOf(['read', 'approve', 'operate']);
  decider = await cookieOf(['read', 'approve']);
});
afterAll(async () => {
  await served.close();
  await desk.close();
});

/** Names with all that a path gives a meaning to. */
const NAMES = { app: 'shop', userId: 'a/b?c#d%2F"ö', sessionId: `s ${randomUUID()}&x=1` };

async function cookieOf(roles: Permission[]): Promise<string> {
  const key = await desk.key('mira', [{ app: '*', roles }]);
  const form = await readPage(`${served.url}/inbox/sign-in`);
  return (await sendForm(`${served.url}/inbox/sign-in`, form, { key: key.text })).cookie;
}

/** Links into the UI on a page. */
async function linksOf(path: string, of = cookie): Promise<URL[]> {
  const { text } = await readPage(`${served.url}${path}`, { headers: { cookie: of } });
  return [...text.matchAll(/<a class="ui" href="([^"]+)"/g)].map(
    ([, href = '']) => new URL(href.replaceAll('&amp;', '&').replaceAll('&quot;', '"')),
  );
}

interface Execution {
  execution: { workflowId: string; runId: string };
}

/** What the UI shows for its page of this address: it asks for it under the same path. */
async function shownBy(link: URL): Promise<Execution[]> {
  expect((await fetch(link)).status).toBe(200);
  const [, of = '', run] = /^\/namespaces\/(.+?)(?:\/([^/]+)\/history)?$/.exec(link.pathname) ?? [];
  const api = new URL(`/api/v1/namespaces/${of}${link.search}`, link);
  if (run !== undefined) api.searchParams.set('execution.runId', run);
  const answer = await fetch(api);
  expect(answer.status).toBe(200);
  const { workflowExecutionInfo, executions = [] } = (await answer.json()) as {
    workflowExecutionInfo?: Execution;
    executions?: Execution[];
  };
  return workflowExecutionInfo === undefined ? executions : [workflowExecutionInfo];
}

async function described(workflowId: string, runId?: string) {
  const { temporal } = desk.environment;
  const found = await temporal.workflow.getHandle(workflowId, runId).describe();
  return { workflowId: found.workflowId, runId: found.runId };
}

test('a request leads to the run that waits for it, and once it is decided to the runs of its session [inbox.temporal]', async () => {
  const row = await desk.asked('restart', { host: 'a' }, NAMES);
  const run = await described(row.workflowId);
  const path = `/inbox/requests/${row.requestId}`;
  const [link, ...others] = await linksOf(path);
  expect(others).toEqual([]);
  expect(await shownBy(link as URL)).toMatchObject([{ execution: run }]);
  // Rows of requests and people who only decide have none.
  expect(await linksOf('/inbox')).toEqual([]);
  expect(await linksOf(path, decider)).toEqual([]);
  await desk.options.client.approvals.confirm({ requestId: row.requestId }, { confirmed: false });
  await until(async () => expect((await desk.now(row)).status).toBe('rejected'));
  await desk.environment.temporal.workflow.getHandle(run.workflowId, run.runId).result();
  // Another turn of the session has another run.
  const later = await desk.options.client.sendMessage({ ...NAMES, message: 'hello' });
  await later.result();
  const [toRuns] = await linksOf(path);
  await until(async () => {
    const runs = (await shownBy(toRuns as URL)).map(({ execution }) => execution);
    expect(runs).toEqual(expect.arrayContaining([run, { ...run, runId: later.runId }]));
    expect(new Set(runs.map(({ workflowId }) => workflowId))).toEqual(new Set([run.workflowId]));
  });
});

test('a job leads to the run that has begun it, whatever has run in its session since [inbox.temporal]', async () => {
  const { client } = desk.options;
  const names = { app: 'shop', userId: NAMES.userId, sessionId: randomUUID() };
  const turn = await client.sendMessage({ ...names, message: JSON.stringify({ name: 'train', args: {} }) });
  await until(async () => expect(await client.jobs.list(names)).toMatchObject([{ mode: 'parked' }]));
  const [job] = await client.jobs.list(names);
  const run = await described(turn.workflowId, turn.runId);
  const [running] = await linksOf('/inbox/jobs');
  expect(await shownBy(running as URL)).toMatchObject([{ execution: run }]);
  await client.jobs.complete(job?.jobId ?? '', { result: 1 });
  await turn.result();
  const later = await client.sendMessage({ ...names, message: 'hello' });
  await later.result();
  expect(later.runId).not.toBe(run.runId);
  const [ended] = await linksOf('/inbox/jobs?status=ended');
  expect(await shownBy(ended as URL)).toMatchObject([{ execution: run }]);
});
