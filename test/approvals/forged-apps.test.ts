import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { assertOfApp, isOfApp } from '../../activities/agents.ts';
import { settingsOf } from '../../activities/deployment.ts';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { createApproverKey } from '../../src/approvals/approver-key.ts';
import type { OutgoingMessage } from '../../src/client/messages/outgoing-message.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import {
  configuredAccess,
  defineGateway,
  localAccess,
  type ServedGateway,
  serveGateway,
} from '../../src/gateway/index.ts';
import { SecurityPlugin } from '../../src/plugins/security-plugin.ts';
import { callKeyOf } from '../../src/protocol/identity.ts';
import type { AppTerms } from '../../src/protocol/run-terms.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { deploy } from '../../worker/deploy.ts';
import { gatewayOf } from '../channels/named-access.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { ForeignWorker } from '../setup/foreign-worker.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const model = 'gemini-2.5-flash';
const parameters = z.object({ amount: z.number() });
let ran: string[] = [];
const does = (name: string, by: string) =>
  tool({ name, description: 'd', parameters, execute: () => ({ done: ran.push(by) }) });
const gated = { requireConfirmation: true, approval: { approvers: ['mira'] } } as const;
const pays = (by: string) =>
  tool({ name: 'pay', description: 'd', parameters, execute: () => ({ done: ran.push(by) }), ...gated });

const clerk = new LlmAgent({ name: 'clerk', model, tools: [does('denied', 'clerk')] });
const bankroot = new LlmAgent({
  name: 'bankroot',
  model,
  tools: [does('denied', 'bank'), pays('bank')],
  subAgents: [clerk],
});
let end = () => undefined as undefined;
const denied = tool({
  name: 'denied',
  description: 'd',
  parameters,
  execute: async () => {
    ran.push('demo begins');
    await new Promise<void>((resolve) => {
      end = () => void resolve();
    });
    return { done: ran.push('demo') };
  },
});
const demoroot = new LlmAgent({ name: 'demoroot', model, tools: [does('look', 'demo'), denied] });
const shared = new LlmAgent({ name: 'shared', model, tools: [does('look', 'shared')] });
const helper = new LlmAgent({ name: 'helper', model, tools: [does('look', 'helper')] });
const policyEngine = {
  evaluate: async ({ tool: { name } }: { tool: { name: string } }) => ({
    outcome: name === 'denied' ? ('DENY' as const) : ('ALLOW' as const),
    reason: 'no',
  }),
};
const CODE = 'HOLDFAST_AGENT_OF_ANOTHER_APP';
const TEXT =
  'agent "bankroot" belongs to app "bank", and this session is one of app "demo": send the message to a session of app "bank"';

let apps: App[];
let environment: TurnEnvironment;
let foreigner: ForeignWorker;
const credentialKeys = { k1: randomBytes(32).toString('base64') };

beforeAll(async () => {
  const { issuer } = await createApproverKey('mira');
  const approval = { issuers: [issuer] };
  apps = [
    new App({
      name: 'bank',
      rootAgent: bankroot,
      plugins: [new SecurityPlugin({ policyEngine })],
      durable: { approval },
    }),
    new App({ name: 'demo', rootAgent: demoroot, durable: { approval: { trustTemporal: true } } }),
    new App({ name: 'one', rootAgent: shared }),
    new App({ name: 'two', rootAgent: shared }),
  ];
  environment = await openTurnEnvironment({
    apps,
    agents: [helper],
    workerOptions: { credentialKeys, rootAgent: 'bankroot' },
  });
  foreigner = await ForeignWorker.start(environment.temporal);
});
afterAll(async () => {
  await foreigner.close();
  await environment.close();
});
beforeEach(() => {
  ran = [];
});

const asks = (name: string) => environment.gemini.reset(stepCalls([[{ name, args: { amount: 7 } }]]));

