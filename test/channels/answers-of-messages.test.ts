import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FunctionResponse } from '../../src/events/content.ts';
import { type Access, type Permission, type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { ownCallId } from '../../src/protocol/identity.ts';
import { tool } from '../../src/tools/tool.ts';
import { jobTool, openJobEnvironment, startJobTurn } from '../setup/job-turns.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';
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
    served = await serveGateway({ gateway: gatewayOf(environment.client, { access: rolesAccess }) });
  });
  afterAll(async () => {
    await served.close();
    await environment.close();
  });

  async function begun(name: 'pay' | 'report') {
    const turn = await startJobTurn(environment, name);
    const { names } = turn;
    const send = async (may: string, functionResponse: FunctionResponse, more: object = {}) => {
      const path = `${served.url}/v1/apps/${names.app}/users/${names.userId}/sessions/${names.sessionId}/messages`;
      const answer = await fetch(path, {
        method: 'POST',
        headers: { 'x-may': may, 'content-type': 'application/json' },
        body: JSON.stringify({ message: { role: 'user', parts: [{ functionResponse }] }, ...more }),
      });
      await answer.text();
      return answer.status;
    };
    return { turn, names, send };
  }

  async function request(names: Awaited<ReturnType<typeof begun>>['names']) {
    await expect.poll(() => environment.client.approvals.list(names)).toHaveLength(1);
    const [row] = await environment.client.approvals.list(names);
    if (row === undefined) throw new Error('nobody was asked');
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

  /** As the gateway sends what nothing waited for when it looked. */
  async function sendUnasked(names: Awaited<ReturnType<typeof begun>>['names'], said: FunctionResponse) {
    const message = { role: 'user' as const, parts: [{ text: 'well' }, { functionResponse: said }] };
    const handle = await environment.client.sendMessage({ ...names, answers: [], message });
    expect(await handle.receipt()).toMatchObject({ status: 'queued' });
  }

  test('decides nothing that began to wait after it was looked at [gateway.answers]', async () => {
    const { turn, names } = await begun('pay');
    const { callId, requestId } = await request(names);
    const before = paid.length;
    await sendUnasked(names, { id: callId, name: 'pay', response: { confirmed: true } });
    expect(await environment.client.approvals.get({ requestId })).toMatchObject({ status: 'pending' });
    await environment.client.approvals.confirm({ requestId }, { confirmed: false });
    await turn.result;
    expect(paid).toHaveLength(before);
  });

  test('ends no job that began after it was looked at [gateway.answers]', async () => {
    const { turn, names } = await begun('report');
    const { jobId, callId } = await turn.job('parked');
    await sendUnasked(names, { id: callId, name: 'report', response: { forged: true } });
    expect(await environment.client.jobs.get(jobId)).toMatchObject({ status: 'running' });
    await environment.client.jobs.complete(jobId, { result: { pages: 3 } });
    await turn.result;
    expect(await environment.client.jobs.get(jobId)).toMatchObject({ outcome: { response: { pages: 3 } } });
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

  test('says itself what they may answer, and never more than that [gateway.answers]', async () => {
    const { turn, names, send } = await begun('report');
    const { callId, jobId } = await turn.job('parked');
    const response = { id: callId, name: 'report', response: { pages: 3 } };
    expect(await send('run,operate', response, { answers: ['everything'] })).toBe(400);
    expect(await send('run', response, { answers: ['jobs'] })).toBe(403);
    await expect(
      environment.client.sendMessage({
        ...names,
        answers: ['jobs'],
        message: { parts: [{ functionResponse: { name: 'adk_request_input', response: {} } }] },
      }),
    ).rejects.toMatchObject({ code: 'HOLDFAST_INVALID_TURN', message: expect.stringContaining('answers') });
    expect(await environment.client.jobs.get(jobId)).toMatchObject({ status: 'running' });
    await environment.client.jobs.complete(jobId, { result: {} });
    await turn.result;
  });
});
