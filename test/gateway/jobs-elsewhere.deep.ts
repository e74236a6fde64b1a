import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HoldfastClient } from '../../src/client/index.ts';
import { type CredentialKeys, credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { localAccess, serveGateway } from '../../src/gateway/index.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import type { Store } from '../../src/store/store.ts';
import { type JobDesk, type Order, openJobDesk, tell } from '../setup/job-desk.ts';
import { putStore } from '../setup/made-store.ts';
import { ABOUT } from './gateway-stub.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-test-'));
const silent = () => undefined;

let desk: JobDesk;
let others: OpenedStore;
const closing: (() => Promise<void>)[] = [];
beforeAll(async () => {
  putStore(folder);
  [desk, others] = await Promise.all([openJobDesk(), openStore({ folder })]);
});
afterAll(async () => {
  for (const close of closing) await close();
  await others.close();
  await desk.env.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The order of a job that its turn waits for. */
async function parked() {
  const { turn, thing } = await desk.begin('park');
  return { ...(await desk.order(thing)), turn, thing };
}

/** Another gateway on this machine, at a port of its own. */
async function serve(store: Store, credentialKeys?: CredentialKeys): Promise<string> {
  const { temporal } = desk.env;
  const client = new HoldfastClient({
    temporal,
    store,
    ...(credentialKeys === undefined ? {} : { credentialKeys }),
  });
  const served = await serveGateway({
    gateway: {
      client,
      about: () => ABOUT,
      ready: async () => ({ store: true }),
      access: localAccess({ token: randomBytes(16).toString('hex') }),
      logger: { debug: silent, info: silent, warn: silent, error: silent },
    },
  });
  closing.push(() => served.close());
  return served.url;
}

/** What is said of a job to whoever has the port by now. */
const at = (url: string, { callbackUrl, token }: Order) => ({
  callbackUrl: `${url}${new URL(callbackUrl).pathname}`,
  token,
});

async function said(order: Pick<Order, 'callbackUrl' | 'token'>, what: 'complete' | 'fail' | 'progress') {
  const body = { complete: { result: 7 }, fail: { error: 'x' }, progress: { value: 0.5 } }[what];
  const answer = await tell(order, what, body);
  const { error } = (await answer.json()) as { error?: { code: string } };
  return { status: answer.status, code: error?.code };
}

describe('a job that another process has handed out', () => {
  test('is known at every gateway of its store, wherever it listens [job.token] [job.callback]', async () => {
    const order = await parked();
    const url = await serve(desk.env.store, desk.keys);
    expect(url).not.toBe(desk.env.gateway.url);
    expect(await said(at(url, order), 'progress')).toEqual({ status: 200, code: undefined });
    expect(await said(at(url, order), 'complete')).toEqual({ status: 200, code: undefined });
    expect((await desk.env.turnOf(order.turn)).calls[0]?.response).toEqual({ result: 7 });
  });

  test.each([
    ['that has other keys', credentialKeysOf({ desk: randomBytes(32).toString('base64') })],
    ['that has keys of other names', credentialKeysOf({ other: randomBytes(32).toString('base64') })],
    ['that has no keys', undefined],
  ])(
    'is refused by a gateway %s and listens there by now; its own takes it afterwards [job.token]',
    async (_which, keys) => {
      const order = await parked();
      const elsewhere = at(await serve(others, keys), order);
      for (const what of ['complete', 'fail', 'progress'] as const) {
        expect(await said(elsewhere, what)).toEqual({ status: 401, code: 'HOLDFAST_JOB_TOKEN_REFUSED' });
      }
      expect((await desk.env.client.jobs.get(order.jobId))?.status).toBe('running');
      expect(await others.jobs.find(order.jobId)).toBeUndefined();
      expect(await said(order, 'complete')).toMatchObject({ status: 200 });
      await order.turn.result();
    },
  );

  test('is not found in a store that has another session of that name, and makes nothing there [job.token]', async () => {
    const order = await parked();
    const job = await desk.env.client.jobs.get(order.jobId);
    const { app, userId, sessionId } = { app: 'test', userId: 'ada', sessionId: randomUUID(), ...job };
    await others.sessions.create({ app, userId, sessionId });
    const elsewhere = at(await serve(others, desk.keys), order);
    for (const what of ['complete', 'fail', 'progress'] as const) {
      expect(await said(elsewhere, what)).toMatchObject({ status: 404 });
    }
    expect(await others.jobs.list({ app, userId, sessionId })).toEqual([]);
    expect(await said(order, 'complete')).toMatchObject({ status: 200 });
    await order.turn.result();
  });
});

test('a session whose turn waits for a job is deleted once that turn is cancelled; then nobody knows the job [job.callback] [session.delete]', async () => {
  const { names, turn, thing } = await desk.begin('park');
  const order = await desk.order(thing);
  await desk.env.jobs(turn);
  await expect(desk.env.client.sessions.delete(names)).rejects.toMatchObject({
    code: 'HOLDFAST_TURN_RUNNING',
  });
  expect((await desk.env.client.jobs.get(order.jobId))?.status).toBe('running');
  await desk.env.client.sessions.delete({ ...names, cancelRunning: true });
  expect(desk.cancelled).toContain(order.jobId);
  for (const what of ['complete', 'fail', 'progress'] as const) {
    expect(await said(order, what)).toMatchObject({ status: 404 });
  }
  expect(await desk.env.client.jobs.get(order.jobId)).toBeUndefined();
});
