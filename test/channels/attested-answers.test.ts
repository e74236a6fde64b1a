import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { signDecision } from '../../src/approvals/decision-attestation.ts';
import { GATEWAY_ISSUER, gatewayKey } from '../../src/approvals/gateway-issuer.ts';
import { credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';
import { untilAsked } from '../setup/until-asked.ts';
import { gatewayOf } from './named-access.ts';

const keys = { k1: randomBytes(32).toString('base64') };

function askingTool(name: string, options: object = {}) {
  return tool({
    name,
    description: 'asks where to',
    parameters: { type: 'object', properties: {} },
    ...options,
    execute: async (_args, context) => {
      const answer = await context.requestInput({
        message: 'Where to?',
        responseSchema: { type: 'object', properties: { street: { type: 'string' } }, required: ['street'] },
      });
      return { sentTo: answer };
    },
  });
}

describe('who answers what is asked [channel.attested]', () => {
  let environment: TurnEnvironment;
  let served: ServedGateway;

  beforeAll(async () => {
    const clerk = (name: string) =>
      new LlmAgent({
        name,
        model: 'gemini-2.5-flash',
        tools: [askingTool('ask', name === 'discreet' ? { sensitive: true } : {})],
      });
    const rootAgent = clerk('clerk');
    const careful = { approval: { trustGateway: false } };
    environment = await openTurnEnvironment({
      apps: [
        new App({ name: 'trusting', rootAgent }),
        new App({ name: 'careful', rootAgent, durable: careful }),
        new App({ name: 'secretive', rootAgent: clerk('discreet') }),
      ],
      script: stepCalls([[{ name: 'ask', args: {} }]]),
      workerOptions: { credentialKeys: keys },
    });
    served = await serveGateway({ gateway: gatewayOf(environment.client, { credentialKeys: keys }) });
  });
  afterAll(async () => {
    await served.close();
    await environment.close();
  });

  async function asked(app: string) {
    const names = { app, userId: 'u1', sessionId: randomUUID() };
    await environment.client.sendMessage({ ...names, message: 'ship it' });
    await expect.poll(() => environment.client.approvals.list(names)).toHaveLength(1);
    const [request] = await environment.client.approvals.list(names);
    if (request === undefined) throw new Error('nobody was asked');
    await untilAsked(environment.temporal, request);
    const { requestId } = request;
    const answer = async (person: string, body: object) => {
      const answered = await fetch(`${served.url}/v1/approvals/${requestId}/provide-input`, {
        method: 'POST',
        headers: { 'x-person': person, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: answered.status, body: await answered.json() };
    };
    return { names, request, answer };
  }

  const response = { street: 'Elm Street 7' };

  test('is named by the audit, with the channel; the same answer again changes nothing', async () => {
    const { names, answer } = await asked('trusting');
    expect(await answer('mira', { response })).toMatchObject({ status: 200, body: { status: 'answered' } });
    const recorded = async () => JSON.stringify(await environment.client.approvals.audit(names));
    await expect.poll(recorded).toContain('"by":"mira"');
    expect(await recorded()).toContain('"channel":"http"');
    expect((await answer('mira', { response })).status).toBe(200);
    expect((await answer('jo', { response: { street: 'Oak' } })).status).toBe(409);
    expect(await recorded()).not.toContain('"by":"jo"');
    expect(await environment.client.approvals.verifyAudit(names)).toEqual({
      ok: true,
      rows: expect.any(Number),
      problems: [],
    });
  });

  test.each([
    ['an app that trusts no gateway', 'careful', 'mira'],
    ['a caller who is nobody in particular', 'trusting', ''],
  ])('counts as anybody’s for %s', async (_what, app, person) => {
    const { names, answer } = await asked(app);
    expect(await answer(person, { response })).toMatchObject({ status: 200 });
    const recorded = async () => JSON.stringify(await environment.client.approvals.audit(names));
    await expect.poll(recorded).toContain('answered');
    expect(await recorded()).not.toContain('"by":"mira"');
  });

  test('a gateway’s word for another answer, or another request, answers nothing', async () => {
    const { request, answer } = await asked('trusting');
    const { session, requestId, argsDigest } = request;
    const key = gatewayKey(credentialKeysOf(keys));
    const claims = {
      ...{ issuer: GATEWAY_ISSUER, approver: 'mira', channel: 'http', session, requestId, argsDigest },
      decision: 'approve' as const,
      responseDigest: digestOf(response),
    };
    const other = await signDecision({ ...claims, responseDigest: digestOf({ street: 'Oak' }) }, key);
    const elsewhere = await signDecision({ ...claims, requestId: `${requestId}0` }, key);
    for (const attestation of [other, elsewhere]) {
      expect((await answer('mira', { response, attestation })).status).toBe(409);
    }
    const attestation = await signDecision(claims, key);
    expect((await answer('mira', { response, attestation })).status).toBe(200);
  });

  test('a secret answer leaves no digest in the history', async () => {
    const { names, answer } = await asked('secretive');
    expect((await answer('mira', { response })).status).toBe(200);
    const recorded = async () => JSON.stringify(await environment.client.approvals.audit(names));
    await expect.poll(recorded).toContain('answered');
    expect(await recorded()).not.toMatch(/Elm Street|mira/);
  });
});
