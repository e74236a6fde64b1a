import { z } from 'zod';
import { PLAN_STATE_PREFIX } from '../../protocol/agent-plan.ts';
import { FunctionTool } from '../function-tool.ts';

const MOST_ITEMS = 50;
const LONGEST_ITEM = 200;

/**
 * `update_plan`: the model writes down the steps of its work, and how far it is. The plan is in the session's state, under `plan_of_` and the
 * agent's name. `holdfast run` and `holdfast dev` show it when it changes, and the page of a request shows it to whoever decides.
 *
 * @example new LlmAgent({ name: 'coder', model: 'gemini-2.5-flash', tools: [planTool()] })
 */
export function planTool() {
  return new FunctionTool({
    name: 'update_plan',
    trusted: true,
    description:
      'Writes down your plan: all of its steps, in order, each with its status. Call it before work with several steps, and again whenever ' +
      'a step begins, ends or is no longer needed. The list replaces the one before.',
    parameters: z.object({
      items: z
        .array(
          z.object({
            text: z.string().trim().min(1).max(LONGEST_ITEM),
            status: z.enum(['pending', 'in_progress', 'done']),
          }),
        )
        .max(MOST_ITEMS),
    }),
    execute: ({ items }, { state, agentName }) => {
      state.set(`${PLAN_STATE_PREFIX}${agentName}`, items);
      return { steps: items.length, done: items.filter(({ status }) => status === 'done').length };
    },
  });
}
