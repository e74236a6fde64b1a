import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { newKeyText } from '../../src/gateway/access/key-text.ts';
import { configuredAccess, type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { gatewayOf } from './named-access.ts';

const CLIENTS = 50;
const TURNS = 25;
const CALLS = 20;

const credentialKeys = { k1: randomBytes(32).toString('base64') };
const people = Array.from({ length: CLIENTS }, (_, index) => `person-${index}`);
const silent = () => undefined;
const logger = { debug: silent, info: silent, warn: silent, error: silent };
const keyOf = new Map(people.map((person) => [person, newKeyText()]));
const ran: string[] = [];
let environment: TurnEnvironment;
let gateway: ServedGateway;

beforeAll(async () => {
  const pay = tool({
    name: 'pay',
    description: 'pays',
    parameters: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
    requireConfirmation: true,
    approval: { approvers: people },
    execute: (_args, { callKey }) => {
      ran.push(callKey);
      return { paid: true };
    },
  });
  const rootAgent = new LlmAgent({
    name: 'desk',
    model: 'gemini-2.5-flash',
    tools: [pay],
    maxParallelCalls: CALLS,
  });
  const calls = Array.from({ length: CALLS }, (_, n) => ({ name: 'pay', args: { n } }));
  environment = await openTurnEnvironment({
    apps: [new App({ name: 'shop', rootAgent })],
    script: stepCalls([calls]),
    workerOptions: { credentialKeys },
  });
  const { client, store: records } = environment;
  for (const [name, { keyId, digest }] of keyOf) {
    await records.keys.create({ keyId, digest, name, grants: [{ app: 'shop', roles: ['approve'] }] });
  }
  const access = configuredAccess({ records, logger });
  gateway = await serveGateway({ gateway: gatewayOf(client, { access, records, credentialKeys }) });
});
afterAll(async () => {
  await gateway.close();
  await environment.close();
});

async function confirm(
  person: string,
  requestId: string,
): Promise<{ status: number; said: string | undefined }> {
  const answer = await fetch(`${gateway.url}/v1/approvals/${requestId}/confirm?timeout=60000`, {
    method: 'POST',
    headers: { authorization: `Bearer ${keyOf.get(person)?.text}`, 'content-type': 'application/json' },
    body: JSON.stringify({ confirmed: true }),
  });
  const { status: said } = (await answer.json()) as { status?: string };
  return { status: answer.status, said };
}

test(`${TURNS * CALLS} approvals by ${CLIENTS} clients with keys of their own at once, each by two of them: none is lost, none counts twice [channel.race]`, async () => {
  const turns = await Promise.all(
    Array.from({ length: TURNS }, () =>
      environment.client.sendMessage({ app: 'shop', userId: 'u1', sessionId: randomUUID(), message: 'pay' }),
    ),
  );
  const all = TURNS * CALLS;
  const pending = () => environment.client.approvals.list({ app: 'shop', limit: 1_000 });
  await expect.poll(async () => (await pending()).length).toBe(all);
  const requestIds = (await pending()).map(({ requestId }) => requestId);

  const answers: Awaited<ReturnType<typeof confirm>>[] = [];
  const client = async (person: string, mine: readonly string[]) => {
    for (const requestId of mine) answers.push(await confirm(person, requestId));
  };
  await Promise.all(
    people.map((person, index) =>
      client(
        person,
        // Each request is also the next client's.
        requestIds.filter((_id, n) => n % CLIENTS === index || (n + 1) % CLIENTS === index),
      ),
    ),
  );
  const results = await Promise.all(turns.map((turn) => turn.result()));

  expect(answers).toHaveLength(2 * all);
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  expect(answers.filter(({ said }) => said === 'approved')).toHaveLength(all);
  expect(new Set(results.map(({ status }) => status))).toEqual(new Set(['completed']));
  expect(ran).toHaveLength(all);
  expect(new Set(ran).size).toBe(all);
  expect(await pending()).toEqual([]);
  const decided = await environment.client.approvals.list({
    app: 'shop',
    status: ['approved'],
    limit: 1_000,
  });
  expect(decided).toHaveLength(all);
  for (const { votes } of decided) {
    expect(votes).toMatchObject([{ confirmed: true, by: { verified: true, channel: 'http' } }]);
  }
});
