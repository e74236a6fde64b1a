import { randomBytes, randomUUID } from 'node:crypto';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { KeptTokens } from '../../src/credentials/auth-credential.ts';
import { credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { type GatewayOptions, localAccess, serveGateway } from '../../src/gateway/index.ts';
import { Connections } from '../../src/oauth/connections.ts';
import { connectLink } from '../../src/oauth/consent.ts';
import type { OAuthProviderOptions } from '../../src/oauth/oauth-provider.ts';
import { calls, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { BaseToolset } from '../../src/tools/base-toolset.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ABOUT, collecting, type LoggedLine } from '../gateway/gateway-stub.ts';
import {
  type AuthorizationServer,
  type AuthorizationServerOptions,
  Browser,
  CLIENT,
  openAuthorizationServer,
} from '../setup/authorization-server.ts';
import { freePort } from '../setup/free-port.ts';
import { openTurnEnvironment, type TurnEnvironmentOptions } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';

export const APP = 'desk';
export const KEY = 'calendar';

/** The model calls what it is told to, and then says what came of it. */
export const obedient: GeminiScript = ({ contents }) => {
  const list = contents ?? [];
  const answers = (list.at(-1)?.parts ?? []).filter((part) => part.functionResponse !== undefined);
  if (answers.length > 0) return text(JSON.stringify(answers.map((part) => part.functionResponse?.response)));
  const said = list.flatMap(({ role, parts }) => (role === 'user' ? (parts ?? []) : []));
  const told = said.findLast((part) => part.text !== undefined)?.text ?? '[]';
  return calls(JSON.parse(told));
};

export type OAuthDesk = Awaited<ReturnType<typeof openOAuthDesk>>;

export interface OAuthDeskOptions extends AuthorizationServerOptions {
  provider?: Partial<OAuthProviderOptions>;
  /** In place of what records the token. */
  execute?: (context: Context) => unknown;
  /** More tools of the agent. */
  tools?: (server: AuthorizationServer) => readonly (BaseTool | BaseToolset)[];
  environment?: Partial<TurnEnvironmentOptions>;
  gateway?: Partial<GatewayOptions>;
}

/** A desk whose tools ask for consent at a real authorization server. */
export async function openOAuthDesk(more: OAuthDeskOptions = {}) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const server = await openAuthorizationServer([`${url}/oauth/callback`], more);
  const used = new Map<string, string[]>();
  const lines: LoggedLine[] = [];
  const execute = async (_args: unknown, context: Context) => {
    if (more.execute !== undefined) return await more.execute(context);
    const { accessToken = '' } = context.authCredential?.oauth2 ?? {};
    used.set(context.callKey, [...(used.get(context.callKey) ?? []), accessToken]);
    return { events: accessToken.length };
  };
  const scheme = (...scopes: string[]) => ({ credentialKey: KEY, authScheme: { type: 'oauth2', scopes } });
  const rootAgent = new LlmAgent({
    name: 'planner',
    model: 'gemini-2.5-flash',
    tools: [
      tool({ name: 'list_events', description: 'lists', authConfig: scheme('calendar.read'), execute }),
      tool({
        name: 'add_event',
        description: 'adds',
        authConfig: scheme('calendar.read', 'calendar.write'),
        execute,
      }),
      tool({
        ...{ name: 'clear_events', description: 'clears', execute, requireConfirmation: true },
        authConfig: scheme('calendar.read'),
      }),
      ...(more.tools?.(server) ?? []),
    ],
  });
  const provider = {
    issuer: server.issuer,
    ...CLIENT,
    scopes: ['openid', 'offline_access'],
    ...more.provider,
  };
  const credentialKeys = { k1: randomBytes(32).toString('base64') };
  const keys = credentialKeysOf(credentialKeys);
  const environment = await openTurnEnvironment({
    apps: [new App({ name: APP, rootAgent, durable: { oauth: { [KEY]: provider } } })],
    script: obedient,
    ...more.environment,
    workerOptions: { credentialKeys, ...more.environment?.workerOptions },
  });
  const store = (more.environment?.workerOptions?.store as typeof environment.store) ?? environment.store;
  const client = new HoldfastClient({ temporal: environment.temporal, store, credentialKeys });
  const options: GatewayOptions = {
    ...{ client, credentialKeys, records: store, access: localAccess({ token: randomUUID() }) },
    ...{ about: () => ABOUT, ready: async () => ({}), logger: collecting(lines) },
    ...more.gateway,
  };
  const served = await serveGateway({ gateway: options, port });
  const link = async (userId: string, needs: readonly string[] = [], credentialKey = KEY) =>
    `${served.url}${connectLink(keys, { app: APP, userId, credentialKey, needs }, await store.now()).path}`;
  const connections = new Connections(store.credentials, keys);
  const back = `${served.url}/oauth/callback`;
  return {
    ...{ environment, server, served, options, client, keys, connections, used, lines },
    /** The page on which a user connects an account. */
    link,
    /** Has tools called by a user. */
    async send(userId: string, tools: readonly string[] = ['list_events'], sessionId: string = randomUUID()) {
      const message = JSON.stringify(tools.map((name) => ({ name, args: {} })));
      return await client.sendMessage({ app: APP, userId, sessionId, messageId: randomUUID(), message });
    },
    /** The pending requests of a user, once there are so many. */
    pending: (userId: string, count = 1) =>
      until(async () => {
        const rows = await client.approvals.list({ app: APP, userId });
        if (rows.length < count) throw new Error(`${rows.length} requests`);
        return [...rows];
      }),
    /** Has a user consent; gives the page that they see then. */
    async connect(
      userId: string,
      { scopes = ['calendar.read'], credentialKey = KEY, browser = new Browser(), ...by }: Connect = {},
    ): Promise<string> {
      const way = await browser.consent(`${await link(userId, scopes, credentialKey)}/start`, back, by);
      return (await (await browser.follow(way)).answer?.text()) ?? '';
    },
    /** The tokens of a user, as they are kept. */
    async tokensOf(userId: string, credentialKey = KEY): Promise<KeptTokens> {
      const found = await connections.store.find({ app: APP, userId, credentialKey });
      if (found === undefined) throw new Error(`${userId} has no tokens`);
      return connections.vault.unsealed(found).oauth2 ?? {};
    },
    async close(): Promise<void> {
      await served.close();
      await environment.close();
      await server.close();
    },
  };
}

interface Connect {
  scopes?: readonly string[];
  credentialKey?: string;
  account?: string;
  says?: string;
  browser?: Browser;
}
