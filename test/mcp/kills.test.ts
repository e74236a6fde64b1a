import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { linkUrl, signApprovalLink } from '../../src/approvals/approval-link.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { getFunctionResponses } from '../../src/events/event.ts';
import { networkAccess, serveGateway } from '../../src/gateway/index.ts';
import type { MCPConnectionParams } from '../../src/tools/mcp/connection-params.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import { ABOUT, collecting } from '../gateway/gateway-stub.ts';
import { readPage, sendForm } from '../pages/browser-form.ts';
import { CrashScene, CrashServer } from '../setup/crash-scene.ts';
import { freePort } from '../setup/free-port.ts';
import { stepCalls } from '../setup/scripts.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';
import type { StoreOperation } from '../setup/wrapped-store.ts';
import type { KilledServerOptions } from './killed-server-program.ts';
import { startTaskServer, type TaskServer } from './task-server.ts';

let server: CrashServer;
let farm: TaskServer;

const script = stepCalls([[{ name: 'render', args: { film: 'Metropolis' } }]]);
const rendered = { content: [{ type: 'text', text: 'rendered' }] };
const inputRequests = {
  size: {
    method: 'elicitation/create',
    params: {
      message: 'Which size?',
      requestedSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
    },
  },
};

/** Plays a call that a worker begins, and another one finishes, with a question between. */
async function play(
  hang: { when: 'before' | 'after'; operation: StoreOperation; call: number },
  { asked, answered }: { asked: () => Promise<unknown>; answered: () => void },
): Promise<void> {
  await using _farm = farm;
  await CrashScene.play(server, script, async (scene) => {
    const variables = { MCP_SERVER_OF_TEST: farm.url };
    const worker = await scene.startWorker(hang, { variables });
    const turn = await scene.client.sendMessage(scene.turn);
    await asked();
    await worker.hanging;
    await worker.kill();
    await scene.startWorker(undefined, { variables });
    const { requestId } = await scene.withStore((store) =>
      until(async () => {
        const [found] = await store.approvals.list({ ...scene.names, status: ['pending'] });
        if (found === undefined) throw new Error('nobody was asked');
        return found;
      }),
    );
    answered();
    await scene.answer(requestId, { size: '4K' });
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(scene.told(1)).toEqual({ output: 'rendered' });
  });
}

const key = randomBytes(32).toString('base64');
const credentialKeys = { k1: key };

/** Answers by the form of a signed link, at a gateway that runs elsewhere. */
async function answeredByLink(scene: CrashScene, size: string): Promise<void> {
  await scene.withStore(async (store) => {
    const { session, requestId }: ApprovalRow = await until(async () => {
      const [found] = await store.approvals.list({ ...scene.names, status: ['pending'] });
      if (found === undefined) throw new Error('nobody was asked');
      return found;
    });
    await scene.worker?.kill();
    const { temporal, folder: taskQueue } = scene;
    const gateway = {
      ...{ client: new HoldfastClient({ temporal, store, taskQueue, credentialKeys }), credentialKeys },
      ...{ records: store, access: networkAccess({}), logger: collecting([]) },
      ...{ about: () => ABOUT, ready: async () => ({}) },
    };
    const served = await serveGateway({ gateway });
    try {
      const terms = { session, requestId, approver: 'mira' };
      const url = linkUrl(served.url, signApprovalLink(credentialKeysOf(credentialKeys), terms, Date.now()));
      const sent = await sendForm(url, await readPage(url), { 'in-0': size, do: 'answer' });
      expect(sent.status).toBeLessThan(400);
    } finally {
      await served.close();
    }
  });
}

type Boundary = readonly [when: 'before' | 'after', operation: StoreOperation, call: number];

const BOUNDARIES: readonly Boundary[] = [
  ['after', 'turns.recordOnce', 1],
  ['before', 'jobs.park', 1],
  ['after', 'jobs.park', 1],
  ['before', 'jobs.resume', 1],
  ['after', 'jobs.resume', 1],
];

