import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { call, createTestEnvironment, type TestEnvironment, text } from '../../src/testing/index.ts';
import { taskOf } from '../../src/tools/mcp/mcp-task.ts';
import type { McpToolOptions } from '../../src/tools/mcp/mcp-tool.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import { withConfirmation } from '../../src/tools/with-confirmation.ts';
import { contextWith } from '../definitions/tool-context.ts';
import { until } from '../setup/until.ts';
import { startTaskServer, type TaskServer } from './task-server.ts';

let modern: TaskServer;
let legacy: TaskServer;
let env: TestEnvironment;

beforeAll(async () => {
  modern = await startTaskServer('2026-07-28');
  legacy = await startTaskServer('2025-11-25');
  const appOf = (name: string, { url }: TaskServer, defaults: McpToolOptions = {}) =>
    new App({
      name,
      rootAgent: new LlmAgent({
        name,
        model: 'gemini-2.5-flash',
        tools: [new MCPToolset({ type: 'StreamableHTTPConnectionParams', url }, [], undefined, { defaults })],
      }),
    });
  const hasty = appOf('hasty', modern, {
    requireConfirmation: () => false,
    approval: { expiresIn: '1 second' },
  });
  env = await createTestEnvironment({ apps: [appOf('modern', modern), appOf('legacy', legacy), hasty] });
});
afterAll(async () => {
  await env.close();
  await modern[Symbol.asyncDispose]();
  await legacy[Symbol.asyncDispose]();
});
beforeEach(() => {
  for (const server of [modern, legacy]) {
    Object.assign(server, {
      task: { status: 'working' },
      effects: 0,
      answersCall: undefined,
      refusesLate: false,
    });
    server.asked.length = 0;
  }
});

/** A turn that calls the tool once. */
async function started(app: 'modern' | 'legacy' | 'hasty') {
  env.gemini.reset([call('render', { film: 'Metropolis' }), text('done')]);
  const names = { app, userId: 'ada', sessionId: randomUUID() };
  const handle = await env.client.sendMessage({ ...names, message: 'go' });
  const ended = async () => {
    const turn = await handle.result();
    const contents = env.gemini.requests.at(-1)?.body.contents;
    return { turn, said: JSON.stringify(contents) };
  };
  const parked = () =>
    until(async () => {
      const [job] = await env.client.jobs.list(names);
      if (job?.mode !== 'parked') throw new Error('the call has no job');
      return job;
    });
  return { names, handle, parked, ended };
}

const rendered = { content: [{ type: 'text', text: 'rendered' }] };
const question = (message: string) => ({
  method: 'elicitation/create',
  params: {
    message,
    requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
  },
});
const asked = (names: object) =>
  until(async () => {
    const [found] = await env.client.approvals.list({ ...names, status: ['pending'] });
    if (found === undefined) throw new Error('nobody was asked');
    return found;
  });

