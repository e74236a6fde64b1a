import { randomUUID } from 'node:crypto';
import { App } from '../src/app/app.ts';
import type { BareTurn } from './bare-workflows.ts';
import type { TurnShape } from './fake-llm.ts';
import { BARE_QUEUE, benchAgent, openSetting, type Setting } from './setting.ts';
import { median } from './statistics.ts';
import { type Cpu, type CpuMeter, cpuOf, openCpuMeter } from './thread-cpu.ts';

/**
 * Two bare workflows, and a turn in each way to run its calls. `bare` has the same activities, empty; in `bare+write` each does one
 * insert into the same store. By default each call is an activity, `inline` runs calls in the activity of their step, and `chain`
 * runs the steps after that there too.
 */
export const KINDS = ['bare', 'bare+write', 'default', 'inline', 'chain'] as const;
export type Kind = (typeof KINDS)[number];

const AGENTS: Partial<Record<Kind, () => ReturnType<typeof benchAgent>>> = {
  inline: () => benchAgent({ name: 'inline_bench' }, { execution: 'inline' }),
  chain: () => benchAgent({ name: 'chain_bench', steps: 'chain' }, { execution: 'inline' }),
};

export interface Round {
  /** Milliseconds: of all turns of the round, and of each. */
  elapsed: number;
  latencies: number[];
  /** The mean of the turns. */
  cpu: Cpu;
}

/** Rounds of one shape by kind. Rounds of one number ran one after another. */
export type Sample = Map<Kind, Round[]>;

export interface TurnBench {
  setting: Setting;
  meter: CpuMeter;
  kinds: readonly Kind[];
  /** Runs one turn to its end, and gives the id of its workflow. */
  run(kind: Kind, shape: TurnShape): Promise<string>;
  sample(shape: TurnShape, rounds: number, atOnce?: number): Promise<Sample>;
}

/** @param names of kinds, separated by commas */
export async function openTurnBench(names: string): Promise<TurnBench> {
  const kinds = KINDS.filter((kind) => names.split(',').includes(kind));
  const apps = kinds.flatMap((kind) => {
    const rootAgent = AGENTS[kind]?.();
    return rootAgent ? [new App({ name: kind, rootAgent })] : [];
  });
  const setting = await openSetting({ apps });
  const meter = await openCpuMeter(setting);
  const run = async (kind: Kind, shape: TurnShape) => await runTurn(setting, kind, shape);
  return {
    ...{ setting, meter, kinds, run },
    async sample(shape, rounds, atOnce = 1) {
      const sample: Sample = new Map(kinds.map((kind) => [kind, []]));
      for (let round = 0; round < rounds; round++) {
        for (const kind of round % 2 === 0 ? kinds : kinds.toReversed()) {
          const latencies: number[] = [];
          let elapsed = 0;
          const cpu = await meter.during(async () => {
            const started = performance.now();
            await Promise.all(
              Array.from({ length: atOnce }, async () => {
                await run(kind, shape);
                latencies.push(performance.now() - started);
              }),
            );
            elapsed = performance.now() - started;
          });
          sample.get(kind)?.push({ elapsed, latencies, cpu: cpuOf((place) => cpu[place] / atOnce) });
        }
      }
      return sample;
    },
  };
}

/** Median of the pairs' ratios; NaN where a kind was not measured. */
export function ratioOf(sample: Sample, kind: Kind, to: Kind, figure: (round: Round) => number): number {
  const others = (sample.get(to) ?? []).map(figure);
  return median(
    (sample.get(kind) ?? []).map((round, index) => figure(round) / (others[index] ?? Number.NaN)),
  );
}

/** @param name such as `10` for calls one after another, `50p` for calls of one step */
export function shapeOf(name: string): TurnShape {
  return { calls: Number.parseInt(name, 10), parallel: name.endsWith('p'), resultBytes: 512 };
}

async function runTurn({ temporal, client }: Setting, kind: Kind, shape: TurnShape): Promise<string> {
  const sessionId = randomUUID();
  if (kind === 'bare' || kind === 'bare+write') {
    const turn: BareTurn = { ...shape, writes: kind === 'bare+write' ? 1 : 0 };
    const workflowId = `bench/u/${sessionId}`;
    await temporal.workflow.execute('bareTurn', { workflowId, taskQueue: BARE_QUEUE, args: [turn] });
    return workflowId;
  }
  const app = kind === 'default' ? 'bench' : kind;
  const message = JSON.stringify(shape);
  const turn = await client.sendMessage({ app, userId: 'u', sessionId, message });
  const { status, error } = await turn.result();
  if (status !== 'completed') throw new Error(`turn ${status}: ${error?.message}`);
  return turn.workflowId;
}
