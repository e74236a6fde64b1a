import { randomUUID } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import type { HoldfastApi } from '../../src/client/holdfast-api.ts';
import type { FollowedEvent } from '../../src/client/stream-item.ts';
import { createGateway, localAccess, serveGateway } from '../../src/gateway/index.ts';
import type { SessionNames } from '../../src/store/store.ts';
import { AgentTool } from '../../src/tools/agent-tool.ts';
import { tool } from '../../src/tools/tool.ts';
import { ABOUT, collecting, TOKEN } from '../gateway/gateway-stub.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { calling, Speaking } from './speaking.ts';

let environment: TurnEnvironment | undefined;
const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
  await environment?.close();
  environment = undefined;
});

async function open(agent: BaseAgent) {
  const opened = await openTurnEnvironment({ agents: [agent] });
  environment = opened;
  const names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  return { ...opened, names };
}

/** The environment's client behind a gateway, and the gateway's address. */
async function throughGateway({ client }: TurnEnvironment): Promise<{ gateway: GatewayClient; url: string }> {
  const serving = await serveGateway({
    gateway: createGateway({
      client,
      about: () => ABOUT,
      ready: async () => ({ temporal: true, store: true }),
      access: localAccess({ token: TOKEN }),
      logger: collecting([]),
    }),
  });
  closings.push(serving.close);
  return { gateway: new GatewayClient({ url: serving.url, token: TOKEN }), url: serving.url };
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
    const own = await store.readEvents(names);
    expect(own.map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    expect(live.filter(isOwn).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    for (const { holdfast, seq, runKey } of live) {
      if (holdfast !== undefined) expect(holdfast).toMatchObject({ sessionId: runKey, seq });
    }
    expect((await all(turn.events({ children: false }))).map(lineOf)).toEqual(
      DEEP.filter((line) => line.startsWith('root: ')),
    );
  });

  test('goes on behind any event, by its place or the id of its frame, and is given each once [tree.events]', async () => {
    const { root } = deepTree();
    const opened = await open(root.agent);
    const { client, names } = opened;
    const { gateway, url } = await throughGateway(opened);
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
    const path = `/v1/apps/test/users/ada/sessions/${names.sessionId}/turns/${turn.messageId}/events`;
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
      expect.stringMatching(/^id: 2;e-[\w-]+:1$/),
      expect.stringMatching(/^id: 2;e-[\w-]+:2$/),
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
    const answered = whole.findIndex(({ kind, holdfast }) => kind === 'responses' && holdfast === undefined);
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
});
