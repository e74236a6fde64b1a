import { randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentTool } from '../../src/agents/agent-tool.ts';
import { SequentialAgent } from '../../src/agents/workflow-agents.ts';
import type { HoldfastApi } from '../../src/client/holdfast-api.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { DecisionReceipt } from '../../src/contract/approvals.ts';
import type { ApprovalRow, GateKind } from '../../src/contract/requests.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { shareEnvironment } from '../setup/shared-environment.ts';
import { inTier } from '../setup/tier.ts';
import { TreeScene } from './scene.ts';
import { calling, Speaking } from './speaking.ts';
import { throughGateway } from './through-gateway.ts';

const openEnvironment = shareEnvironment();
const closings: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closings.splice(0).reverse()) await close();
});

const credentialKeys = `k1:${randomBytes(32).toString('base64')}`;
const authConfig = { credentialKey: 'shop', authScheme: { type: 'http', scheme: 'bearer' } } as const;
const bearer = (token: string) =>
  ({ authType: 'http', http: { scheme: 'bearer', credentials: { token } } }) as const;

interface Kind {
  tool: BaseTool;
  status: string;
  signal: string;
  /** What is said, by name, beside the request's id. */
  answer: (api: HoldfastApi, app: string) => Promise<Record<string, unknown>>;
  tell: (api: HoldfastApi, request: ApprovalRow, answer: Record<string, unknown>) => Promise<unknown>;
  /** What the tool returns behind it. */
  response: unknown;
}

/** What agents below a root ask people. */
const KINDS: Record<GateKind, Kind> = {
  confirmation: {
    tool: tool({
      name: 'acts',
      description: 'd',
      requireConfirmation: true,
      execute: (_args, { toolConfirmation }) => ({ confirmed: toolConfirmation?.confirmed }),
    }),
    status: 'waiting_approval',
    signal: 'confirm',
    answer: async () => ({ confirmed: true }),
    tell: (api, { requestId }) => api.approvals.confirm({ requestId }, { confirmed: true }),
    response: { confirmed: true },
  },
  input: {
    tool: tool({
      name: 'acts',
      description: 'd',
      execute: async (_args, context) => ({
        size: (
          await context.requestInput({
            message: 'Which size?',
            responseSchema: z.object({ size: z.string() }),
          })
        ).size,
      }),
    }),
    status: 'waiting_input',
    signal: 'provideInput',
    answer: async () => ({ response: { size: 'L' } }),
    tell: (api, { requestId }) => api.approvals.provideInput({ requestId }, { response: { size: 'L' } }),
    response: { size: 'L' },
  },
  credential: {
    tool: tool({
      name: 'acts',
      description: 'd',
      authConfig,
      execute: (_args, { authCredential }) => ({ bytes: authCredential?.http?.credentials?.token?.length }),
    }),
    status: 'waiting_credential',
    signal: 'provideCredential',
    answer: async (api, app) => {
      const { credentialRef } = await api.credentials.put({
        ...{ app, userId: 'ada', credentialKey: authConfig.credentialKey },
        credential: bearer('twelve bytes'),
      });
      return { credentialRef };
    },
    tell: (api, { requestId }, { credentialRef }) =>
      api.approvals.provideCredential({ requestId }, { credentialRef: String(credentialRef) }),
    response: { bytes: 12 },
  },
};

type Way = (scene: TreeScene, client: HoldfastClient, kind: Kind, request: ApprovalRow) => Promise<void>;

/** How people reach it. */
const WAYS: Record<string, Way> = {
  'a client': async ({ names }, client, kind, request) => {
    await kind.tell(client, request, await kind.answer(client, names.app));
  },
  'the gateway': async ({ names }, client, kind, request) => {
    const { gateway, close } = await throughGateway({ client });
    closings.push(close);
    expect(await gateway.approvals.list(names)).toMatchObject([{ requestId: request.requestId }]);
    await kind.tell(gateway, request, await kind.answer(gateway, names.app));
  },
  'a signal to the root': async ({ names, root }, client, kind, { requestId }) => {
    await root.signal(kind.signal, { requestId, ...(await kind.answer(client, names.app)) });
  },
  'an update of the root': async ({ names, root }, client, kind, { requestId, workflowId }) => {
    const given = { requestId, ...(await kind.answer(client, names.app)) };
    const receipt = await root.executeUpdate<DecisionReceipt, [object]>(kind.signal, { args: [given] });
    expect(receipt).toMatchObject({ requestId, status: 'forwarded', workflowId });
  },
};

type Case = readonly [kind: GateKind, way: keyof typeof WAYS];

/** Each kind and each way once. */
const FEW: readonly Case[] = [
  ['confirmation', 'the gateway'],
  ['credential', 'a client'],
];
const ALL = Object.keys(KINDS).flatMap((kind) =>
  Object.keys(WAYS).map((way) => [kind as GateKind, way] as const),
);

test.each(inTier(FEW, ALL))(
  'a request for %s that an agent of an agent’s tool has is listed under the root, and answered by %s [tree.requests] [agentTool.gates]',
  async (name, way) => {
    const kind = KINDS[name];
    const asker = new Speaking('asker', [calling({ name: 'acts' }), 'acted'], { tools: [kind.tool] });
    const helper = new SequentialAgent({ name: 'helper', description: 'd', subAgents: [asker.agent] });
    const root = new Speaking('root', [calling({ name: 'helper', args: { request: 'act' } }), 'done'], {
      tools: [new AgentTool({ agent: helper })],
    });
    const scene = await TreeScene.open(openEnvironment, root.agent, { workerOptions: { credentialKeys } });
    const { temporal, store } = scene.environment;
    const client = new HoldfastClient({
      ...{ temporal, store, searchAttributes: true },
      credentialKeys: parseCredentialKeys(credentialKeys),
    });
    const { app, userId } = scene.names;
    // A credential that an earlier case stored would not be asked for.
    for (const { credentialRef } of await client.credentials.list({ app, userId })) {
      await client.credentials.remove({ app, userId, credentialRef });
    }
    const turn = await scene.send();
    const [request] = await scene.pending(1);
    if (request === undefined) throw new Error('a request is pending');
    expect(request).toMatchObject({
      ...scene.names,
      kind: name,
      agent: 'asker',
      path: ['root', 'helper', 'asker'],
      rootWorkflowId: scene.rootId,
    });
    await expect.poll(async () => (await scene.status()).status).toBe(kind.status);
    await WAYS[way]?.(scene, client, kind, request);
    expect(await turn.result()).toMatchObject({ status: 'completed', text: 'done' });
    expect(asker.shown[1]?.at(-1)?.parts).toMatchObject([{ functionResponse: { response: kind.response } }]);
  },
);