const MAY_HAVE_RUN = {
  error: expect.stringMatching(/^outcome unknown: this call may have run; check before repeating it/),
};
const RENDERED = { output: 'rendered' };
/** Moments of a worker's death around an ordinary call, with the response that the model gets, and the number of calls at the server. */
const AROUND_CALL: readonly {
  moment: string;
  hang?: { when: 'before' | 'after'; operation: StoreOperation; call: number };
  policy?: 'retry';
  told: object;
  effects: number;
}[] = [
  { moment: 'in the call', told: MAY_HAVE_RUN, effects: 1 },
  {
    moment: 'before the call has begun',
    hang: { when: 'before', operation: 'turns.beginCall', call: 1 },
    ...{ told: RENDERED, effects: 1 },
  },
  {
    moment: 'after the call has begun, and before it is sent',
    hang: { when: 'after', operation: 'turns.beginCall', call: 1 },
    ...{ told: MAY_HAVE_RUN, effects: 0 },
  },
  {
    moment: 'after the answer, and before its record',
    hang: { when: 'before', operation: 'turns.settleCall', call: 1 },
    ...{ told: MAY_HAVE_RUN, effects: 1 },
  },
  {
    moment: 'after the record',
    hang: { when: 'after', operation: 'turns.settleCall', call: 1 },
    ...{ told: RENDERED, effects: 1 },
  },
  { moment: 'in a call that may be repeated', policy: 'retry', told: RENDERED, effects: 2 },
];

