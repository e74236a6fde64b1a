import {
  type AuthConfig,
  type AuthCredential,
  AuthCredentialTypes,
  type Context,
  type Event,
  FunctionTool,
  getPendingUserInputRequests,
  getUserChoiceTool,
  getUserInputRequests,
  LlmAgent,
  PolicyOutcome,
  requestInputTool,
  requiresUserInput,
  SecurityPlugin,
} from '@google/adk';
import { z } from 'zod/v4';

const parameters = z.object({ orderId: z.string(), amount: z.number() });

const authConfig: AuthConfig = {
  credentialKey: 'bank',
  authScheme: { type: 'http', scheme: 'bearer' },
};

export const refund = new FunctionTool({
  name: 'refund',
  description: 'Pays an order back.',
  parameters,
  requireConfirmation: ({ amount }, context) => amount > 100 || context?.userId === 'guest',
  execute: ({ orderId, amount }) => ({ orderId, refunded: amount }),
});

export const close = new FunctionTool({
  name: 'close_account',
  description: 'Closes an account.',
  requireConfirmation: true,
  execute: () => ({ closed: true }),
});

export const order = new FunctionTool({
  name: 'order',
  description: 'Orders parts.',
  parameters: z.object({ part: z.string() }),
  execute: async ({ part }, context?: Context) => {
    if (context?.toolConfirmation === undefined) {
      context?.requestConfirmation({ hint: `Order ${part}?`, payload: { part } });
      return { status: 'asked' };
    }
    const credential: AuthCredential | undefined = context.getAuthResponse(authConfig);
    if (credential === undefined) {
      context.requestCredential(authConfig);
      return { status: 'asked' };
    }
    const isKey = credential.authType === AuthCredentialTypes.API_KEY;
    return {
      ordered: context.toolConfirmation.confirmed,
      isKey,
      ...Object(context.toolConfirmation.payload),
    };
  },
});

const policyEngine = {
  evaluate: async ({ toolArgs }: { toolArgs: Record<string, unknown> }) => ({
    outcome: toolArgs.amount === 0 ? PolicyOutcome.DENY : PolicyOutcome.ALLOW,
    reason: 'nothing to pay back',
  }),
};

export const plugins = [new SecurityPlugin({ policyEngine })];

export const rootAgent = new LlmAgent({
  name: 'refunds',
  model: 'gemini-2.5-flash',
  tools: [refund, close, order, requestInputTool, getUserChoiceTool],
});

export function waiting(events: Event[]): string[] {
  const all = events.filter(requiresUserInput).flatMap(getUserInputRequests);
  const pending = getPendingUserInputRequests(events);
  return pending.map(
    ({ kind, interruptId, message = '' }) => `${kind} ${interruptId} of ${all.length}: ${message}`,
  );
}
