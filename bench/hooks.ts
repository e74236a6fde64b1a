import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { LlmAgentConfig } from '../src/agents/llm-agent.ts';
import { App } from '../src/app/app.ts';
import { BasePlugin } from '../src/plugins/base-plugin.ts';
import type { Store } from '../src/store/store.ts';
import type { Context } from '../src/tools/context.ts';
import type { DurableOptions } from '../src/tools/durable-options.ts';
import type { TurnShape } from './fake-llm.ts';
import { benchAgent, openSetting } from './setting.ts';
import { median, table } from './statistics.ts';

/**
 * Costs of callbacks, of plugin hooks and of a tool with the transcript for a turn, against a plain one in the same run: latency,
 * time of this process's processors (worker, client, store; not the server's), calls of the store. The hooks are empty, except for
 * those that write state.
 */
const { values: options } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, calls: { type: 'string', default: '10' } },
});
const rounds = Number(options.rounds);
const shape: TurnShape = { calls: Number(options.calls), parallel: false, resultBytes: 512 };

interface Kind {
  name: string;
  agent?: Partial<LlmAgentConfig>;
  tool?: Partial<DurableOptions>;
  plugins?: BasePlugin[];
}

const nothing = () => undefined;
const writes = ({ state }: Context): undefined => {
  state.set('count', (state.get<number>('count') ?? 0) + 1);
};

const HOOKS = [
  'onUserMessageCallback',
  'beforeRunCallback',
  'onEventCallback',
  'afterRunCallback',
  'beforeAgentCallback',
  'afterAgentCallback',
  'beforeModelCallback',
  'afterModelCallback',
  'beforeToolSelection',
  'beforeToolCallback',
  'afterToolCallback',
  'onToolCallCompleted',
] as const satisfies (keyof BasePlugin)[];

class Idle extends BasePlugin {}

/** A plugin that has these hooks, and does nothing in them. */
function idle(hooks: readonly (typeof HOOKS)[number][]): BasePlugin {
  return Object.assign(
    new Idle('idle'),
    Object.fromEntries(hooks.map((hook) => [hook, async () => undefined])),
  );
}

const kinds: Kind[] = [
  { name: 'plain' },
  { name: 'plain, again' },
  { name: 'beforeAgentCallback', agent: { beforeAgentCallback: nothing } },
  { name: 'beforeAgentCallback, writes state', agent: { beforeAgentCallback: writes } },
  { name: 'afterAgentCallback', agent: { afterAgentCallback: nothing } },
  { name: 'beforeModelCallback', agent: { beforeModelCallback: nothing } },
  {
    name: 'beforeModelCallback, writes state',
    agent: { beforeModelCallback: ({ context }) => writes(context) },
  },
  { name: 'afterModelCallback', agent: { afterModelCallback: nothing } },
  { name: 'beforeToolCallback', agent: { beforeToolCallback: nothing } },
  { name: 'afterToolCallback', agent: { afterToolCallback: nothing } },
  { name: 'tool with needsTranscript', tool: { needsTranscript: true } },
  ...HOOKS.map((hook) => ({ name: `plugin: ${hook}`, plugins: [idle([hook])] })),
  { name: 'plugin: all of them', plugins: [idle(HOOKS)] },
];

let storeCalls = 0;
const setting = await openSetting({ apps: kinds.map(appOf), around: counted });
try {
  const samples = kinds.map(() => ({ latency: [] as number[], cpu: [] as number[], calls: [] as number[] }));
  for (let round = 0; round < rounds + 2; round += 1) {
    for (const index of kinds.keys()) {
      // The order turns, so that what else the machine does meets all of them.
      const at = (index + round * 5) % kinds.length;
      const calls = storeCalls;
      const cpu = process.cpuUsage();
      const began = performance.now();
      await run(at);
      const { user, system } = process.cpuUsage(cpu);
      if (round < 2) continue;
      samples[at]?.latency.push(performance.now() - began);
      samples[at]?.cpu.push((user + system) / 1_000);
      samples[at]?.calls.push(storeCalls - calls);
    }
  }
  const [plain] = samples;
  const ratio = (of: readonly number[], to: readonly number[] = []) =>
    median(of.map((value, round) => value / (to[round] ?? Number.NaN))).toFixed(2);
  const rows = samples.map(({ latency, cpu, calls }, index) => [
    kinds[index]?.name ?? '',
    median(latency).toFixed(0),
    ratio(latency, plain?.latency),
    median(cpu).toFixed(0),
    ratio(cpu, plain?.cpu),
    `${median(calls)}`,
  ]);
  const head = [`${shape.calls} calls, one after another`, 'ms', 'ratio', 'CPU ms', 'ratio', 'store calls'];
  console.log(table([head, ...rows]));
} finally {
  await setting.close();
}

function appOf({ agent = {}, tool = {}, plugins = [] }: Kind, index: number): App {
  return new App({
    name: `kind-${index}`,
    rootAgent: benchAgent({ ...agent, name: `bench_${index}` }, tool),
    plugins,
  });
}

async function run(kind: number): Promise<void> {
  const turn = await setting.client.sendMessage({
    app: `kind-${kind}`,
    userId: 'u',
    sessionId: randomUUID(),
    message: JSON.stringify(shape),
  });
  const { status, error } = await turn.result();
  if (status !== 'completed') throw new Error(`turn ${status}: ${error?.message}`);
}

/** The store, its calls counted. */
function counted(store: Store): Store {
  const countedFacet = (facet: object) =>
    new Proxy(facet, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          storeCalls += 1;
          return value.apply(target, args);
        };
      },
    });
  const facets = { ...store, live: undefined };
  const counting = Object.entries(facets).flatMap(([noun, facet]) =>
    typeof facet === 'object' ? [[noun, countedFacet(facet)] as const] : [],
  );
  return { ...store, ...Object.fromEntries(counting) };
}
