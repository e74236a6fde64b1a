import { isRecord } from './json.ts';

/** Keys of the state under which agents keep their plans: with the agent's name behind it. */
export const PLAN_STATE_PREFIX = 'plan_of_';

const MARKS: Readonly<Record<string, string>> = { pending: '☐', in_progress: '▸', done: '☑' };
/** The state may have been written by anybody. */
const MOST_PLANS = 10;
const MOST_ITEMS = 50;
const LONGEST_ITEM = 200;

/** A plan as people read it. */
export interface ShownPlan {
  agent: string;
  /** One for each step: a mark of its status, and its text. Not yet made visible. */
  lines: string[];
}

/** The plans of agents in a state, or in a delta of it. */
export function plansIn(state: Readonly<Record<string, unknown>> = {}): ShownPlan[] {
  const plans = Object.entries(state).flatMap(([key, items]) => {
    if (!key.startsWith(PLAN_STATE_PREFIX) || !Array.isArray(items)) return [];
    const lines = items.slice(0, MOST_ITEMS).flatMap((item: unknown) => {
      if (!isRecord(item) || typeof item.text !== 'string') return [];
      return [`${MARKS[String(item.status)] ?? MARKS.pending} ${item.text.slice(0, LONGEST_ITEM)}`];
    });
    return lines.length === 0 ? [] : [{ agent: key.slice(PLAN_STATE_PREFIX.length), lines }];
  });
  return plans.slice(0, MOST_PLANS);
}
