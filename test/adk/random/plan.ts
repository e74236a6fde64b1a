import fc from 'fast-check';

/** What a hook does: it counts under a key of the state, and answers each time that the count is a multiple of `every`. */
export interface Act {
  key: string;
  /** Zero: never. */
  every: number;
}

export interface Plan {
  instruction: string;
  includeContents: 'default' | 'none';
  outputKey: string | undefined;
  isStream: boolean;
  callbacks: Partial<Record<AgentHook, Act[]>>;
  plugins: Partial<Record<PluginHook, Act>>[];
  script: Step[];
  turns: TurnPlan[];
}

export type AgentHook =
  | 'agent before'
  | 'agent after'
  | 'model before'
  | 'model after'
  | 'tool before'
  | 'tool after';
export type PluginHook =
  | 'message'
  | 'run before'
  | 'run after'
  | 'event'
  | 'error'
  | Exclude<AgentHook, 'agent before' | 'agent after'>;

export type Step = { say: string; thought: boolean } | { call: ToolName[]; words: boolean } | 'fails';
export type ToolName = (typeof TOOLS)[number];
export type TurnPlan = { say: string; delta: number | undefined } | 'answers';

const TOOLS = ['count', 'echo', 'breaks', 'ends', 'waits', 'weather'] as const;
const WORDS = ['Yes.', 'No.', 'Three degrees.', 'Ask again.'];
const KEYS = ['n', 'm', 'user:n', 'app:n', 'temp:n'];

/** However many steps the turns take, each comes to its end. */
const LAST: Step[] = Array.from({ length: 8 }, () => ({ say: 'Enough.', thought: false }));

const act: fc.Arbitrary<Act> = fc.record({
  key: fc.constantFrom(...KEYS),
  every: fc.constantFrom(0, 0, 0, 1, 2, 3),
});
const acts = fc.option(fc.array(act, { minLength: 1, maxLength: 2 }), { nil: undefined, freq: 2 });
const hook = fc.option(act, { nil: undefined, freq: 3 });

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ say: fc.constantFrom(...WORDS), thought: fc.boolean() }) },
  {
    weight: 6,
    arbitrary: fc.record({
      call: fc.array(fc.constantFrom(...TOOLS), { minLength: 1, maxLength: 3 }),
      words: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Step>('fails') },
);

const turn: fc.Arbitrary<TurnPlan> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      say: fc.constantFrom(...WORDS),
      delta: fc.option(fc.nat(9), { nil: undefined }),
    }),
  },
  { weight: 1, arbitrary: fc.constant<TurnPlan>('answers') },
);

const plan: fc.Arbitrary<Plan> = fc.record({
  instruction: fc.constantFrom('Be brief.', 'At {n?}, {user:n?}, {app:n?}, {temp:n?}.', ''),
  includeContents: fc.constantFrom('default', 'default', 'none'),
  outputKey: fc.option(fc.constantFrom('said', 'user:said'), { nil: undefined, freq: 1 }),
  isStream: fc.boolean(),
  callbacks: fc.record({
    'agent before': acts,
    'agent after': acts,
    'model before': acts,
    'model after': acts,
    'tool before': acts,
    'tool after': acts,
  }),
  plugins: fc.array(
    fc.record({
      message: hook,
      'run before': hook,
      'run after': hook,
      event: hook,
      error: hook,
      'model before': hook,
      'model after': hook,
      'tool before': hook,
      'tool after': hook,
    }),
    { maxLength: 2 },
  ),
  script: fc.array(step, { minLength: 24, maxLength: 24 }),
  turns: fc.array(turn, { minLength: 1, maxLength: 3 }),
});

/** Plans of a seed, without what is known to differ on purpose. */
export function plansOf(seed: number, count: number): Plan[] {
  return fc.sample(plan, { seed, numRuns: count }).map(withoutDifferences);
}

/** Each rule is a deviation that has its scenario. */
function withoutDifferences(given: Plan): Plan {
  const { outputKey, callbacks, plugins } = given;
  const hooks = [callbacks, ...plugins];
  // What callbacks have written stays on the event of a model's error.
  const mayFail = !hooks.some((of) => of['model before'] ?? of['model after']);
  // `outputKey` is for texts only.
  const isKnown = (name: ToolName) => outputKey === undefined || (name !== 'ends' && name !== 'waits');
  const script = given.script
    .filter((each) => mayFail || each !== 'fails')
    .map((each): Step => {
      if (each === 'fails') return each;
      if ('say' in each) return { ...each, thought: each.thought && outputKey === undefined };
      const call = each.call.filter(isKnown);
      return { ...each, call: call.length === 0 ? ['echo'] : call };
    });
  const turns = given.turns.filter((each) => each !== 'answers' || given.includeContents === 'default');
  const first: TurnPlan = { say: 'Hi', delta: undefined };
  // Plugins see what is said before a run, too.
  const speaksFirst = plugins.some((of) => of['run before'] !== undefined);
  const seen = speaksFirst ? plugins.map(({ event: _event, ...rest }) => rest) : plugins;
  return {
    ...given,
    script: [...script, ...LAST],
    plugins: seen,
    turns: turns[0] === undefined || turns[0] === 'answers' ? [first, ...turns] : turns,
  };
}
