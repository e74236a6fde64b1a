import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { type CredentialKeys, credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import type { Gateway, GatewayLogger, GatewayOptions } from '../../src/gateway/index.ts';
import { type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import type { SlackOptions } from '../../src/slack/index.ts';
import { SlackApp } from '../../src/slack/slack-app.ts';
import { SlackNotifier } from '../../src/slack/slack-notifier.ts';
import { SlackPlugin } from '../../src/slack/slack-plugin.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import type { GeminiScript } from '../../src/testing/mock-gemini.ts';
import { startMockSlack } from '../../src/testing/mock-slack.ts';
import type { SlackMessage } from '../../src/testing/slack-state.ts';
import type { MockSlack } from '../../src/testing/slack-workspace.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { gatewayOf } from '../channels/named-access.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { until } from '../setup/until.ts';
import { untilAsked } from '../setup/until-asked.ts';

export const CHANNEL = 'C0APPROVALS';
export const MIRA = 'U0MIRA';
export const OTTO = 'U0OTTO';
/** In the workspace, and nobody’s. */
export const EVE = 'U0EVE';

const PARAMETERS = {
  type: 'object',
  properties: { order: { type: 'string' }, cents: { type: 'integer' } },
  required: ['order', 'cents'],
} as const;

/** A request that waits, and its message. */
export interface AskedInSlack {
  names: SessionNames;
  request: ApprovalRow;
  message: SlackMessage;
}

/** Filled in where they are left out. */
interface AskingTurn {
  sessionId?: string;
  messageId?: string;
}

/** A worker, a gateway and Slack: all real but Slack. */
export interface SlackScene {
  environment: TurnEnvironment;
  slack: MockSlack;
  gateway: ServedGateway;
  /** Another one of the same Slack app, which nobody serves yet. */
  newGateway(more?: Pick<Partial<GatewayOptions>, 'client' | 'records'>): Gateway;
  /** Of worker and gateway. */
  credentialKeys: CredentialKeys;
  /** Calls that ran, as `<call key> <cents>`. */
  ran: string[];
  /** What the gateway has logged, as text. */
  logged: string[];
  /** Sends a message that makes the agent ask for a call of this tool. */
  ask(tool: string, args?: object, turn?: AskingTurn): Promise<AskedInSlack>;
  /** The same, without waiting for its message. */
  askSilently(tool: string, args?: object, turn?: AskingTurn): Promise<Omit<AskedInSlack, 'message'>>;
  messageOf(request: Pick<ApprovalRow, 'requestId'>): Promise<SlackMessage>;
  now(asked: { request: ApprovalRow }): Promise<ApprovalRow | undefined>;
  close(): Promise<void>;
}

/** What the model calls is in the message: `call NAME ARGS`; other messages are answered. */
const script: GeminiScript = ({ contents }) => {
  const last = contents?.at(-1)?.parts ?? [];
  if (last.some(({ functionResponse }) => functionResponse)) return text('It is done.');
  const said = last.map((part) => part.text ?? '').join('');
  const [, name, args] = /^call (\w+) (.*)$/s.exec(said) ?? [];
  return name === undefined ? text(`You said: ${said}`) : call(name, JSON.parse(args ?? '{}'));
};

export interface SlackSceneOptions {
  persons?: SlackOptions['persons'];
  /** The environment's store has a socket. */
  embedded?: boolean;
  /** Milliseconds that `persons` has, where it is a function. */
  personTime?: number;
}

/** Whom the scene knows, unless it is told otherwise. */
export const PERSONS: Readonly<Record<string, string>> = { [MIRA]: 'mira', [OTTO]: 'otto' };

export async function openSlackScene({
  persons = PERSONS,
  embedded = false,
  personTime = 10_000,
}: SlackSceneOptions = {}): Promise<SlackScene> {
  const mock = await startMockSlack();
  const keys = credentialKeysOf({ k1: randomBytes(32).toString('base64') });
  const ran: string[] = [];
  const logged: string[] = [];
  const paying = (name: string, approval: object, sensitive: boolean | string[] = false) =>
    tool({
      name,
      description: 'pays',
      parameters: PARAMETERS,
      requireConfirmation: true,
      approval,
      sensitive,
      execute: ({ cents }, { callKey }) => {
        ran.push(`${callKey} ${String(cents)}`);
        return { paid: true };
      },
    });
  const options: SlackOptions = {
    botToken: () => mock.botToken,
    signingSecret: [() => mock.signingSecret],
    appId: mock.appId,
    teamIds: [mock.teamId],
    channel: CHANNEL,
    persons,
    commandApp: 'shop',
    publicUrl: 'https://agents.example.com',
    slackApiUrl: mock.url,
  };
  const slackApp = new SlackApp(options, { person: personTime });
  const rootAgent = new LlmAgent({
    name: 'cashier',
    model: 'gemini-2.5-flash',
    tools: [
      paying('pay', { approvers: ['mira', 'otto'], allowEdit: true }),
      paying('pay_two', { approvers: ['mira', 'otto'], quorum: 2 }),
      paying('pay_secretly', { approvers: ['mira'] }, ['order']),
      paying('pay_soon', { approvers: ['mira'], expiresIn: '2s' }),
      tool({
        name: 'save_bill',
        description: 'Saves a bill.',
        execute: async (_args, context) => ({
          version: await context.saveArtifact('bills/<b> März.txt', { text: 'A bill.' }),
        }),
      }),
    ],
  });
  const app = new App({
    name: 'shop',
    rootAgent,
    plugins: [new SlackPlugin(slackApp)],
    durable: { notifiers: [new SlackNotifier(slackApp)] },
  });
  const environment = await openTurnEnvironment({
    apps: [app],
    script,
    embedded,
    workerOptions: { credentialKeys: keys, publicUrl: () => 'https://agents.example.com' },
  });
  const log = (level: string) => (message: string, attributes?: object) => {
    logged.push(`${level} ${message} ${JSON.stringify(attributes, errorsToo)}`);
  };
  const logger: GatewayLogger = {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
  };
  const newGateway: SlackScene['newGateway'] = ({
    client = environment.client,
    records = environment.store,
  } = {}) =>
    gatewayOf(client, {
      credentialKeys: keys,
      records,
      publicUrl: 'https://agents.example.com',
      settings: { slack: slackApp },
      logger,
    });
  const gateway = await serveGateway({ gateway: newGateway() });
  const { approvals } = environment.client;
  const askSilently: SlackScene['askSilently'] = async (
    name,
    args = { order: 'FH-12529', cents: 700 },
    { sessionId = randomUUID(), messageId = randomUUID() } = {},
  ) => {
    const names = { app: 'shop', userId: 'ada', sessionId };
    const message = `call ${name} ${JSON.stringify(args)}`;
    await environment.client.sendMessage({ ...names, messageId, message });
    const request = await until(async () => {
      const [found] = await approvals.list(names);
      if (found === undefined) throw new Error('nobody was asked');
      return found;
    });
    await untilAsked(environment.temporal, request);
    return { names, request };
  };
  const messageOf: SlackScene['messageOf'] = ({ requestId }) =>
    until(() => {
      const found = mock.messages.find(({ blocks }) => JSON.stringify(blocks).includes(`"${requestId}"`));
      if (found === undefined) throw new Error('nothing was posted');
      return found;
    });
  return {
    environment,
    slack: mock,
    gateway,
    newGateway,
    credentialKeys: keys,
    ran,
    logged,
    askSilently,
    messageOf,
    async ask(name, args, turn) {
      const asked = await askSilently(name, args, turn);
      return { ...asked, message: await messageOf(asked.request) };
    },
    now: ({ request: { requestId } }) => approvals.get({ requestId }),
    async close() {
      await gateway.close();
      await environment.close();
      await mock.close();
    },
  };
}

/** All that is drawn of a message, in one text. */
export function drawnIn({ blocks }: Pick<SlackMessage, 'blocks'>): string {
  const texts = (value: unknown): string[] => {
    if (Array.isArray(value)) return value.flatMap(texts);
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([key, each]) =>
      key === 'text' && typeof each === 'string' ? [each] : texts(each),
    );
  };
  return texts(blocks).join('\n');
}

/** What this person was told, and nobody else. */
export function toldTo({ slack: { whispers } }: Pick<SlackScene, 'slack'>, user: string): string[] {
  return whispers.filter((whisper) => whisper.user === user).map(drawnIn);
}

export function buttonsOf({ blocks }: Pick<SlackMessage, 'blocks'>): string[] {
  const found = [...JSON.stringify(blocks).matchAll(/"action_id":"holdfast\.(\w+)"/g)];
  return found.map(([, name]) => name ?? '');
}

/** Slack was answered. That this waits for nothing, tests show that hold what it might wait for. */
export async function expectTaken(answer: Promise<Response>): Promise<void> {
  expect((await answer).status).toBe(200);
}

function errorsToo(_key: string, value: unknown): unknown {
  return value instanceof Error ? `${value.name}: ${value.message} ${String(value.stack)}` : value;
}