describe('a worker that is killed', () => {
  beforeAll(async () => {
    server = await CrashServer.open();
  });
  beforeEach(async () => {
    farm = await startTaskServer('2026-07-28');
  });
  afterAll(() => server.close());

  test.each(inTier(BOUNDARIES.slice(0, 1), BOUNDARIES))(
    '%s %s leaves the task of an MCP server to another one, which asks people [mcp.tasks.kill]',
    async (when, operation, call) => {
      await play(
        { when, operation, call },
        {
          asked: async () => {
            await until(() => expect(farm.effects).toBe(1));
            if (operation !== 'turns.recordOnce')
              await until(() => expect(farm.of('tasks/get').length).toBeGreaterThan(0));
            farm.task = { status: 'input_required', inputRequests };
          },
          answered: () => {
            farm.task = { status: 'completed', result: rendered };
          },
        },
      );
      expect(farm.effects).toBe(1);
      expect(farm.of('tasks/update').map(({ params }) => params.inputResponses)).toEqual([
        { size: { action: 'accept', content: { size: '4K' } } },
      ]);
    },
    120_000,
  );

  if (isDeep) {
    test('after the questions of a call leaves them to another one, which sends the answers [mcp.tasks.kill]', async () => {
      farm.answersCall = { resultType: 'input_required', inputRequests, requestState: 'state-1' };
      await play(
        { when: 'after', operation: 'turns.recordOnce', call: 1 },
        {
          asked: () => until(() => expect(farm.effects).toBe(1)),
          answered: () => {
            farm.answersCall = { ...rendered, resultType: 'complete' };
          },
        },
      );
      expect(farm.of('tools/call').map(({ params }) => params.requestState)).toEqual([undefined, 'state-1']);
    });

    test('after its server has asked is replaced by another one, which sends what a signed link has answered meanwhile [mcp.tasks.kill]', async () => {
      await using _farm = farm;
      farm.answersCall = { resultType: 'input_required', inputRequests, requestState: 'state-1' };
      await CrashScene.play(server, script, async (scene) => {
        const variables = { MCP_SERVER_OF_TEST: farm.url, HOLDFAST_CREDENTIAL_KEYS: `k1:${key}` };
        await scene.startWorker(undefined, { variables });
        const turn = await scene.client.sendMessage(scene.turn);
        await answeredByLink(scene, '4K');
        farm.answersCall = { ...rendered, resultType: 'complete' };
        await scene.startWorker(undefined, { variables });
        expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
        expect(scene.told(1)).toEqual({ output: 'rendered' });
      });
      expect(
        farm
          .of('tools/call')
          .map(({ params: { requestState, inputResponses } }) => [requestState, inputResponses]),
      ).toEqual([
        [undefined, undefined],
        ['state-1', { size: { action: 'accept', content: { size: '4K' } } }],
      ]);
    });

    test.each(AROUND_CALL)(
      '$moment: a tool over HTTP is called again only where that was asked for, and the model is told [mcp.kill]',
      async ({ hang, policy, told, effects }) => {
        await using _farm = farm;
        farm.answersCall = { ...rendered, resultType: 'complete' };
        const held = Promise.withResolvers<void>();
        if (hang === undefined) farm.holdsCall = held.promise;
        await CrashScene.play(server, script, async (scene) => {
          const variables = {
            MCP_SERVER_OF_TEST: farm.url,
            ...(policy === undefined ? {} : { MCP_UNKNOWN_OF_TEST: policy }),
          };
          const worker = await scene.startWorker(hang, { variables });
          const turn = await scene.client.sendMessage(scene.turn);
          await (hang === undefined ? until(() => expect(farm.effects).toBe(1)) : worker.hanging);
          await worker.kill();
          held.resolve();
          await scene.startWorker(undefined, { variables });
          expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
          expect(scene.told(1)).toEqual(told);
        });
        expect(farm.effects).toBe(effects);
        const keys = farm
          .of('tools/call')
          .map(({ params }) => (params._meta as Record<string, unknown>)['holdfast/idempotency-key']);
        expect(new Set(keys).size).toBe(Math.min(effects, 1));
      },
    );

    test('leaves no process of a server that it has started [mcp.kill] [mcp.processes]', async () => {
      await using _farm = farm;
      const folder = mkdtempSync(join(tmpdir(), 'holdfast-left-'));
      const way = 'standard input and output';
      const options: KilledServerOptions = { folder, way, port: 0, isIdempotent: false };
      writeFileSync(join(folder, 'hold'), 'after its effect');
      try {
        const act = stepCalls([[{ name: 'act', args: {} }]]);
        await CrashScene.play(server, act, async (scene) => {
          const variables = { MCP_PROGRAM_OF_TEST: JSON.stringify([PROGRAM, JSON.stringify(options)]) };
          const worker = await scene.startWorker(undefined, { variables });
          await scene.client.sendMessage(scene.turn);
          await until(() => expect(linesOf(folder, 'effects')).toHaveLength(1));
          expect(aliveIn(folder)).toHaveLength(1);
          await worker.kill();
          await until(() => expect(aliveIn(folder)).toEqual([]));
        });
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    });
  }
});

const PROGRAM = fileURLToPath(new URL('./killed-server-program.ts', import.meta.url));
const PATIENT = { maximumAttempts: 100, initialInterval: 200, maximumInterval: 500 };
const UNKNOWN = { error: expect.stringContaining('may have run') };
const ACTED = { output: 'acted' };
const SEEN = { output: 'seen' };

const WAYS = ['HTTP of 2025', 'HTTP of 2026', 'standard input and output'] as const;
/**
 * What the model is told of a call of a tool that is not idempotent, and the effects of the call. A call of an idempotent tool ends well,
 * with one effect: `calls` are the requests that its server gets for that.
 */
const MOMENTS = [
  { moment: 'before the call', told: ACTED, effects: 1, calls: 1 },
  { moment: 'before its effect', told: UNKNOWN, effects: 0, calls: 2 },
  { moment: 'after its effect', told: UNKNOWN, effects: 1, calls: 2 },
  { moment: 'after its answer', told: ACTED, effects: 1, calls: 1 },
] as const;
const KILLS = WAYS.flatMap((way) =>
  MOMENTS.flatMap((row) => [
    { ...row, way, kind: 'a', calls: 1 },
    { ...row, way, kind: 'an idempotent', told: ACTED, effects: 1 },
  ]),
)
  .map((row, index) => ({ ...row, agent: `agent_${index}` }))
  .filter(
    ({ way, kind, moment }) =>
      isDeep || (way === 'HTTP of 2026' && kind === 'a' && moment === 'after its effect'),
  );
type Kill = (typeof KILLS)[number];

/** An MCP server that is a process of its own, and the agent that uses it. */
class KilledServer {
  readonly folder = mkdtempSync(join(tmpdir(), 'holdfast-killed-'));
  readonly agent: LlmAgent;
  readonly #program: string[];
  readonly #isHttp: boolean;
  #isKilled = false;

  constructor({ way, kind, moment, agent: name }: Kill, port: number) {
    const { folder } = this;
    const options: KilledServerOptions = { folder, way, port, isIdempotent: kind === 'an idempotent' };
    this.#program = [PROGRAM, JSON.stringify(options)];
    this.#isHttp = way !== 'standard input and output';
    const params: MCPConnectionParams = this.#isHttp
      ? { type: 'StreamableHTTPConnectionParams', url: `http://127.0.0.1:${port}/mcp` }
      : {
          type: 'StdioConnectionParams',
          serverParams: { command: process.execPath, args: this.#program },
        };
    const toolset = new MCPToolset(params, [], undefined, {
      trustAnnotations: true,
      defaults: { retry: PATIENT },
    });
    const killed = async (tool: string, at: Kill['moment']) => {
      if (tool === 'act' && at === moment && !this.#isKilled) await this.kill();
      return undefined;
    };
    this.agent = new LlmAgent({
      ...{ name, model: 'gemini-2.5-flash', tools: [toolset], modelRetry: PATIENT },
      beforeToolCallback: ({ tool }) => killed(tool.name, 'before the call'),
      afterToolCallback: ({ tool }) => killed(tool.name, 'after its answer'),
    });
    if (isHeld(moment)) writeFileSync(join(folder, 'hold'), moment);
  }

  lines(name: SeenFile): string[] {
    return linesOf(this.folder, name);
  }

  alive(): number[] {
    return aliveIn(this.folder);
  }

  /** Does nothing for a server that its client starts. */
  async start(): Promise<void> {
    if (!this.#isHttp) return;
    const { length } = this.lines('pids');
    spawn(process.execPath, this.#program, { stdio: ['ignore', 'ignore', 'inherit'] });
    await until(() => expect(this.lines('pids')).toHaveLength(length + 1));
  }

  async kill(): Promise<void> {
    // It has read this by now, and is to hold no later call.
    rmSync(join(this.folder, 'hold'), { force: true });
    for (const pid of this.alive()) process.kill(pid, 'SIGKILL');
    await until(() => expect(this.alive()).toEqual([]));
    this.#isKilled = true;
  }

  /** Waits for the moment, kills, and starts again once the worker has missed the server. */
  async killedAt(moment: Kill['moment'], isMissed: () => Promise<boolean>): Promise<void> {
    if (isHeld(moment)) {
      const seen = moment === 'before its effect' ? 'calls' : 'effects';
      await until(() => expect(this.lines(seen)).toHaveLength(1));
      await this.kill();
    }
    await until(() => expect(this.#isKilled).toBe(true));
    if (!this.#isHttp) return;
    await until(async () => expect(await isMissed()).toBe(true));
    await this.start();
  }
}

type SeenFile = 'pids' | 'calls' | 'effects';

function linesOf(folder: string, name: SeenFile): string[] {
  const file = join(folder, name);
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [];
}

function aliveIn(folder: string): number[] {
  return linesOf(folder, 'pids').map(Number).filter(isAlive);
}

/** The server stops there, and waits for its end. The other moments are the agent's. */
function isHeld(moment: Kill['moment']): boolean {
  return moment.endsWith('its effect');
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    // There is no such process.
    return false;
  }
}

describe('an MCP server that is killed', () => {
  const servers = new Map<string, KilledServer>();
  let environment: TurnEnvironment;

  beforeAll(async () => {
    for (const row of KILLS) servers.set(row.agent, new KilledServer(row, await freePort()));
    environment = await openTurnEnvironment({
      agents: [...servers.values()].map(({ agent }) => agent),
      script: stepCalls(['look', 'act', 'look'].map((name) => [{ name, args: {} }])),
    });
  });
  afterAll(async () => {
    await environment?.close();
    for (const killed of servers.values()) {
      await killed.kill();
      rmSync(killed.folder, { recursive: true, force: true });
    }
  });

  test.concurrent.each(KILLS)(
    '$moment in a turn, of $kind tool, over $way: the turn goes on, and so does its session [mcp.kill]',
    async ({ agent, moment, told, effects, calls }) => {
      const killed = servers.get(agent) as KilledServer;
      const { client, store, temporal } = environment;
      const names = { app: 'test', userId: 'ada', sessionId: agent };
      const responses = async () =>
        (await store.sessions.readEvents(names))
          .flatMap(({ event }) => getFunctionResponses(event))
          .map(({ response }) => response);
      await killed.start();
      const turn = await client.sendMessage({ ...names, agent, message: 'go' });
      await killed.killedAt(moment, async () => {
        const { raw } = await temporal.workflow.getHandle(turn.workflowId).describe();
        return raw.pendingActivities?.some(({ lastFailure }) => lastFailure) ?? false;
      });
      expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
      expect(await responses()).toEqual([SEEN, told, SEEN]);
      expect(killed.lines('effects')).toHaveLength(effects);
      expect(killed.lines('calls')).toHaveLength(calls);
      expect(new Set(killed.lines('calls')).size).toBe(1);
      expect(killed.alive()).toHaveLength(1);

      // Between turns, and there again before the next one: over HTTP the worker has not heard of it.
      await killed.kill();
      await killed.start();
      const next = await client.sendMessage({ ...names, agent, message: 'again' });
      expect(await next.result()).toMatchObject({ status: 'completed', text: 'done' });
      expect((await responses()).slice(3)).toEqual([SEEN, ACTED, SEEN]);
      expect(killed.lines('effects')).toHaveLength(effects + 1);
      expect(killed.alive()).toHaveLength(1);
    },
  );

  if (isDeep) {
    test('leaves no process that its worker has started [mcp.kill] [mcp.processes]', async () => {
      await environment.stopWorker();
      const started = KILLS.filter(({ way }) => way === 'standard input and output');
      for (const { agent } of started) {
        const killed = servers.get(agent) as KilledServer;
        expect(killed.lines('pids').length).toBeGreaterThan(1);
        await until(() => expect(killed.alive()).toEqual([]));
      }
    });
  }
});
