import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { Issuer } from '../../src/approvals/issuer.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import type { ToolOptions } from '../../src/tools/tool-types.ts';
import type { Doom } from './doom.ts';
import type { GatedEffects } from './gated-effects.ts';

export const GATED_APP = 'gated';

/** Who may decide where only some may. */
export const APPROVERS = ['mira', 'otto', 'zoe'] as const;

/** Above this a call of `pay_over` waits. */
export const LIMIT = 50;

const SOON = '700ms';

const parameters = z.object({
  n: z.number(),
  amount: z.number(),
  /** How often the callback before the tool has rewritten the arguments. */
  checked: z.number().optional(),
});

export type Payment = z.infer<typeof parameters>;

type GatedOptions = Partial<ToolOptions<typeof parameters>>;

/** Each kind of gate. */
const GATES = {
  pay: {},
  pay_edited: { approval: { allowEdit: true } },
  pay_soon: { approval: { expiresIn: SOON } },
  pay_anyway: { approval: { expiresIn: SOON, onExpiry: 'approve' } },
  pay_escalated: {
    approval: { approvers: ['mira'], expiresIn: SOON, onExpiry: 'escalate', escalateTo: ['otto'] },
  },
  pay_quorum: { approval: { approvers: [...APPROVERS], quorum: 2 } },
  pay_over: { requireConfirmation: ({ amount }) => amount > LIMIT },
} as const satisfies Record<string, GatedOptions>;

/** Runs whatever was said, and asks while it runs; runs without being asked for. */
const UNGATED = ['pay_inside', 'look'] as const;

export type GatedTool = keyof typeof GATES | (typeof UNGATED)[number];

export const GATED_TOOLS = [...(Object.keys(GATES) as (keyof typeof GATES)[]), ...UNGATED];

/** An app whose tools have their effects outside of its process, most of them only once a person has agreed. */
export function gatedApp(effects: GatedEffects, doom: Doom, issuers: readonly Issuer[]): App {
  const pay = async (name: string, args: Payment, context: Context) => {
    const { callKey, attempt } = context;
    effects.effect({ tool: name, callKey, attempt, args });
    await doom.reached('effect', callKey);
    return { callKey, attempt, n: args.n };
  };
  const base = (name: GatedTool) => ({
    name,
    description: 'has an effect outside of the process',
    parameters,
    heartbeatTimeout: '2s' as const,
    execute: (args: Payment, context: Context) => pay(name, args, context),
  });
  const gated = Object.entries<GatedOptions>(GATES).map(([name, gate]) =>
    tool({ ...base(name as GatedTool), requireConfirmation: true, ...gate }),
  );
  const inside = tool({
    ...base('pay_inside'),
    execute: (args, context) => {
      if (context.toolConfirmation === undefined) return context.requestConfirmation({ hint: 'pay?' });
      if (!context.toolConfirmation.confirmed) return { declined: true };
      return pay('pay_inside', args, context);
    },
  });
  const rootAgent = new LlmAgent({
    name: 'cashier',
    model: 'gemini-2.5-flash',
    modelRetry: { initialInterval: '200ms', maximumInterval: '1s' },
    tools: [...gated, inside, tool(base('look'))],
    beforeToolCallback: ({ tool: called, args }) => {
      // What an edit has made of them is to be left alone.
      if (called.name !== 'pay_edited') args.checked = Number(args.checked ?? 0) + 1;
      return undefined;
    },
  });
  return new App({ name: GATED_APP, rootAgent, durable: { approval: { issuers } } });
}
