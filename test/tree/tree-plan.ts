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
  /** Agents that are its tools: roots of trees of their own. */
  helpers: readonly TreePlan[];
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
  | { call: 'transfer_to_agent'; to: string }
  | { call: 'ask'; helper: string; request: string };

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
  script: ({ say: string } | { calls: ShapedCall[] })[];
  rounds: number;
  children: Shape[];
  helpers: Shape[];
}

type ShapedCall =
  | Exclude<CallPlan, { to: string } | { helper: string }>
  | { to: number }
  | { helper: number };

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
          { weight: 3, arbitrary: fc.record({ helper: fc.nat(9) }) },
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
    helpers: depth < 3 ? fc.constant([]) : fc.array(shapeOf(depth - 2), { maxLength: 2 }),
  });
}

const shape = shapeOf(DEPTH);

/** Trees of a seed, the root of each named after it: roots are unique in a worker, other names only in their tree. */
export function treesOf(
  seed: number,
  count: number,
  fits: (plan: TreePlan, index: number) => boolean,
): TreePlan[] {
  const plans: TreePlan[] = [];
  for (let at = 0; plans.length < count; at += 1) {
    const [sample] = fc.sample(shape, { seed: seed + at, numRuns: 1 });
    const plan = named(sample as Shape, `root_${plans.length}`);
    if (fits(plan, plans.length)) plans.push(plan);
  }
  return plans;
}

/** Names of agents: of a tree, and with all that its agents have for tools. */
interface Names {
  tree: string[];
  everyone: string[];
}

function named(root: Shape, rootName: string): TreePlan {
  const names = new Map<Shape, string>();
  const trees = new Map<Shape, Names>();
  /** Those that run at the same time as an agent may have written or not. */
  const beside = new Map<string, Set<string>>();
  const name = (each: Shape): Names => {
    const own = names.size === 0 ? rootName : `agent_${names.size}`;
    names.set(each, own);
    const below = each.children.map(name);
    const helpers = each.helpers.map(name);
    for (const [index, helper] of each.helpers.entries()) trees.set(helper, helpers[index] as Names);
    if (each.kind === 'parallel') {
      for (const lane of below) {
        const others = below.filter((other) => other !== lane).flatMap(({ everyone }) => everyone);
        for (const one of lane.everyone) beside.set(one, new Set([...(beside.get(one) ?? []), ...others]));
      }
    }
    return {
      tree: [own, ...below.flatMap(({ tree }) => tree)],
      everyone: [own, ...[...below, ...helpers].flatMap(({ everyone }) => everyone)],
    };
  };
  trees.set(root, name(root));

  const planned = (each: Shape, all: Names, peers?: number): TreePlan => {
    const own = names.get(each) as string;
    const isTalker = each.kind === 'talker' || each.children.length === 0;
    const children = each.children.map((child) =>
      planned(child, all, isTalker ? each.children.length - 1 : undefined),
    );
    if (each.kind !== 'talker' && children.length > 0) {
      return { kind: each.kind, name: own, rounds: each.rounds, children };
    }
    const handsOn =
      children.length > 0 || (peers !== undefined && (each.toParent || (each.toPeers && peers > 0)));
    const helpers = each.helpers.map((helper) => planned(helper, trees.get(helper) as Names));
    // Those of one step run at the same time, so each knows its own tree only.
    const known = all === trees.get(root) ? all.everyone : all.tree;
    const reads = new Set(each.reads.map((index) => known[index % known.length] as string));
    return {
      kind: 'talker',
      name: own,
      keeps: each.keeps,
      reads: [...reads].filter((other) => !beside.get(own)?.has(other)),
      include: each.include,
      toParent: each.toParent,
      toPeers: each.toPeers,
      script: each.script.map((line, at) => {
        if ('say' in line) return line;
        return lineOf(line.calls, { others: handsOn ? all.tree : [], helpers, request: `request ${at}` });
      }),
      children,
      helpers,
    };
  };
  return planned(root, trees.get(root) as Names);
}

/** Whom an agent can call. */
interface Callable {
  /** Whom it may think of handing the turn on to; none for who can't hand on at all. */
  others: readonly string[];
  helpers: readonly TreePlan[];
  request: string;
}

/** At most one transfer at a time, and each helper once. */
function lineOf(given: readonly ShapedCall[], { others, helpers, request }: Callable): Line {
  const taken = new Set<string>();
  const calls = given.flatMap((each): CallPlan[] => {
    if ('to' in each) {
      if (others.length === 0 || taken.has('transfer')) return [];
      taken.add('transfer');
      const to = [...others, STRANGER][each.to % (others.length + 1)] as string;
      return [{ call: 'transfer_to_agent', to }];
    }
    if ('helper' in each) {
      const helper = helpers[each.helper % Math.max(1, helpers.length)];
      if (helper === undefined || taken.has(helper.name)) return [];
      taken.add(helper.name);
      return [{ call: 'ask', helper: helper.name, request }];
    }
    return [each];
  });
  return calls.length === 0 ? { say: 'well' } : { calls };
}

/** The agents of a tree. */
export function agentsOf(plan: TreePlan): TreePlan[] {
  return [plan, ...plan.children.flatMap(agentsOf)];
}

/** With those that are tools. */
export function everyoneOf(plan: TreePlan): TreePlan[] {
  const helpers = plan.kind === 'talker' ? plan.helpers : [];
  return [plan, ...[...plan.children, ...helpers].flatMap(everyoneOf)];
}
