import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FunctionResponse } from '../../src/events/content.ts';
import { type Access, type Permission, type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { ownCallId } from '../../src/protocol/identity.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { jobTool, openJobEnvironment, startJobTurn } from '../setup/job-turns.ts';
import { stepCalls } from '../setup/scripts.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';
import { untilAsked } from '../setup/until-asked.ts';
import { gatewayOf } from './named-access.ts';

/** Whoever says so in `X-May` may do that. */
const rolesAccess: Access = {
  reach: 'loopback',
  screen: () => undefined,
  authenticate: ({ headers }) => {
    const roles = (headers.get('x-may') ?? '').split(',') as Permission[];
    const person = headers.get('x-person');
    const named = person === null ? {} : { person };
    return {
      name: 'ada',
      ...named,
      may: ({ permission }) => (roles.includes(permission) ? 'allowed' : 'forbidden'),
    };
  },
};

describe('who may send messages', () => {
  const paid: unknown[] = [];
  let environment: TurnEnvironment;
  let served: ServedGateway;

  beforeAll(async () => {
    const pays = tool({
      name: 'pay',
      description: 'pays',
      requireConfirmation: true,
      execute: (args) => {
        paid.push(args);
        return { paid: true };
      },
    });
    const nothing = () => undefined;
    const parks = () => ({ execute: nothing, poll: nothing, cancel: nothing, onTimeout: nothing });
    environment = await openJobEnvironment([jobTool('report', parks), pays]);
    const { client, store } = environment;
    served = await serveGateway({ gateway: gatewayOf(client, { access: rolesAccess, records: store }) });
  });
  afterAll(async () => {
    await served.close();
    await environment.close();
  });

  function sendTo({ app, userId, sessionId }: { app: string; userId: string; sessionId: string }) {
    const path = `${served.url}/v1/apps/${app}/users/${userId}/sessions/${sessionId}/messages`;
    return async (may: string, functionResponse: FunctionResponse) => {
      const answer = await fetch(path, {
        method: 'POST',
        headers: { 'x-may': may, 'content-type': 'application/json' },
        body: JSON.stringify({ message: { role: 'user', parts: [{ functionResponse }] } }),
      });
      await answer.text();
      return answer.status;
    };
  }

  async function begun(name: 'pay' | 'report') {
    const turn = await startJobTurn(environment, name);
    const { names } = turn;
    const send = sendTo(names);
    return { turn, names, send };
  }

  async function request(names: Awaited<ReturnType<typeof begun>>['names']) {
    await expect.poll(() => environment.client.approvals.list(names)).toHaveLength(1);
    const [row] = await environment.client.approvals.list(names);
    if (row === undefined) throw new Error('nobody was asked');
    await untilAsked(environment.temporal, row);
    return row;
  }

  test('decides by them only with the role to approve [gateway.answers]', async () => {
    const { turn, names, send } = await begun('pay');
    const { callId, requestId } = await request(names);
    const before = paid.length;
    for (const reply of [
      { id: requestId, name: 'adk_request_confirmation', response: { confirmed: true } },
      { id: callId, name: 'pay', response: { confirmed: true } },
    ]) {
      expect(await send('run,operate', reply)).toBe(403);
    }
    expect(await environment.client.approvals.get({ requestId })).toMatchObject({ status: 'pending' });
    // A worker runs it.
    expect(await environment.store.turns.findClientCalls(names)).toEqual([]);
    const reply = { id: requestId, name: 'adk_request_confirmation', response: { confirmed: true } };
    expect(await send('run,approve', reply)).toBe(202);
    expect(await turn.result).toMatchObject({ status: 'completed' });
    expect(paid).toHaveLength(before + 1);
  });

  test('ends jobs by them only with the role to operate [gateway.answers]', async () => {
    const { turn, send } = await begun('report');
    const { callId, callKey, jobId } = await turn.job('parked');
    for (const id of [callId, ownCallId(callKey)]) {
      expect(await send('run,approve', { id, name: 'report', response: { forged: true } })).toBe(403);
    }
    expect(await environment.client.jobs.get(jobId)).toMatchObject({ status: 'running' });
    expect(await send('run,operate', { id: callId, name: 'report', response: { pages: 3 } })).toBe(202);
    expect(await turn.result).toMatchObject({ status: 'completed' });
    expect(await environment.client.jobs.get(jobId)).toMatchObject({ outcome: { response: { pages: 3 } } });
  });

  test('answers nothing that may begin to wait by then [gateway.answers]', async () => {
    const { names, turn, send } = await begun('report');
    const { callKey } = await turn.job('parked');
    // As anybody can reckon, who has named the message.
    const next = ownCallId(callKey.replace(/\.1\.0$/, '.2.0'));
    for (const id of [next, 'call_0']) {
      const forged = { id, name: 'report', response: { forged: true } };
      for (const may of ['run', 'run,approve', 'run,operate']) expect(await send(may, forged)).toBe(403);
    }
    const [event] = (await environment.store.sessions.readEvents(names)).filter(
      ({ kind }) => kind === 'message',
    );
    expect(JSON.stringify(event)).not.toContain('forged');
    await environment.client.interrupt(names);
    await turn.result;
  });

  test('changes nothing of a job that has ended [gateway.answers]', async () => {
    const { turn, send } = await begun('report');
    const { callId, jobId } = await turn.job('parked');
    expect(await send('run,operate', { id: callId, name: 'report', response: { pages: 3 } })).toBe(202);
    await turn.result;
    expect(await send('run', { id: callId, name: 'report', response: { forged: true } })).toBe(403);
    expect(await send('run,approve', { id: callId, name: 'report', response: { forged: true } })).toBe(403);
    expect(await environment.client.jobs.get(jobId)).toMatchObject({ outcome: { response: { pages: 3 } } });
  });

  test('answers the calls that no worker runs [gateway.answers] [runner.config]', async () => {
    const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
    environment.gemini.reset(stepCalls([[{ name: 'pay', args: {} }]]));
    const paused = await environment.client.sendMessage({
      ...names,
      message: 'go',
      runConfig: { pauseOnToolCalls: true },
    });
    await paused.result();
    const called = (await environment.store.sessions.readEvents(names)).flatMap(({ event }) =>
      (event.content?.parts ?? []).flatMap(({ functionCall }) => functionCall?.id ?? []),
    );
    const { store, client } = environment;
    expect(await store.turns.findClientCalls(names)).toEqual(called);
    const fork = { ...names, sessionId: randomUUID() };
    await client.sessions.fork({ ...names, to: fork.sessionId });
    expect(await store.turns.findClientCalls(fork)).toEqual(called);
    expect(await store.turns.findClientCalls({ ...names, sessionId: 'none' })).toEqual([]);
    const before = paid.length;
    const answered = await sendTo(names)('run', { id: called[0] ?? '', name: 'pay', response: { paid: 1 } });
    expect(answered).toBe(202);
    await expect
      .poll(async () => JSON.stringify(await environment.store.sessions.readEvents(names)))
      .toContain('done');
    expect(paid).toHaveLength(before);
  });

  test('speaks of a job that has ended with the role to operate alone [gateway.answers]', async () => {
    const { turn, send } = await begun('report');
    const { callId } = await turn.job('parked');
    const report = { id: callId, name: 'report', response: { pages: 3 } };
    expect(await send('run,operate', report)).toBe(202);
    await turn.result;
    expect(await send('run,operate', report)).toBe(202);
  });

  test.each(['complete', 'fail', 'cancel'])(
    'is named where it ends a job, %s [gateway.approvals]',
    async (how) => {
      const { turn } = await begun('report');
      const { jobId } = await turn.job('parked');
      const body = { complete: { result: { pages: 3 } }, fail: { error: 'no paper' }, cancel: {} }[how];
      const answer = await fetch(`${served.url}/v1/jobs/${jobId}/${how}`, {
        method: 'POST',
        headers: { 'x-may': 'operate', 'x-person': 'mira', 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      expect(await answer.json()).toMatchObject({ status: 'ended' });
      expect(await environment.client.jobs.get(jobId)).toMatchObject({
        endedBy: 'operator',
        endedByPerson: 'mira',
      });
      await turn.result;
    },
  );

  test('names no operator that is none [gateway.approvals]', async () => {
    const { turn } = await begun('report');
    const { jobId } = await turn.job('parked');
    const cancel = (person: string) => environment.client.jobs.cancel(jobId, { person });
    for (const person of ['', ' mira', 'unverified', 'a\u0000b']) {
      await expect(cancel(person)).rejects.toMatchObject({ code: 'HOLDFAST_INVALID_JOB' });
    }
    await cancel('mira');
    await turn.result;
  });
});