describe('a call that a server makes a task', () => {
  test.each(['modern', 'legacy'] as const)(
    'is a job with progress, polled by any worker, and called once (%s) [mcp.tasks]',
    async (app) => {
      const server = app === 'modern' ? modern : legacy;
      const turn = await started(app);
      const job = await turn.parked();
      expect(job).toMatchObject({ tool: 'render', status: 'running' });
      server.task = { status: 'working', statusMessage: 'scene 3 of 9' };
      await until(async () => {
        const [row] = await env.client.jobs.list(turn.names);
        expect(row?.progress).toMatchObject({ message: 'scene 3 of 9' });
      });
      await env.restartWorker();
      server.task = { status: 'completed', ...(app === 'modern' ? { result: rendered } : {}) };
      const { said } = await turn.ended();
      expect(said).toContain('"output":"rendered"');
      expect(server.effects).toBe(1);
      if (app === 'modern') return;
      expect(server.of('tools/call')[0]?.params.task).toEqual({ ttl: 7 * 86_400_000 });
      const sessions = ['tools/call', 'tasks/get', 'tasks/result'].flatMap((method) =>
        server.of(method).map(({ session }) => session),
      );
      expect(new Set(sessions).size).toBe(1);
      expect(server.of('DELETE').map(({ session }) => session)).not.toContain(sessions[0]);
    },
  );

  test('asks people what its server asks, however late, and tells it once [mcp.tasks]', async () => {
    const turn = await started('modern');
    await turn.parked();
    modern.task = { status: 'input_required', inputRequests: { size: question('Which size?') } };
    const first = await asked(turn.names);
    expect(first).toMatchObject({ kind: 'input', hint: 'Which size?' });
    const answer = async (requestId: string, size: string) =>
      await env.client.approvals.provideInput({ ...turn.names, requestId }, { response: { size } });
    await answer(first.requestId, '4K');
    await turn.parked();
    expect(modern.of('tasks/update').map(({ params }) => params)).toMatchObject([
      { taskId: 'task-1', inputResponses: { size: { action: 'accept', content: { size: '4K' } } } },
    ]);
    // A question that was answered a moment ago isn't asked again.
    const looks = modern.of('tasks/get').length;
    await until(async () => expect(modern.of('tasks/get').length).toBeGreaterThan(looks + 1));
    expect(await env.client.approvals.list({ ...turn.names, status: ['pending'] })).toEqual([]);
    modern.task = {
      status: 'input_required',
      inputRequests: { size: question('Which size?'), screen: question('Which screen?') },
    };
    const second = await asked(turn.names);
    expect(second).toMatchObject({ hint: 'Which screen?' });
    modern.task = { status: 'completed', result: rendered };
    await answer(second.requestId, 'L');
    const { said } = await turn.ended();
    expect(said).toContain('"output":"rendered"');
    expect(
      modern.of('tasks/update').map(({ params }) => Object.keys(params.inputResponses as object)),
    ).toEqual([['size'], ['screen']]);
    expect(modern.effects).toBe(1);
  });

  test('may be declined by a person wherever its server asks: before the call, and in its task [mcp.input] [mcp.tasks]', async () => {
    modern.answersCall = {
      ...{ resultType: 'input_required', requestState: 'state-1' },
      inputRequests: { size: question('Which size?') },
    };
    const turn = await started('modern');
    const decline = async (hint: string) => {
      const { requestId } = await until(async () => {
        const request = await asked(turn.names);
        expect(request).toMatchObject({ hint });
        return request;
      });
      const declined = { response: { decline: true } };
      await env.client.approvals.provideInput({ ...turn.names, requestId }, declined);
    };
    modern.task = { status: 'input_required', inputRequests: { screen: question('Which screen?') } };
    await until(() => expect(modern.of('tools/call')).toHaveLength(1));
    modern.answersCall = undefined;
    await decline('Which size?');
    await decline('Which screen?');
    await turn.parked();
    modern.task = { status: 'completed', result: rendered };
    expect((await turn.ended()).said).toContain('"output":"rendered"');
    const responses = ['tools/call', 'tasks/update'].map((method) =>
      modern.of(method).map(({ params }) => params.inputResponses),
    );
    expect(responses).toEqual([
      [undefined, { size: { action: 'decline' } }],
      [{ screen: { action: 'decline' } }],
    ]);
  });

  test('waits for a person as long as approval.expiresIn says [mcp.input] [mcp.tasks]', async () => {
    const inputRequests = { size: question('Which size?') };
    modern.answersCall = { resultType: 'input_required', inputRequests };
    expect((await (await started('hasty')).ended()).said).toContain('nobody has given the answer');
    expect(modern.of('tools/call')).toHaveLength(1);
    modern.answersCall = undefined;
    modern.task = { status: 'input_required', inputRequests };
    expect((await (await started('hasty')).ended()).said).toContain('nobody has given the answer');
    await until(() => expect(modern.of('tasks/cancel')).toHaveLength(1));
  });

  test('asks people once its server asks, if only at every other look, and not without end [mcp.tasks]', async () => {
    const turn = await started('modern');
    await turn.parked();
    let looks = 0;
    modern.task = () => {
      looks += 1;
      if (looks % 2 === 0) return { status: 'working' };
      return { status: 'input_required', inputRequests: { [`size-${looks}`]: question('Which size?') } };
    };
    for (let round = 1; round <= 2; round += 1) {
      const { requestId } = await asked(turn.names);
      const requests = await env.client.approvals.list({ ...turn.names, status: ['pending', 'answered'] });
      expect(requests).toHaveLength(round);
      await env.client.approvals.provideInput({ ...turn.names, requestId }, { response: { size: '4K' } });
      await until(() => expect(modern.of('tasks/update')).toHaveLength(round));
    }
    expect(looks).toBeLessThan(10);
    await env.client.interrupt(turn.names);
    await turn.handle.result();
  });

  test('has its result although a person answers after its end [mcp.tasks]', async () => {
    modern.refusesLate = true;
    modern.task = { status: 'input_required', inputRequests: { size: question('Which size?') } };
    const turn = await started('modern');
    const { requestId } = await asked(turn.names);
    modern.task = { status: 'completed', result: rendered };
    await env.client.approvals.provideInput({ ...turn.names, requestId }, { response: { size: '4K' } });
    expect((await turn.ended()).said).toContain('"output":"rendered"');
    expect(modern.of('tasks/update')).toHaveLength(1);
  });

  test('asks in twenty rounds, and in one more is refused [mcp.tasks]', async () => {
    const toolset = new MCPToolset({ type: 'StreamableHTTPConnectionParams', url: modern.url });
    let rounds = 20;
    modern.task = () => {
      rounds -= 1;
      if (rounds < 0) return { status: 'completed', result: rendered };
      return { status: 'input_required', inputRequests: { [`size-${rounds}`]: question('Which size?') } };
    };
    try {
      const [tool] = await toolset.getTools();
      const toolContext = Object.assign(contextWith(), { requestInput: async () => ({ size: '4K' }) });
      const run = async () => await tool?.runAsync({ args: {}, toolContext });
      // The answer to the call looks at the task, too.
      rounds = 21;
      expect(await run()).toEqual({ output: 'rendered' });
      expect(modern.of('tasks/update')).toHaveLength(20);
      rounds = 22;
      await expect(run()).rejects.toThrow('in more than 20 rounds');
    } finally {
      await toolset.close();
    }
  });

  test('is cancelled with its call [mcp.tasks]', async () => {
    for (const app of ['modern', 'legacy'] as const) {
      const turn = await started(app);
      const { jobId } = await turn.parked();
      await env.client.jobs.cancel(jobId, { reason: 'no longer needed' });
      const { said } = await turn.ended();
      expect(said).toContain('no longer needed');
      const server = app === 'modern' ? modern : legacy;
      expect(server.of('tasks/cancel').map(({ params }) => params.taskId)).toEqual(['task-1']);
    }
  });

  test('is cancelled while a person is asked [mcp.tasks]', async () => {
    const turn = await started('modern');
    await turn.parked();
    modern.task = { status: 'input_required', inputRequests: { size: question('Which size?') } };
    await asked(turn.names);
    await env.client.interrupt(turn.names, { reason: 'enough' });
    await turn.handle.result();
    await until(async () => expect(modern.of('tasks/cancel')).toHaveLength(1));
  });

  test('fails with words that name it, for whatever its server says [mcp.tasks]', async () => {
    const ends: [Record<string, unknown> | Error, RegExp][] = [
      [{ status: 'failed', error: { code: -32_000, message: 'out of film' } }, /has failed: out of film/],
      [{ status: 'cancelled' }, /the task of render has no result: it has been cancelled/],
      [{ status: 'completed' }, /completed without a result/],
      [{ status: 'on fire' }, /status: MCP has no .*on fire/],
      [{ status: 'completed', taskId: 'task-2' }, /another task/],
      [
        { status: 'completed', result: { ...rendered, isError: true } },
        /Tool execution failed. Details: rendered/,
      ],
      [new Error('no such task'), /the task is lost: .*no such task/],
    ];
    for (const [task, words] of ends) {
      const isLater = task instanceof Error || 'taskId' in task;
      modern.task = isLater ? { status: 'working' } : task;
      const turn = await started('modern');
      if (isLater) {
        await turn.parked();
        modern.task = task;
      }
      const { said } = await turn.ended();
      expect(said).toMatch(words);
    }
    expect(modern.effects).toBe(ends.length);
    modern.answersCall = { resultType: 'task', taskId: 'x'.repeat(2_000), status: 'working' };
    expect((await (await started('modern')).ended()).said).toContain('taskId: expected text of 1 to 1000');
  });

  test('is waited for where a call can have no job [mcp.tasks]', async () => {
    modern.task = { status: 'completed', result: rendered };
    const toolset = new MCPToolset({ type: 'StreamableHTTPConnectionParams', url: modern.url });
    try {
      const [tool] = await toolset.getTools();
      const toolContext = contextWith({});
      expect(await tool?.runAsync({ args: {}, toolContext })).toEqual({ output: 'rendered' });
      // A run after a crash that knows its task goes on with it, whether or not the call was approved.
      const [confirmed] = await withConfirmation(toolset, true).getTools();
      const begun = { 'mcp/1': { value: { resultType: 'task', taskId: 'task-1' } } };
      expect([tool, confirmed].map((each) => [each?.goesOn(begun), each?.goesOn({})])).toEqual([
        [true, false],
        [true, false],
      ]);
    } finally {
      await toolset.close();
    }
  });
});

test('a server is asked for its task neither at once nor never [mcp.tasks]', () => {
  const after = (pollIntervalMs: unknown) =>
    taskOf({ taskId: 't', status: 'working', pollIntervalMs }).pollAfter;
  expect([0, -1, 2_000, 31_536_000_000, Number.NaN, 'soon', undefined].map(after)).toEqual([
    ...[500, 500, 2_000, 60_000, 5_000, 5_000, 5_000],
  ]);
  for (const value of [undefined, [], { taskId: 't' }, { taskId: 7, status: 'working' }]) {
    expect(() => taskOf(value)).toThrow(/the MCP server/);
  }
});
