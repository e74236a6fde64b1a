import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { linkUrl, signApprovalLink } from '../../src/approvals/approval-link.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { Grant } from '../../src/contract/keys.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { type CredentialKeys, credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import { GatewayAttester } from '../../src/gateway/approvals/gateway-attester.ts';
import {
  type GatewayOptions,
  networkAccess,
  type ServedGateway,
  serveGateway,
} from '../../src/gateway/index.ts';
import { calls, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { LongRunningFunctionTool, tool } from '../../src/tools/function-tool.ts';
import { ABOUT, collecting, type LoggedLine } from '../gateway/gateway-stub.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

/** Every person that any tool of the desk names. */
const APPROVERS = ['mira', 'jo', 'otto'] as const;

/** What has run, as it ran. */
export interface Ran {
  tool: string;
  callKey: string;
  args: unknown;
}

export interface PageDesk {
  environment: TurnEnvironment;
  served: ServedGateway;
  /** Of its gateway, to make another one of. */
  options: GatewayOptions;
  keys: CredentialKeys;
  ran: Ran[];
  lines: LoggedLine[];
  /** Has a tool called, and gives the request that it waits for. */
  asked(tool: string, args?: Record<string, unknown>, names?: Partial<Names>): Promise<ApprovalRow>;
  link(request: ApprovalRow, approver?: string, expiresAt?: number): string;
  /** An API key of somebody with these grants. */
  key(name: string, grants: readonly Grant[], userId?: string): Promise<{ keyId: string; text: string }>;
  now(request: ApprovalRow): Promise<ApprovalRow>;
  ranOf(request: ApprovalRow): Ran[];
  close(): Promise<void>;
}

interface Names {
  app: string;
  userId: string;
  sessionId: string;
  messageId: string;
  /** Who sends the message, as the gateway attests. */
  requester: string;
}

/** The model calls what it is told to. */
const obedient: GeminiScript = ({ contents }) => {
  const list = contents ?? [];
  const last = list.at(-1)?.parts ?? [];
  if (last.some((part) => part.functionResponse !== undefined)) return text('done');
  const said = list.flatMap(({ role, parts }) => (role === 'user' ? (parts ?? []) : []));
  const told = said.findLast((part) => part.text !== undefined)?.text ?? '';
  return told.startsWith('{') ? calls([JSON.parse(told)]) : text('hello');
};

export const ADDRESS = z.object({
  street: z.string().describe('With the number of the house'),
  floor: z.int().optional(),
  gift: z.boolean(),
  size: z.enum(['S', 'M', 'L', 'XL']),
});

function deskAgent(ran: Ran[]) {
  const run =
    (name: string) =>
    (args: unknown, { callKey }: { callKey: string }) => {
      ran.push({ tool: name, callKey, args });
      return { done: true };
    };
  const any = { type: 'object', properties: {}, additionalProperties: true } as const;
  const refund = {
    parameters: {
      type: 'object',
      properties: { order: { type: 'string' }, cents: { type: 'integer', maximum: 100_000 } },
      required: ['order', 'cents'],
      additionalProperties: true,
    },
    requireConfirmation: true,
  } as const;
  return new LlmAgent({
    name: 'support',
    model: 'gemini-2.5-flash',
    tools: [
      tool({
        ...{ name: 'refund_order', description: 'refunds', ...refund, execute: run('refund_order') },
        confirmationHint: ({ order, cents }) => `Refund ${Number(cents) / 100} € of order ${order}?`,
        approval: { approvers: [...APPROVERS], allowEdit: true, expiresIn: '2 days' },
      }),
      tool({
        ...{ name: 'wire_money', description: 'wires', parameters: any, execute: run('wire_money') },
        requireConfirmation: true,
        approval: { approvers: [...APPROVERS], quorum: 2 },
      }),
      tool({
        ...{ name: 'restart', description: 'restarts', parameters: any, execute: run('restart') },
        requireConfirmation: true,
        approval: { allowEdit: true },
        sensitive: ['password'],
      }),
      tool({
        ...{ name: 'ship', description: 'ships', parameters: any },
        execute: async (args, context) => {
          const address = await context.requestInput({
            message: 'Where should the parcel go?',
            responseSchema: ADDRESS,
          });
          return run('ship')({ ...(args as object), address }, context);
        },
      }),
      tool({
        ...{ name: 'charge_card', description: 'charges', parameters: any },
        authConfig: { credentialKey: 'cards', authScheme: { type: 'http', scheme: 'bearer' } },
        execute: (args, context) =>
          run('charge_card')(
            { ...(args as object), has: context.authCredential?.http?.credentials.token },
            context,
          ),
      }),
      new LongRunningFunctionTool({
        ...{ name: 'train', description: 'trains', parameters: any, deadline: '2 days' },
        execute: () => undefined,
      }),
      tool({
        ...{ name: 'call_api', description: 'calls', parameters: any },
        authConfig: { credentialKey: 'other', authScheme: { type: 'oauth2' } },
        execute: (args, context) =>
          run('call_api')({ ...(args as object), has: context.authCredential?.http?.credentials }, context),
      }),
    ],
  });
}

export async function openPageDesk(more: Partial<GatewayOptions> = {}): Promise<PageDesk> {
  const ran: Ran[] = [];
  const lines: LoggedLine[] = [];
  const credentialKeys = { k1: randomBytes(32).toString('base64') };
  const keys = credentialKeysOf(credentialKeys);
  const rootAgent = deskAgent(ran);
  const environment = await openTurnEnvironment({
    apps: ['shop', 'bank'].map((name) => new App({ name, rootAgent })),
    script: obedient,
    workerOptions: { credentialKeys },
  });
  const { store } = environment;
  const client = new HoldfastClient({
    ...{ temporal: environment.temporal, store, credentialKeys, searchAttributes: true },
  });
  const attester = new GatewayAttester({ client, credentialKeys });
  const options: GatewayOptions = {
    ...{ client, credentialKeys, records: store, access: networkAccess({}), logger: collecting(lines) },
    ...{ about: () => ABOUT, ready: async () => ({}) },
    // One address sends all the attacks there are.
    settings: { access: { rateLimits: { strangers: { perSecond: 10_000, burst: 10_000 } } } },
    ...more,
  };
  const served = await serveGateway({ gateway: options });
  const now = async ({ requestId }: ApprovalRow) => {
    const row = await client.approvals.get({ requestId });
    if (row === undefined) throw new Error('the request is gone');
    return row;
  };
  return {
    ...{ environment, served, options, keys, ran, lines, now },
    async asked(name, args = {}, given = {}) {
      const { requester, messageId = randomUUID(), ...some } = given;
      const names = { app: 'shop', userId: 'ada', sessionId: randomUUID(), ...some };
      const message = { ...names, messageId, message: JSON.stringify({ name, args }) };
      await client.sendMessage(
        requester === undefined ? message : await attester.attestMessage(requester, message),
      );
      // Scripts use it as well, where no test waits for a condition.
      const signal = AbortSignal.timeout(120_000);
      for (;;) {
        const [request] = await client.approvals.list(names);
        if (request !== undefined) return request;
        await setTimeout(50, undefined, { signal });
      }
    },
    link({ session, requestId, until: expires }, approver = 'mira', expiresAt = expires) {
      return linkUrl(
        served.url,
        signApprovalLink(keys, { session, requestId, approver, expiresAt }, Date.now()),
      );
    },
    async key(name, grants, userId) {
      const { keyId, digest, text: keyText } = newKeyText();
      await store.keys.create({ keyId, digest, name, grants, ...(userId === undefined ? {} : { userId }) });
      return { keyId, text: keyText };
    },
    ranOf: ({ callKey }) => ran.filter((each) => each.callKey === callKey),
    async close() {
      await served.close();
      await environment.close();
    },
  };
}
