import { randomBytes, randomUUID } from 'node:crypto';
import proto from '@temporalio/proto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { linkUrl, signApprovalLink } from '../../src/approvals/approval-link.ts';
import type { Notifier } from '../../src/approvals/notifier.ts';
import { requestLines as noticeLines } from '../../src/approvals/request-lines.ts';
import { requestLines } from '../../src/cli/approvals/request-text.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { argumentTable } from '../../src/gateway/pages/shown-value.ts';
import { LoggingPlugin } from '../../src/plugins/logging-plugin.ts';
import { editModal } from '../../src/slack/request-modals.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { ABOUT } from '../gateway/gateway-stub.ts';
import { readPage } from '../pages/browser-form.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { textOf } from '../setup/history-facts.ts';
import { leaksIn, plantedSecrets } from '../setup/planted-secrets.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { namedAccess } from './named-access.ts';

const { DescribeWorkflowExecutionResponse } = proto.temporal.api.workflowservice.v1;

const secrets = plantedSecrets(['pin', 'deep', 'misspelt', 'answer', 'edited']);
const open = plantedSecrets(['city', 'other', 'town']);

const optional = z.string().optional();
const account = z.object({ pin: z.string(), codes: z.array(z.string()) }).optional();
const closed = z.object({ pin: optional, city: optional, account });
const takesOthers = { type: 'object', properties: { pin: {} }, additionalProperties: true } as const;

const ran: unknown[] = [];
const gated = (name: string, sensitive: boolean | string[], parameters: object = closed) =>
  tool({
    ...{ name, sensitive, description: 'asks people', parameters: parameters as typeof closed },
    requireConfirmation: true,
    approval: { allowEdit: sensitive !== true },
    execute: (args) => {
      ran.push(args);
      return { done: true };
    },
  });

interface Case {
  tool: ReturnType<typeof tool>;
  args: Record<string, unknown>;
  /** Secrets among the arguments; all others of them are shown to those who decide. */
  hides: readonly (keyof typeof secrets)[];
  shows: readonly (keyof typeof open)[];
}

const { pin, deep, misspelt } = secrets;
const { city, other } = open;
const CASES: Record<string, Case> = {
  'sensitive: true': {
    tool: gated('all', true),
    args: { pin, account: { pin: deep, codes: [deep] } },
    hides: ['pin', 'deep'],
    shows: [],
  },
  'a list of names': { tool: gated('named', ['pin']), args: { pin, city }, hides: ['pin'], shows: ['city'] },
  'a value with others in it': {
    tool: gated('nested', ['account']),
    args: { account: { pin, codes: [deep] }, city },
    hides: ['pin', 'deep'],
    shows: ['city'],
  },
  'a name that the tool doesn’t have': {
    tool: gated('misspelt', ['pin']),
    args: { pim: misspelt, pin, city },
    hides: ['pin', 'misspelt'],
    shows: ['city'],
  },
  'other names of a tool that takes any': {
    tool: gated('takes_others', ['pin'], takesOthers),
    args: { pin, other, city },
    hides: ['pin'],
    shows: ['other', 'city'],
  },
  'a list without names': {
    tool: gated('nothing', []),
    args: { city, pin: other },
    hides: [],
    shows: ['city', 'other'],
  },
};
const questions = tool({
  name: 'question',
  description: 'asks for what nobody else may read',
  sensitive: ['result'],
  execute: async (_args: unknown, context) => {
    ran.push(
      await context.requestInput({
        message: 'Which number?',
        responseSchema: z.object({ number: z.string() }),
      }),
    );
    return { done: true };
  },
});

const notified: string[] = [];
const logged: string[] = [];
const log = (message: string, attributes?: unknown) =>
  void logged.push(`${message} ${JSON.stringify(attributes)}`);
const logger = { debug: log, info: log, warn: log, error: log };
const notifier: Notifier = {
  name: 'noting',
  notify: async (requests, why) =>
    void notified.push(JSON.stringify(requests), ...requests.flatMap((each) => noticeLines(each, why))),
  ended: async (request) => void notified.push(JSON.stringify(request)),
};
const credentialKeys = { k1: randomBytes(32).toString('base64') };

let environment: TurnEnvironment;
let client: HoldfastClient;
let served: ServedGateway;
beforeAll(async () => {
  const app = new App({
    name: 'shop',
    rootAgent: new LlmAgent({
      name: 'clerk',
      model: 'gemini-2.5-flash',
      tools: [...Object.values(CASES).map((each) => each.tool), questions],
    }),
    plugins: [new LoggingPlugin('logging_plugin', { logger })],
    durable: { notifiers: [notifier] },
  });
  environment = await openTurnEnvironment({ apps: [app], logger, workerOptions: { credentialKeys } });
  const { temporal, store } = environment;
  client = new HoldfastClient({ temporal, store, credentialKeys, searchAttributes: true });
  served = await serveGateway({
    gateway: {
      ...{ client, credentialKeys, records: store, access: namedAccess, logger },
      ...{ about: () => ABOUT, ready: async () => ({}) },
    },
  });
});
afterAll(async () => {
  await served.close();
  await environment.close();
});

async function asked(name: string, args: Record<string, unknown>): Promise<[AskingTurn, ApprovalRow]> {
  environment.gemini.reset(stepCalls([[{ name, args }]]));
  const turn = await AskingTurn.start({ ...environment, client }, { app: 'shop', userId: randomUUID() });
  const [request] = await turn.pending();
  if (request === undefined) throw new Error('nobody is asked');
  await expect.poll(() => notified.some((one) => one.includes(request.requestId))).toBe(true);
  return [turn, request];
}

