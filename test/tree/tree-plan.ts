import fc from 'fast-check';

/** An agent of a made-up tree, and all that its model will say. */
export type TreePlan = TalkerPlan | CrewPlan;

export interface TalkerPlan {
  kind: 'talker';
  name: string;
  /** Whether its answer is kept in the state. */
  keeps: boolean;
  /** Whose state its instruction tells. */
  reads: readonly string[];
  include: 'default' | 'none';
  toParent: boolean;
  toPeers: boolean;
  /** One behind the other, over all turns; behind them it says that it is done. */
  script: readonly Line[];
  children: readonly TreePlan[];
}

export interface CrewPlan {
  kind: Flow;
  name: string;
  /** Of a loop. */
  rounds: number;
  children: readonly TreePlan[];
}

export type Flow = 'sequence' | 'parallel' | 'loop';

/** What a model says at one time. */
export type Line = { say: string } | { calls: readonly CallPlan[] };

export type CallPlan =
  | { call: 'write'; scope: Scope; value: number }
  | { call: 'exit_loop' }
  /** By name; also of agents that it mustn't hand on to, and that there aren't. */
  | { call: 'transfer_to_agent'; to: string };

export type Scope = (typeof SCOPES)[number];

export const SCOPES = ['', 'temp:', 'user:'] as const;

/** Nobody. */
const STRANGER = 'stranger';

interface Shape {
  kind: 'talker' | Flow;
  keeps: boolean;
  reads: number[];
  include: 'default' | 'none';
  toParent: boolean;
  toPeers: boolean;
  script: ({ say: string } | { calls: (Exclude<CallPlan, { to: string }> | { to: number })[] })[];
  rounds: number;
  children: Shape[];
}

const line: fc.Arbitrary<Shape['script'][number]> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ say: fc.constantFrom('yes', 'no', 'well') }) },
  {
    weight: 3,
    arbitrary: fc.record({
      calls: fc.array(
        fc.oneof(
          {
            weight: 4,
            arbitrary: fc.record({
              call: fc.constant('write' as const),
              scope: fc.constantFrom(...SCOPES),
              value: fc.nat(99),
            }),
          },
          { weight: 1, arbitrary: fc.constant({ call: 'exit_loop' as const }) },
          { weight: 3, arbitrary: fc.record({ to: fc.nat(9) }) },
        ),
        { minLength: 1, maxLength: 3 },
      ),
    }),
  },
);

/** So many agents below one another. */
const DEPTH = 4;

function shapeOf(depth: number): fc.Arbitrary<Shape> {
  return fc.record({
    kind: fc.constantFrom<Shape['kind'][]>('talker', 'talker', 'sequence', 'parallel', 'loop'),
    keeps: fc.boolean(),
    reads: fc.array(fc.nat(9), { maxLength: 3 }),
    include: fc.constantFrom('default', 'default', 'default', 'none'),
    toParent: fc.constantFrom(true, true, false),
    toPeers: fc.constantFrom(true, true, false),
    script: fc.array(line, { maxLength: 4 }),
    rounds: fc.integer({ min: 1, max: 3 }),
    children: depth === 1 ? fc.constant([]) : fc.array(shapeOf(depth - 1), { maxLength: 3 }),
  });
}

const shape = shapeOf(DEPTH);

/** Trees of a seed, the root of each named after it: roots are unique in a worker, other names only in their tree. */
export function treesOf(seed: number, count: number, fits: (plan: TreePlan) => boolean): TreePlan[] {
  const plans: TreePlan[] = [];
  for (let at = 0; plans.length < count; at += 1) {
    const [sample] = fc.sample(shape, { seed: seed + at, numRuns: 1 });
    const plan = named(sample as Shape, `root_${plans.length}`);
    if (fits(plan)) plans.push(plan);
  }
  return plans;
}

function named(root: Shape, rootName: string): TreePlan {
  const names = new Map<Shape, string>();
  /** Those that run at the same time as an agent may have written or not. */
  const beside = new Map<string, Set<string>>();
  const name = (each: Shape): string[] => {
    const own = names.size === 0 ? rootName : `agent_${names.size}`;
    names.set(each, own);
    const below = each.children.map(name);
    if (each.kind === 'parallel') {
      for (const lane of below) {
        const others = below.filter((other) => other !== lane).flat();
        for (const one of lane) beside.set(one, new Set([...(beside.get(one) ?? []), ...others]));
      }
    }
    return [own, ...below.flat()];
  };
  const all = name(root);
  const pick = (index: number) => all[index % all.length] as string;
  const planned = (each: Shape, peers: number | undefined): TreePlan => {
    const own = names.get(each) as string;
    const isTalker = each.kind === 'talker' || each.children.length === 0;
    const children = each.children.map((child) =>
      planned(child, isTalker ? each.children.length - 1 : undefined),
    );
    if (each.kind !== 'talker' && children.length > 0) {
      return { kind: each.kind, name: own, rounds: each.rounds, children };
    }
    const handsOn =
      children.length > 0 || (peers !== undefined && (each.toParent || (each.toPeers && peers > 0)));
    const reads = [...new Set(each.reads.map(pick))].filter((other) => !beside.get(own)?.has(other));
    return {
      kind: 'talker',
      name: own,
      keeps: each.keeps,
      reads,
      include: each.include,
      toParent: each.toParent,
      toPeers: each.toPeers,
      script: each.script.map((line) =>
        'say' in line ? line : lineOf(line.calls, handsOn ? all : undefined),
      ),
      children,
    };
  };
  return planned(root, undefined);
}

/**
 * One transfer at a time.
 *
 * @param all whom it may think of; undefined for who can't hand on at all.
 */
function lineOf(
  given: Extract<Shape['script'][number], { calls: unknown }>['calls'],
  all: readonly string[] | undefined,
): Line {
  const first = given.find((each) => 'to' in each);
  const calls = given.flatMap((each): CallPlan[] => {
    if (!('to' in each)) return [each];
    if (each !== first || all === undefined) return [];
    return [{ call: 'transfer_to_agent', to: [...all, STRANGER][each.to % (all.length + 1)] as string }];
  });
  return calls.length === 0 ? { say: 'well' } : { calls };
}

export function agentsOf(plan: TreePlan): TreePlan[] {
  return [plan, ...plan.children.flatMap(agentsOf)];
}
