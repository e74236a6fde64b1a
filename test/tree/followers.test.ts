import { randomUUID } from 'node:crypto';
import { WorkflowFailedError } from '@temporalio/client';
import { afterEach, describe, expect, test } from 'vitest';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import type { HoldfastApi } from '../../src/client/holdfast-api.ts';
import type { FollowedEvent, StreamItem } from '../../src/client/stream/stream-item.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { NotARootSession } from '../../src/store/store-errors.ts';
import { call, text as geminiText } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { CuttingProxy } from '../gateway/cutting-proxy.ts';
import { TOKEN } from '../gateway/gateway-stub.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { isDeep } from '../setup/tier.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';
import { calling, Speaking } from './speaking.ts';
import { type ServedGateway, throughGateway } from './through-gateway.ts';

const openEnvironment = shareEnvironment();
const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

async function open(agent: BaseAgent, script?: GeminiScript) {
  const opened = await openEnvironment({ agents: [agent], ...(script === undefined ? {} : { script }) });
  const names = { app: 'test', userId: randomUUID(), sessionId: randomUUID() };
  return { ...opened, names };
}

async function servedBy(environment: TurnEnvironment, hosts?: string[]): Promise<ServedGateway> {
  const served = await throughGateway(environment, hosts);
  closings.push(served.close);
  return served;
}

const asking = (name: string) => calling({ name, args: { request: 'please' } });

/** `root / writer: its text or call`, in the order in which it comes. */
function lineOf({ event, holdfast }: FollowedEvent): string {
  const said = (event.content?.parts ?? []).map(
    ({ text, functionCall, functionResponse }) =>
      text ?? (functionCall ? `→ ${functionCall.name}` : `← ${functionResponse?.name}`),
  );
  return `${(holdfast?.path ?? ['root']).join(' / ')}: ${said.join(' ')}`;
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const given: T[] = [];
  for await (const item of items) given.push(item);
  return given;
}

function deepTree() {
  const source = tool({ name: 'source', description: 'd', execute: () => ({ found: 'it' }) });
  const reader = new Speaking('reader', [calling({ name: 'source' }), 'read'], { tools: [source] });
  const writer = new Speaking('writer', [asking('reader'), 'written'], {
    tools: [new AgentTool({ agent: reader.agent })],
  });
  const root = new Speaking('root', [asking('writer'), 'done'], {
    tools: [new AgentTool({ agent: writer.agent })],
  });
  return { root, writer, reader };
}

const DEEP = [
  'root: go',
  'root: → writer',
  'root / writer: please',
  'root / writer: → reader',
  'root / writer / reader: please',
  'root / writer / reader: → source',
  'root / writer / reader: ← source',
  'root / writer / reader: read',
  'root / writer: ← reader',
  'root / writer: written',
  'root: ← writer',
  'root: done',
];

/** What a reader is given that comes back behind each event that it has seen. */
async function inPieces(
  client: Pick<HoldfastApi, 'follow'>,
  names: SessionNames,
  count: number,
  given: FollowedEvent[] = [],
): Promise<FollowedEvent[]> {
  while (given.length < count) {
    const last = given.at(-1);
    for await (const followed of client.follow(names, { after: last?.place ?? last?.seq })) {
      given.push(followed);
      break;
    }
  }
  return given;
}

const isOwn = ({ holdfast }: FollowedEvent) => holdfast === undefined;