const got = async (path: string, body?: object) => {
  const answer = await fetch(`${served.url}${path}`, {
    headers: { 'x-person': 'mira', 'content-type': 'application/json' },
    ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
  });
  return `${answer.status} ${await answer.text()}`;
};

/** All that those who decide are shown of a request, by channel. The forms of edits are empty where nothing may be changed. */
async function channelsOf({ requestId, session }: ApprovalRow): Promise<Record<string, Buffer>> {
  // As the store has it: each channel keeps the rule for itself.
  const row = await environment.store.approvals.findRequest(session, requestId);
  if (row === undefined) throw new Error('the request is gone');
  const link = { session, requestId, approver: 'mira', expiresAt: Date.now() + 60_000 };
  const url = linkUrl(served.url, signApprovalLink(credentialKeysOf(credentialKeys), link, Date.now()));
  const channels = {
    http: await got(`/v1/approvals/${encodeURIComponent(requestId)}`),
    'http list': await got('/v1/approvals?app=shop&status=pending&status=approved&status=answered'),
    page: (await readPage(url)).text,
    'table of a page': String(await argumentTable(row.args, row.sensitive, 'arguments')),
    cli: requestLines(row).join('\n'),
    notices: notified.filter((one) => !one.startsWith('[') || one.includes(requestId)).join('\n'),
    ...(row.terms.allowEdit && row.status === 'pending'
      ? {
          'form of a page': (await readPage(`${url}?edit`)).text,
          slack: JSON.stringify(editModal({ requestId, channel: 'C0', ts: '1.2' }, row)),
        }
      : {}),
  };
  return Object.fromEntries(Object.entries(channels).map(([name, text]) => [name, Buffer.from(text)]));
}

/** All that is kept of a request elsewhere: plan and history, description, audit, logs. */
async function placesOf({
  handle,
  names: { userId, sessionId, ...turn },
}: AskingTurn): Promise<Record<string, Buffer>> {
  const { raw } = await handle.describe();
  const audit = await client.approvals.audit({ ...turn, userId, sessionId });
  return {
    history: Buffer.from(textOf(await handle.fetchHistory())),
    description: Buffer.from(DescribeWorkflowExecutionResponse.encode(raw).finish()),
    status: Buffer.from(JSON.stringify(await handle.query('status'))),
    audit: Buffer.from(JSON.stringify(audit)),
    'audit by http': Buffer.from(
      await got(`/v1/apps/shop/users/${encodeURIComponent(userId)}/sessions/${sessionId}/audit`),
    ),
    logs: Buffer.from(logged.join('\n')),
  };
}

const only = <Name extends string>(all: Record<Name, string>, names: readonly Name[]) =>
  Object.fromEntries(names.map((name) => [name, all[name]]));

describe('sensitive values are in no channel, and all others are in each [tool.sensitive]', () => {
  test.each(Object.entries(CASES))('%s', async (_what, { tool: { name }, args, hides, shows }) => {
    const [turn, request] = await asked(name, args);
    const channels = await channelsOf(request);
    expect(leaksIn(secrets, { ...channels, ...(await placesOf(turn)) })).toEqual([]);
    for (const [channel, text] of Object.entries(channels)) {
      const shown = leaksIn(only(open, shows), { [channel]: text });
      expect(shown.filter((each) => each.endsWith('as text'))).toHaveLength(shows.length);
    }
    for (const channel of ['http', 'page', 'cli'] as const) {
      expect(String(channels[channel]).includes('(sensitive)')).toBe(hides.length > 0);
    }
    ran.length = 0;
    await client.approvals.confirm({ requestId: request.requestId }, { confirmed: true });
    expect((await turn.result()).status).toBe('completed');
    expect(ran).toHaveLength(1);
    expect(leaksIn(secrets, { ...(await channelsOf(request)), ...(await placesOf(turn)) })).toEqual([]);
  });

  test('edited arguments', async () => {
    const [turn, request] = await asked('misspelt', { pim: misspelt, pin, city });
    const path = `/v1/approvals/${encodeURIComponent(request.requestId)}/confirm`;
    for (const name of ['pin', 'pim']) {
      const refused = await got(path, { confirmed: true, args: { city: open.town, [name]: secrets.edited } });
      expect(refused).toContain(`the argument ${name} is sensitive`);
      expect(leaksIn(secrets, { refused: Buffer.from(refused) })).toEqual([]);
    }
    ran.length = 0;
    expect(await got(path, { confirmed: true, args: { city: open.town } })).toMatch(/^200 /);
    expect((await turn.result()).status).toBe('completed');
    expect(ran).toEqual([{ pin, city: open.town }]);
    const channels = await channelsOf(request);
    expect(leaksIn(secrets, { ...channels, ...(await placesOf(turn)) })).toEqual([]);
    const { http, cli, page } = channels;
    for (const text of [http, cli, page])
      expect(leaksIn({ town: open.town }, { text: text ?? Buffer.of() })).not.toEqual([]);
  });

  test('an answer to a tool whose result is sensitive', async () => {
    const [turn, request] = await asked('question', {});
    const path = `/v1/approvals/${encodeURIComponent(request.requestId)}/provide-input`;
    ran.length = 0;
    expect(await got(path, { response: { number: secrets.answer } })).toMatch(/^200 /);
    expect((await turn.result()).status).toBe('completed');
    expect(ran).toEqual([{ number: secrets.answer }]);
    expect(leaksIn(secrets, { ...(await channelsOf(request)), ...(await placesOf(turn)) })).toEqual([]);
    expect(await got(`/v1/approvals/${encodeURIComponent(request.requestId)}`)).toContain(
      '"response":"(sensitive)"',
    );
  });
});