describe('an agent of an App is refused in sessions of other apps [app.agents]', () => {
  test.each<[string, Partial<OutgoingMessage>]>([
    ['by its name', { app: 'demo', agent: 'bankroot' }],
    ['by the name of one below it', { app: 'demo', agent: 'clerk' }],
    ['by its tree', { app: 'demo', rootAgent: 'bankroot' }],
    ['in an app that no worker knows', { app: 'nowhere', agent: 'bankroot' }],
    ['in such an app, as who answers there', { app: 'nowhere' }],
  ])('%s', async (_how, given) => {
    asks('denied');
    const turn = await AskingTurn.start(environment, given);
    const { status, error } = await turn.result();
    expect({ status, code: error?.code }).toEqual({ status: 'failed', code: CODE });
    const { agent = 'bankroot', app = '' } = given;
    expect(error?.message).toBe(TEXT.replace('"bankroot"', `"${agent}"`).replace('"demo"', `"${app}"`));
    const said = (await turn.events()).map(({ event }) => event.errorCode);
    expect(said).toEqual([undefined, CODE]);
    expect(environment.gemini.requests).toEqual([]);
    expect(ran).toEqual([]);
  });

  test('and their sessions go on without it', async () => {
    asks('look');
    const names = { app: 'demo', userId: 'eve', sessionId: randomUUID() };
    const turn = await AskingTurn.start(environment, { ...names, agent: 'bankroot' });
    await turn.result();
    await turn.send();
    expect(await turn.responses()).toEqual([{ done: 1 }]);
    expect(ran).toEqual(['demo']);
  });

  test('by the input of a tool’s activity', async () => {
    asks('denied');
    const turn = await AskingTurn.start(environment, { app: 'demo' });
    await expect.poll(() => ran).toEqual(['demo begins']);
    const [{ session = '' } = {}] = [await environment.store.sessions.get(turn.names)];
    const [event] = (await turn.events()).filter(({ kind }) => kind === 'model');
    const { runKey = '' } = event ?? {};
    const callId = event?.event.content?.parts?.[0]?.functionCall?.id;
    const call = { session, runKey, callKey: callKeyOf(runKey, 1, 1), callId };
    const input = { v: 1, ...call, agent: 'bankroot', args: { value: { amount: 7 } } };
    for (const named of [{}, { root: 'bankroot' }, { agent: 'clerk', root: 'bankroot' }]) {
      expect(await foreigner.schedule('denied', { ...input, ...named })).toMatchObject({ refused: CODE });
    }
    end();
    expect(await turn.responses()).toEqual([{ done: 2 }]);
    ran = ran.filter((by) => !by.startsWith('demo'));
    expect(ran).toEqual([]);
  });

  test('by a key for another app, over HTTP', async () => {
    const { client, store: records } = environment;
    const silent = () => undefined;
    const logger = { debug: silent, info: silent, warn: silent, error: silent };
    const settings = defineGateway({});
    const local = localAccess({ token: randomBytes(32).toString('base64url') });
    const access = configuredAccess({ settings, records, local, logger });
    const gateway = gatewayOf(client, { access, records, credentialKeys, settings });
    const served: ServedGateway = await serveGateway({ gateway });
    try {
      const { text, keyId, digest } = newKeyText();
      await records.keys.create({
        ...{ keyId, digest, name: 'eve' },
        grants: [{ app: 'demo', roles: ['run', 'read', 'approve'] }],
      });
      const headers = { authorization: `Bearer ${text}`, 'content-type': 'application/json' };
      for (const named of [{ agent: 'bankroot' }, { agent: 'clerk' }, { rootAgent: 'bankroot' }]) {
        asks('pay');
        const session = `${served.url}/v1/apps/demo/users/eve/sessions/${randomUUID()}`;
        const body = JSON.stringify({ message: 'go', messageId: 'm', ...named });
        const sent = await fetch(`${session}/messages`, { method: 'POST', headers, body });
        expect(sent.status).toBe(202);
        const ended = await fetch(`${session}/turns/m?wait=30`, { headers });
        expect(await ended.json()).toMatchObject({ result: { status: 'failed', error: { code: CODE } } });
      }
      expect(ran).toEqual([]);
    } finally {
      await served.close();
    }
  });
});

describe('agents run [app.agents]', () => {
  test.each<[string, Partial<OutgoingMessage>, string]>([
    ['in each app whose root they are', { app: 'one' }, 'shared'],
    ['in each app whose root they are, named', { app: 'two', agent: 'shared' }, 'shared'],
    ['in an App, where they have none', { app: 'demo', agent: 'helper' }, 'helper'],
    ['in an app that no worker knows, where they have none', { app: 'nowhere', agent: 'helper' }, 'helper'],
    ['in such an app by their tree', { app: 'nowhere', rootAgent: 'helper' }, 'helper'],
  ])('%s', async (_where, given, by) => {
    asks('look');
    const turn = await AskingTurn.start(environment, given);
    expect(await turn.responses()).toEqual([{ done: 1 }]);
    expect(ran).toEqual([by]);
  });

  test('with the plugins of their own app', async () => {
    asks('denied');
    const turn = await AskingTurn.start(environment, { app: 'bank', agent: 'clerk' });
    expect(JSON.stringify(await turn.responses())).toContain('no');
    expect(ran).toEqual([]);
  });
});

describe('what an input says of an app [app.agents]', () => {
  const deployment = () => deploy({ apps, agents: [helper] });

  test('brings no tools of another app’s factories', () => {
    const made = { app: 'bank', factory: 'expert', args: {} };
    const named = { agent: 'x', root: 'demoroot', within: [{ agent: 'demoroot', tool: 'expert', made }] };
    expect(() => assertOfApp(deployment(), 'demo', named)).toThrow('belongs to app "bank"');
    const own = [{ agent: 'demoroot', tool: 'expert', made: { ...made, app: 'demo' } }];
    expect(isOfApp(deployment(), 'demo', { ...named, within: own })).toBe(true);
  });

  test('is its budgets, prices and run config, and never who may approve', () => {
    const terms = { budgets: { turn: {}, session: {} }, prices: {}, runConfig: {} };
    const forged = { ...terms, approval: { trustTemporal: true }, notifiers: [] };
    const { approval } = settingsOf(deployment(), 'bank', forged as unknown as AppTerms);
    expect(approval).toBe(apps[0]?.durable.approval);
    expect(approval?.trustTemporal).not.toBe(true);
  });
});
