import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import type { TurnResult } from '../../src/protocol/turn.ts';
import { error, hang, raw, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';
import { watchedApps } from '../setup/watched-apps.ts';
import type { FromWatchedWorker, WatchedWorkerOptions } from '../setup/watched-worker-process.ts';
import { Witness } from '../setup/witness.ts';

/** What the model calls, step by step. */
const PLANS = {
  call: ['effect'],
  pay: ['pay'],
  fail: ['fail'],
  stop: ['stop'],
  stream: ['stream'],
  add: ['effect', 'query_42'],
  reflect: ['fail', 'fail', 'fail'],
  down: [],
  code: [],
};
type Plan = keyof typeof PLANS;
type Counts = Record<string, number>;

const asksAgain = { 'before model': 1, model: 1, 'after model': 1 };
const SAME_TRANSCRIPT: [plan: Plan, at: string, again: Counts][] = [
  ['call', 'message', { message: 1 }],
  ['call', 'openStep before', { message: 1 }],
  ['call', 'openStep after', {}],
  ['call', 'before run', { 'before run': 1 }],
  ['call', 'before agent', { 'before run': 1, 'before agent': 1 }],
  ['call', 'recordOnce before', { 'before run': 1, 'before agent': 1 }],
  ['call', 'recordOnce after', {}],
  ['call', 'before model', { 'before model': 1 }],
  ['call', 'model', { 'before model': 1, model: 1 }],
  ['call', 'after model', asksAgain],
  // What the callback before the agent has written.
  ['call', 'event', { ...asksAgain, event: 1 }],
  ['call', 'event 2', { ...asksAgain, event: 2 }],
  ['call', 'before tool', { 'before tool': 1 }],
  ['call', 'after tool', { 'before tool': 1, effect: 1, 'after tool': 1 }],
  ['call', 'event 3', { event: 1 }],
  ['call', 'completed', { completed: 1 }],
  ['call', 'recordOnce after 2', {}],
  ['call', 'after agent', { ...asksAgain, event: 2, 'after agent': 1 }],
  ['call', 'after run', { ...asksAgain, event: 3, 'after agent': 1, 'after run': 1 }],
  ['call', 'commitStep after 2', {}],
  ['fail', 'tool error', { 'tool error': 1 }],
  ['down', 'model error', { 'before model': 1, model: 1, 'model error': 1 }],
  ['stop', 'after agent', { event: 2, completed: 1, 'after agent': 1 }],
  ['stream', 'chunk', { 'before tool': 1, chunk: 1 }],
  ['add', 'effect', { 'before tool': 1, effect: 1 }],
  ['reflect', 'fail 3', { fail: 1 }],
];
const TOLD: [plan: Plan, at: string][] = [
  ['pay', 'after tool'],
  ['code', 'code'],
];
const KILLS = [...SAME_TRANSCRIPT, ...TOLD].map(([plan, at]) => ({ plan, session: `${plan} at ${at}`, at }));
const KILLED_IN_MODEL = 'call at model';

const appOf = (plan: Plan) => (plan === 'reflect' ? 'reflecting' : plan === 'code' ? 'coding' : 'watched');
const namesOf = (plan: Plan, sessionId: string) => ({ app: appOf(plan), userId: 'ada', sessionId });

const folder = mkdtempSync(join(tmpdir(), 'holdfast-kills-'));
const file = join(folder, 'visits');
const witness = new Witness(file);
/** Sessions that the model was asked about, in order. */
const asked: string[] = [];
const streamed: StreamItem[] = [];
let environment: TurnEnvironment;
let transcripts: Map<string, StoredEvent[]>;
let results: Map<string, TurnResult>;

const code = raw({
  candidates: [
    {
      content: { role: 'model', parts: [{ executableCode: { code: 'print(42)', language: 'PYTHON' } }] },
      finishReason: 'STOP',
      index: 0,
    },
  ],
});

const script: GeminiScript = (request, info) => {
  const [plan, session = ''] = info.userText.split('|') as [Plan, string?];
  if (!Object.hasOwn(PLANS, plan)) return text('done');
  asked.push(session);
  if (session === KILLED_IN_MODEL && asked.filter((each) => each === session).length === 1) return hang();
  if (plan === 'down') return error(503, 'as planned');
  const script = plan === 'code' ? () => code : stepCalls(PLANS[plan].map((name) => [{ name }]));
  if (typeof script !== 'function') throw new Error('stepCalls makes a function');
  return script(request, info);
};

async function send(plan: Plan, session: string): Promise<TurnHandle> {
  return await environment.client.sendMessage({ ...namesOf(plan, session), message: `${plan}|${session}` });
}

async function end(turns: Map<string, TurnHandle>): Promise<void> {
  for (const [session, turn] of turns) results.set(session, await turn.result());
}

async function startWorker(options: Omit<WatchedWorkerOptions, 'place' | 'socket' | 'file'>) {
  const { store, place } = environment;
  const given = { ...options, place, socket: store.socket ?? '', file } satisfies WatchedWorkerOptions;
  const program = fileURLToPath(new URL('../setup/watched-worker-process.ts', import.meta.url));
  const child = fork(program, [JSON.stringify(given)], {
    execArgv: ['--disable-warning=ExperimentalWarning'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await new Promise<void>((polls, failed) => {
    child.on('message', (message: FromWatchedWorker) => {
      if (message.type === 'polls') polls();
      else store.live.hear(message.notice);
    });
    child.once('exit', (status) => failed(new Error(`the worker process exited with ${status}`)));
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

beforeAll(async () => {
  environment = await openTurnEnvironment({ apps: watchedApps(witness), script, embedded: true });
  results = new Map();
  const undisturbed = new Map<string, TurnHandle>();
  for (const plan of Object.keys(PLANS) as Plan[]) {
    undisturbed.set(`${plan} undisturbed`, await send(plan, `${plan} undisturbed`));
  }
  await end(undisturbed);
  await environment.stopWorker();

  const holds = Object.fromEntries(KILLS.map(({ session, at }) => [session, at]));
  const child = await startWorker({ holds });
  const killed = new Map<string, TurnHandle>();
  const following = (async () => {
    for await (const item of environment.client.stream(namesOf('stream', 'stream at chunk'))) {
      streamed.push(item);
      if (item.type === 'event' && item.event.content?.parts?.some((part) => part.text === 'done')) return;
    }
  })();
  for (const { plan, session } of KILLS) killed.set(session, await send(plan, session));
  const held = () => [
    ...witness.visits().flatMap((visit) => (visit.held ? [visit.session] : [])),
    ...(asked.includes(KILLED_IN_MODEL) ? [KILLED_IN_MODEL] : []),
  ];
  await until(() => expect(held().sort()).toEqual(Object.keys(holds).sort()));
  await until(() => expect(streamed.map(({ type }) => type)).toContain('tool chunk'));
  await kill(child);

  await environment.restartWorker();
  await end(killed);
  await following;
  transcripts = new Map();
  for (const plan of Object.keys(PLANS) as Plan[]) {
    for (const session of results.keys()) {
      if (!session.startsWith(`${plan} `)) continue;
      transcripts.set(session, await environment.store.sessions.readEvents(namesOf(plan, session)));
    }
  }
});
afterAll(async () => {
  await environment?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** How often user code was asked, and the model. */
function countsOf(session: string): Counts {
  const all = witness
    .visits()
    .filter((visit) => visit.session === session && !/^[a-z]+[A-Z]/.test(visit.what));
  const counts = Object.fromEntries(
    Object.entries(Object.groupBy(all, ({ what }) => what)).map(([what, of = []]) => [what, of.length]),
  );
  return { ...counts, model: asked.filter((each) => each === session).length };
}

function moreThan(session: string, other: string): Counts {
  const before = countsOf(other);
  const more = Object.entries(countsOf(session)).map(([what, n]) => [what, n - (before[what] ?? 0)] as const);
  return Object.fromEntries(more.filter(([, n]) => n !== 0));
}

/** What two turns of one plan must have in common. */
function told(session: string) {
  return transcripts.get(session)?.map(({ kind, step, event }) => ({
    kind,
    step,
    author: event.author,
    parts: JSON.parse(
      JSON.stringify(event.content?.parts ?? [])
        .replaceAll(/adk-[\w-]+/g, 'id')
        .replaceAll(session, 'session'),
    ),
    state: event.actions.stateDelta,
    metadata: event.customMetadata,
  }));
}

const responsesOf = (session: string) =>
  (transcripts.get(session) ?? []).flatMap(({ event }) =>
    getFunctionResponses(event).map(({ response }) => response),
  );

describe('SIGKILL of the worker', () => {
  test.each(SAME_TRANSCRIPT)(
    'of the turn %s, at %s: it ends as if nobody had killed it [turn.crash.callback] [callback.once]',
    (plan, at, again) => {
      const [session, undisturbed] = [`${plan} at ${at}`, `${plan} undisturbed`];
      expect(results.get(session)?.status).toBe('completed');
      expect(results.get(session)?.text).toBe(results.get(undisturbed)?.text);
      if (plan !== 'stream') expect(told(session)).toEqual(told(undisturbed));
      expect(moreThan(session, undisturbed)).toEqual(again);
      const ids = transcripts.get(session)?.map(({ event }) => event.id);
      expect(new Set(ids).size).toBe(ids?.length);
    },
  );

  test('a call keeps its key, whichever worker runs it [turn.crash.callback]', () => {
    for (const what of ['effect', 'completed']) {
      const session = what === 'effect' ? 'call at after tool' : 'call at completed';
      const visits = witness.visits().filter((visit) => visit.session === session && visit.what === what);
      expect(visits.map(({ held: _held, ...visit }) => visit)).toEqual([visits[1], visits[1]]);
    }
  });

  test('what user code counts in the state is counted once [turn.crash.plugin] [callback.state]', async () => {
    const once = { 'before agent': 1, 'before tool': 1, 'after tool': 1, completed: 1, 'after agent': 1 };
    for (const { plan, session } of KILLS.filter(({ plan }) => plan === 'call')) {
      const { state } = (await environment.client.sessions.get(namesOf(plan, session))) ?? {};
      expect(state).toEqual({ ...once, 'before model': 2, 'after model': 2, answers: 2 });
    }
  });

  test('what a tool has paid is not paid again; callbacks hear of it as of a failure [turn.crash.callback]', () => {
    const unknown = 'outcome unknown: this call may have run; check before repeating it';
    expect(responsesOf('pay at after tool')).toEqual([{ error: unknown }]);
    expect(moreThan('pay at after tool', 'pay undisturbed')).toEqual({ 'tool error': 1, 'after tool': 1 });
  });

  test('code that the model wrote is not run again, and the model is told [agent.codeExecutor]', () => {
    expect(countsOf('code at code').code).toBe(1);
    expect(results.get('code at code')).toMatchObject({ status: 'completed', text: 'done' });
    const [, , responses] = transcripts.get('code at code') ?? [];
    expect(responses?.event.content?.parts).toEqual([
      {
        codeExecutionResult: {
          outcome: 'OUTCOME_FAILED',
          output: 'outcome unknown: this call may have run; check before repeating it',
        },
      },
    ]);
  });

  test('followers of a tool that streams drop what they had, and its result counts once [turn.crash.streaming]', () => {
    expect(responsesOf('stream at chunk')).toEqual([{ result: '2a 2b' }]);
    const types = streamed.map(({ type }) => type);
    const dropped = types.indexOf('tool chunks dropped');
    expect(types.lastIndexOf('tool chunks dropped')).toBe(dropped);
    const said = (items: StreamItem[], attempt: number) =>
      items
        .flatMap((item) => (item.type === 'tool chunk' && item.attempt === attempt ? [item.content] : []))
        .join('');
    expect([said(streamed.slice(0, dropped), 1), said(streamed.slice(dropped), 1)]).toEqual(['1a ', '']);
    expect([said(streamed.slice(0, dropped), 2), said(streamed.slice(dropped), 2)]).toEqual(['', '2a 2b']);
    expect(streamed.filter(({ type }) => type === 'call finished')).toHaveLength(1);
  });

  test('failures that a plugin counts go on being counted [plugin.reflect] [turn.crash.plugin]', () => {
    expect(responsesOf('reflect at fail 3').map((response) => response?.retry_count)).toEqual([1, 2, 3]);
  });

  test('a tool that a callback has added is made anew, and goes with its turn [registry.factory] [registry.ephemeral]', async () => {
    const session = 'add at effect';
    expect(responsesOf(session)).toEqual([{ done: true }, { order: 42 }]);
    expect(countsOf(session)).toMatchObject({ added: 1, query: 1 });
    const before = environment.gemini.requests.length;
    const next = await environment.client.sendMessage({
      ...namesOf('add', session),
      message: `call|${session}`,
    });
    expect(await next.result()).toMatchObject({ status: 'completed' });
    const later = environment.gemini.requests.slice(before).map(({ body }) => JSON.stringify(body.tools));
    expect(later).toHaveLength(2);
    expect(later.join()).not.toContain('query_42');
    expect(
      JSON.stringify(environment.gemini.requests.slice(0, before).map(({ body }) => body.tools)),
    ).toContain('query_42');
  });
});