describe('a follower of the root', () => {
  test('is given what agents of calls write, at any depth, where it belongs, live and later [tree.events]', async () => {
    const { root } = deepTree();
    const { client, names, store } = await open(root.agent);
    const stop = new AbortController();
    const live: FollowedEvent[] = [];
    const following = (async () => {
      for await (const followed of client.follow(names, { signal: stop.signal })) live.push(followed);
    })();
    const turn = await client.sendMessage({ ...names, message: 'go' });
    const streamed = all(turn.stream());
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    const events = (await streamed).flatMap((item) => (item.type === 'event' ? [item] : []));
    expect(events.map(lineOf)).toEqual(DEEP);
    await expect.poll(() => live.map(lineOf)).toEqual(DEEP);
    stop.abort();
    await following;
    expect((await all(turn.events())).map(lineOf)).toEqual(DEEP);
    // They are not in the root's own transcript.
    const own = await store.sessions.readEvents(names);
    expect(own.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(live.filter(isOwn).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    for (const { holdfast, seq, runKey } of live) {
      if (holdfast !== undefined) expect(holdfast).toMatchObject({ sessionId: runKey, seq });
    }
    expect((await all(turn.events({ children: false }))).map(lineOf)).toEqual(
      DEEP.filter((line) => line.startsWith('root: ')),
    );
  });

  if (isDeep) {
    test('goes on behind any event, by its place or the id of its frame, and is given each once [tree.events]', async () => {
      const { root } = deepTree();
      const opened = await open(root.agent);
      const { client, names } = opened;
      const { gateway, url } = await servedBy(opened);
      const turn = await client.sendMessage({ ...names, message: 'go' });
      // While it runs, too.
      const live = inPieces(client, names, DEEP.length);
      const lived = inPieces(gateway, names, DEEP.length);
      await turn.result();
      expect((await live).map(lineOf)).toEqual(DEEP);
      expect((await lived).map(lineOf)).toEqual(DEEP);
      expect((await inPieces(client, names, DEEP.length)).map(lineOf)).toEqual(DEEP);
      const told = await all(turn.stream());
      const events = told.flatMap((item) => (item.type === 'event' ? [item] : []));
      for (const [index, { place, seq }] of events.entries()) {
        const rest = await all(turn.events({ after: place ?? seq }));
        expect(rest.map(lineOf)).toEqual(DEEP.slice(index + 1));
      }
      // Behind the last event of agents nothing is left of them.
      expect(events.at(-1)?.place).toBeUndefined();
      const path = `/v1/apps/test/users/${names.userId}/sessions/${names.sessionId}/turns/${turn.messageId}/events`;
      const frames = async (query: string, headers = {}) => {
        const authorization = `Bearer ${TOKEN}`;
        const answer = await fetch(url + path + query, {
          headers: { accept: 'text/event-stream', authorization, ...headers },
        });
        return (await answer.text()).match(/^id: .*$/gm) ?? [];
      };
      const ids = await frames('?partial=false');
      expect(ids).toEqual(events.map(({ place, seq }) => `id: ${place ?? seq}`));
      expect(ids.slice(0, 4)).toEqual([
        'id: 1',
        'id: 2',
        expect.stringMatching(/^id: 2;[\w-]+:1$/),
        expect.stringMatching(/^id: 2;[\w-]+:2$/),
      ]);
      for (const [index, id] of ids.entries()) {
        expect(await frames('', { 'last-event-id': id.slice(4) })).toEqual(ids.slice(index + 1));
      }
      expect(await frames('?children=false')).toEqual(['id: 1', 'id: 2', 'id: 3', 'id: 4']);
      const found = await gateway.turn({ ...names, messageId: turn.messageId });
      if (found === undefined) throw new Error('the turn is not found');
      const marked = (await all(found.stream()))
        .flatMap((item) => (item.type === 'event' ? [item] : []))
        .map(({ holdfast, place }) => ({ holdfast, place }));
      expect(marked).toEqual(events.map(({ holdfast, place }) => ({ holdfast, place })));
    });
  }

  test('reads pages of the session’s own events, and nothing by an id that isn’t its own [tree.events]', async () => {
    const { root } = deepTree();
    const opened = await open(root.agent);
    const { client, names, store } = opened;
    const { url } = await servedBy(opened);
    const turn = await client.sendMessage({ ...names, message: 'go' });
    await turn.result();
    const own = await store.sessions.readEvents(names);
    const headers = { authorization: `Bearer ${TOKEN}` };
    const of = ({ app, userId, sessionId }: SessionNames) =>
      `${url}/v1/apps/${app}/users/${userId}/sessions/${sessionId}/events`;
    for (const after of [0, 1, 2, '2;writer-x:1']) {
      const seq = Number.parseInt(String(after), 10);
      const page = await fetch(`${of(names)}?limit=3&after=${after}`, { headers });
      expect(await page.json()).toEqual({
        events: own.slice(seq, seq + 3),
        last: Math.min(own.length, seq + 3),
        more: seq === 0,
      });
    }
    const [child] = await store.turns.listChildren(names);
    const eve = { ...names, userId: 'eve', sessionId: child?.runKey ?? '' };
    expect((await fetch(of(eve), { headers })).status).toBe(404);
    const others = { ...names, userId: 'eve' };
    await client.sessions.create({ ...others });
    const forged = `0;${child?.runKey}:0;writer-${'x'.repeat(22)}:0`;
    const stop = new AbortController();
    const stolen: FollowedEvent[] = [];
    const following = (async () => {
      for await (const told of client.follow(others, { after: forged, signal: stop.signal }))
        stolen.push(told);
    })();
    await client.sessions.append({
      ...others,
      key: 'k',
      event: { author: 'user', invocationId: 'i', actions: createEventActions() },
    });
    await expect.poll(() => stolen.length).toBe(1);
    stop.abort();
    await following;
    expect(stolen).toMatchObject([{ seq: 1, event: { author: 'user' } }]);
    for (const id of [
      'x',
      '1;',
      '1;a',
      `1;${'a'.repeat(201)}:1`,
      '1;a:-1',
      `${'9'.repeat(16)}`,
      '1;../b:1',
    ]) {
      const answer = await fetch(of(names), {
        headers: { ...headers, accept: 'text/event-stream', 'last-event-id': id },
      });
      expect({ id, status: answer.status }).toEqual({ id, status: 400 });
      expect(JSON.stringify(await answer.json())).toContain('last-event-id');
    }
  });

  test('is told whose session it is, where it names an agent’s of a call for more than to read it [tree.events]', async () => {
    const { root } = deepTree();
    const opened = await open(root.agent);
    const { client, names, store } = opened;
    const { gateway } = await servedBy(opened);
    await (await client.sendMessage({ ...names, message: 'go' })).result();
    const [child] = await store.turns.listChildren(names);
    const below = { ...names, sessionId: child?.runKey ?? '' };
    expect((await gateway.sessions.list({ app: 'test', userId: names.userId })).sessions).toHaveLength(1);
    for (const { sessions } of [client, gateway] as Pick<HoldfastApi, 'sessions'>[]) {
      for (const refused of [
        () => sessions.delete(below),
        () => sessions.fork(below),
        () => sessions.rewind({ ...below, beforeInvocationId: below.sessionId }),
        () => sessions.retry({ ...below, callKey: `${below.sessionId}.1.0` }),
      ]) {
        const error: unknown = await refused().catch((caught: unknown) => caught);
        expect(error).toBeInstanceOf(NotARootSession);
        expect(error).toMatchObject({ message: expect.stringMatching(/name the session of its root/) });
      }
    }
    const { status, error } = await (await gateway.sendMessage({ ...below, message: 'hello' })).result();
    expect({ status, error }).toMatchObject({
      status: 'failed',
      error: {
        code: 'HOLDFAST_NOT_A_ROOT_SESSION',
        message: expect.stringMatching(/the session of its root/),
      },
    });
    expect((await store.sessions.readEvents(below)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
  });

  if (isDeep) {
    test('misses no agent that has begun, waited or ended while it was away [tree.events]', async () => {
      const pay = tool({
        name: 'pay',
        description: 'd',
        requireConfirmation: true,
        execute: () => ({ paid: true }),
      });
      const payer = new Speaking('payer', [calling({ name: 'pay' }), 'paid'], { tools: [pay] });
      const writer = new Speaking('writer', ['written']);
      const root = new Speaking(
        'root',
        [
          calling({ name: 'payer', args: { request: 'a' } }, { name: 'writer', args: { request: 'b' } }),
          asking('writer'),
          'done',
        ],
        { tools: [new AgentTool({ agent: payer.agent }), new AgentTool({ agent: writer.agent })] },
      );
      const { client, names } = await open(root.agent);
      const turn = await client.sendMessage({ ...names, message: 'go' });
      // The message, the calls, and of each agent its message: whatever else has come.
      const seen = await inPieces(client, names, 4);
      await expect.poll(async () => (await client.approvals.list(names)).length).toBe(1);
      // One of the two has ended, the other one waits; a reader that begins now is given both.
      const other: FollowedEvent[] = [];
      for await (const followed of client.follow(names, { after: 2 })) {
        other.push(followed);
        if (other.length === 5) break;
      }
      const [request] = await client.approvals.list(names);
      expect(request).toMatchObject({ tool: 'pay', path: ['root', 'payer'], sessionId: names.sessionId });
      await client.approvals.confirm({ requestId: request?.requestId ?? '' }, { confirmed: true });
      await turn.result();
      const whole = await all(turn.events());
      for (const before of [seen, [...whole.slice(0, 2), ...other]]) {
        const last = before.at(-1);
        const rest = await all(turn.events({ after: last?.place ?? last?.seq }));
        const given = [...before, ...rest].map(({ event }) => event.id);
        expect(given).toHaveLength(whole.length);
        expect(new Set(given)).toEqual(new Set(whole.map(({ event }) => event.id)));
      }
      const answered = whole.findIndex(
        ({ kind, holdfast }) => kind === 'responses' && holdfast === undefined,
      );
      const first = whole.slice(0, answered).map(lineOf);
      expect(first.filter((line) => line.includes('payer: '))).toHaveLength(5);
      expect(first.filter((line) => line.includes('writer: '))).toEqual([
        'root / writer: b',
        'root / writer: written',
      ]);
      expect(whole.slice(answered).map(lineOf)).toEqual([
        'root: ← payer ← writer',
        'root: → writer',
        'root / writer: please',
        'root / writer: written',
        'root: ← writer',
        'root: done',
      ]);
    });
  }

  if (isDeep) {
    test('has every event once where its connection is cut again and again [tree.events]', async () => {
      const { root, writer, reader } = deepTree();
      const opened = await open(root.agent);
      const { client, names } = opened;
      const proxy = await CuttingProxy.open();
      closings.push(() => proxy.close());
      const { port } = await servedBy(opened, [`127.0.0.1:${proxy.port}`]);
      proxy.target = port;
      proxy.allowance = () => 1_200 + Math.floor(Math.random() * 2_500);
      const gateway = new GatewayClient({ url: `http://127.0.0.1:${proxy.port}`, token: TOKEN });
      const stop = new AbortController();
      const events: string[] = [];
      const following = (async () => {
        for await (const item of gateway.stream(names, { signal: stop.signal })) {
          if (item.type === 'event') events.push(lineOf(item));
        }
      })();
      for (let turns = 1; turns <= 3; turns++) {
        for (const each of [root, writer, reader]) each.shown.splice(0);
        await (await client.sendMessage({ ...names, message: 'go' })).result();
        await expect.poll(() => events).toEqual(Array.from({ length: turns }, () => DEEP).flat());
      }
      stop.abort();
      await following;
      expect(proxy.cuts).toBeGreaterThan(3);
    });
  }

  test('is told live what agents write, call and stream, marked where they are below a call [tree.events]', async () => {
    const heard = Promise.withResolvers<void>();
    const source = tool({
      name: 'source',
      description: 'd',
      // Live text is told to those who listen by then: the follower has to find the reader first.
      execute: async () => {
        await heard.promise;
        return { found: 'it' };
      },
    });
    const model = 'gemini-2.5-flash';
    const reader = new LlmAgent({ name: 'reader', model, instruction: 'I am reader.', tools: [source] });
    const writer = new LlmAgent({
      name: 'writer',
      model,
      instruction: 'I am writer.',
      tools: [new AgentTool({ agent: reader })],
    });
    const root = new SequentialAgent({ name: 'root', subAgents: [writer] });
    const script: GeminiScript = ({ systemInstruction }, { functionResponses }) => {
      const isReader = JSON.stringify(systemInstruction).includes('I am reader.');
      if (functionResponses.length > 0) return geminiText(isReader ? 'it reads so' : 'it is written');
      return isReader ? call('source') : call('reader', { request: 'r' });
    };
    const { client, names } = await open(root, script);
    const turn = await client.sendMessage({ ...names, message: 'go', runConfig: { streamingMode: 'sse' } });
    const items: StreamItem[] = [];
    for await (const item of turn.stream()) {
      items.push(item);
      if (item.type === 'event' && item.holdfast !== undefined) heard.resolve();
    }
    const textOf = (by: string) =>
      items.flatMap((item) => (item.type === 'text' && item.agent === by ? [item.text] : [])).join('');
    expect(textOf('reader')).toBe('it reads so');
    expect(textOf('writer')).toBe('it is written');
    const marks = items.flatMap((item) =>
      item.type === 'text' || item.type === 'call started' || item.type === 'call finished'
        ? [[item.type === 'text' ? item.agent : item.tool, item.holdfast?.path.join(' / ')].join()]
        : [],
    );
    expect(new Set(marks)).toEqual(
      new Set(['source,root / writer / reader', 'reader,root / writer / reader', 'writer,', 'reader,']),
    );
    // No text of a step comes behind its event, and nothing of an agent behind the response to its call.
    const places = (isSuch: (item: StreamItem) => boolean) =>
      items.flatMap((item, index) => (isSuch(item) ? [index] : []));
    const ofReader = places(({ holdfast }) => holdfast !== undefined);
    const [response = 0] = places(
      (item) => item.type === 'event' && item.holdfast === undefined && lineOf(item).includes('← reader'),
    );
    expect(Math.max(...ofReader)).toBeLessThan(response);
    const [settled = 0] = places((item) => item.type === 'call finished' && item.tool === 'reader');
    const events = places((item) => item.type === 'event' && item.holdfast !== undefined);
    expect(Math.max(...events)).toBeLessThan(settled);
    expect(items.some(({ type }) => (type as string) === 'child')).toBe(false);
  });

  test('goes on where a session is deleted with all below it, and begins anew with the next one [tree.events]', async () => {
    const { root, writer, reader } = deepTree();
    const { client, names } = await open(root.agent);
    const stop = new AbortController();
    const lines: string[] = [];
    const following = (async () => {
      for await (const followed of client.follow(names, { signal: stop.signal }))
        lines.push(lineOf(followed));
    })();
    const send = async () => {
      for (const each of [root, writer, reader]) each.shown.splice(0);
      // The same message again: the agents' sessions have the same names.
      await (await client.sendMessage({ ...names, message: 'go', messageId: 'm1' })).result();
    };
    await send();
    await expect.poll(() => lines).toEqual(DEEP);
    await client.sessions.delete(names);
    await send();
    await expect.poll(() => lines).toEqual([...DEEP, ...DEEP]);
    stop.abort();
    await following;
  });

  test('is given what an agent had said whose turn was terminated, and its stream ends [tree.events]', async () => {
    const pay = tool({ name: 'pay', description: 'd', requireConfirmation: true, execute: () => ({}) });
    const payer = new Speaking('payer', [calling({ name: 'pay' })], { tools: [pay] });
    const root = new Speaking('root', [asking('payer'), 'done'], {
      tools: [new AgentTool({ agent: payer.agent })],
    });
    const { client, names, temporal } = await open(root.agent);
    const turn = await client.sendMessage({ ...names, message: 'go' });
    const given: FollowedEvent[] = [];
    const following = (async () => {
      for await (const followed of turn.events()) given.push(followed);
    })();
    await expect.poll(async () => (await client.approvals.list(names)).length).toBe(1);
    await expect.poll(() => given.length).toBe(5);
    await temporal.workflow.getHandle(turn.workflowId).terminate('gone');
    await expect(following).rejects.toThrow(WorkflowFailedError);
    root.replies = ['again'];
    const next = await client.sendMessage({ ...names, message: 'and now?' });
    expect(await next.result()).toMatchObject({ status: 'completed' });
    const last = given.at(-1);
    const stop = new AbortController();
    const rest: string[] = [];
    for await (const followed of client.follow(names, { after: last?.place, signal: stop.signal })) {
      rest.push(lineOf(followed));
      if (rest.at(-1) === 'root: again') break;
    }
    expect(new Set(rest)).toHaveProperty('size', rest.length);
    const whole: string[] = [];
    for await (const followed of client.follow(names)) {
      whole.push(lineOf(followed));
      if (whole.at(-1) === 'root: again') break;
    }
    expect([...given.map(lineOf), ...rest].toSorted()).toEqual(whole.toSorted());
  });
});
