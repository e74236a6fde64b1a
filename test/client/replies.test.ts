import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import {
  GatewayClient,
  HoldfastClient,
  InvalidTurn,
  RequestNotFound,
  RequestNotPending,
  StoreNeeded,
} from '../../src/client/index.ts';
import { storedApi } from '../../src/client/stored-api.ts';
import type { Content, FunctionResponse } from '../../src/events/content.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, calls, type GeminiScript, type TestEnvironment, text } from '../../src/testing/index.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { checkedFetch, DocumentCheck, fetchDocument } from '../gateway/document-check.ts';
import { textOf } from '../setup/history-facts.ts';
import { openPlacedEnvironment } from '../setup/placed-environment.ts';
import { isDeep } from '../setup/tier.ts';

const SECRET = 'sk-planted-Zq8vN3xK';

let paid: number[] = [];
beforeEach(() => {
  paid = [];
});
const pay = tool({
  name: 'pay',
  description: 'Pays money back.',
  parameters: z.object({ amount: z.number() }),
  requireConfirmation: true,
  execute: ({ amount }) => {
    paid.push(amount);
    return { paid: amount };
  },
});
const size = tool({
  name: 'size',
  description: 'Asks for a size.',
  execute: async (_args, context) => {
    const answer = await context.requestInput({
      message: 'Which size?',
      responseSchema: { type: 'object', properties: { size: { type: 'string' } }, required: ['size'] },
    });
    return { answer };
  },
});
const pin = tool({
  name: 'pin',
  description: 'Asks for a number that nobody else may see.',
  sensitive: ['result'],
  execute: async (_args, context) => ({ pin: await context.requestInput({ message: 'Which PIN?' }) }),
});
let used: unknown;
const shop = tool({
  name: 'shop',
  description: 'Asks the shop.',
  authConfig: { credentialKey: 'shop', authScheme: { type: 'apiKey', in: 'header', name: 'x-key' } },
  execute: (_args, context) => {
    used = context.authCredential;
    return { asked: true };
  },
});

/** "pay N…" pays each; any other text calls the tool of that name. */
const script: GeminiScript = ({ contents }) => {
  const last = contents?.at(-1)?.parts ?? [];
  if (last.some(({ functionResponse }) => functionResponse)) return text('done');
  const [name = '', ...amounts] = (last.at(-1)?.text ?? '').split(' ');
  if (name === 'say') return text('said');
  if (name !== 'pay') return call(name);
  return calls(amounts.map((amount) => ({ name: 'pay', args: { amount: Number(amount) } })));
};

let env: TestEnvironment;
let gateway: GatewayClient;
let check: DocumentCheck;

beforeAll(async () => {
  env = await openPlacedEnvironment({
    agents: [new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash', tools: [pay, size, shop, pin] })],
    script,
  });
  check = new DocumentCheck(await fetchDocument(env.gateway.url));
  gateway = new GatewayClient({ ...env.gateway, fetch: checkedFetch(check) });
});
afterAll(() => env.close());

async function asking(message: string) {
  const names: SessionNames = { app: 'test', userId: randomUUID(), sessionId: 's1' };
  const turn = await env.send({ ...names, message });
  const requests = await env.waiting(turn);
  return { names, turn, requests, id: requests[0]?.requestId ?? '' };
}

const reply = (...responses: FunctionResponse[]): Content => ({
  role: 'user',
  parts: responses.map((functionResponse) => ({ functionResponse })),
});
const confirmation = (id: string, response: Record<string, unknown>): FunctionResponse => ({
  id,
  name: 'adk_request_confirmation',
  response,
});

/** Whether words stand in anything that Temporal keeps of a workflow. */
async function isInHistory(workflowId: string, words: string): Promise<boolean> {
  return textOf(await env.temporal.workflow.getHandle(workflowId).fetchHistory()).includes(words);
}

describe('replies', () => {
  test('a reply goes to the turn that waits, whose handle it gives [confirm.reply]', async () => {
    const { names, turn, id } = await asking('pay 1');
    const handle = await gateway.sendMessage({
      ...names,
      message: reply(confirmation(id, { confirmed: true })),
    });
    expect(handle).toMatchObject({
      invocationId: turn.invocationId,
      messageId: turn.messageId,
      workflowId: turn.workflowId,
      attached: true,
    });
    expect(await handle.receipt()).toMatchObject({
      confirmed: true,
      invocationId: turn.invocationId,
      replies: [{ requestId: id, status: 'approved' }],
    });
    const result = await handle.result();
    expect(result).toMatchObject({ status: 'completed', text: 'done', invocationId: turn.invocationId });
    const events = await env.store.sessions.readEvents(names);
    // No turn began with it, and it is no message of the session.
    expect(events.filter(({ kind }) => kind === 'message')).toHaveLength(1);
    const followed = [];
    for await (const { kind } of handle.events()) followed.push(kind);
    expect(followed).toEqual(['message', 'model', 'request', 'responses', 'model']);
  });

  test('several replies ride in one message, as JSON in a text too [confirm.reply]', async () => {
    const { names, turn, requests } = await asking('pay 21 22');
    const [one, two] = requests.map(({ requestId }) => requestId);
    await gateway.sendMessage({
      ...names,
      message: reply(
        confirmation(one ?? '', { response: '{"confirmed":true}' }),
        confirmation(two ?? '', { response: '{"confirmed":false}' }),
      ),
    });
    await turn.result();
    expect(paid.filter((amount) => amount === 21 || amount === 22)).toEqual([21]);
  });

  test('a response to the call that waits answers its request, and begins no turn [confirm.reply]', async () => {
    const { names, turn, requests } = await asking('pay 23');
    const answer = { id: requests[0]?.callId ?? '', name: 'pay', response: { confirmed: true } };
    const handle = await gateway.sendMessage({ ...names, message: reply(answer) });
    expect(handle.invocationId).toBe(turn.invocationId);
    await handle.receipt();
    expect(await turn.result()).not.toHaveProperty('others');
    expect(await handle.result()).toMatchObject({ status: 'completed', invocationId: turn.invocationId });
    expect(paid.filter((amount) => amount === 23)).toEqual([23]);
  });

  test('a malformed approval decides nothing, and the right one after it does [confirm.malformed]', async () => {
    const { names, turn, id, requests } = await asking('pay 31');
    const send = (response: object) =>
      gateway.sendMessage({
        ...names,
        message: reply(confirmation(id, response as Record<string, unknown>)),
      });
    await expect(send({ response: 'sure!' })).rejects.toMatchObject({
      code: 'HOLDFAST_INVALID_TURN',
      message: expect.stringContaining(
        'message.parts[0].functionResponse.response.response: expected the JSON of { confirmed: true or false',
      ),
    });
    await expect(send({ confirmed: 'yes' })).rejects.toThrow(
      /message\.parts\[0\]\.functionResponse\.response\.confirmed: expected true or false .* got string/,
    );
    // Under the name of the tool only the turn that waits knows what it answers.
    const named = { id: requests[0]?.requestId ?? '', name: 'pay', response: { confirmed: 1 } };
    await expect(gateway.sendMessage({ ...names, message: reply(named) })).rejects.toThrow(
      /functionResponse\.response\.confirmed: expected true or false/,
    );
    expect(await gateway.approvals.get({ requestId: id })).toMatchObject({ status: 'pending' });
    await send({ confirmed: true });
    expect(await turn.result()).toMatchObject({ status: 'completed' });
    expect(paid.filter((amount) => amount === 31)).toEqual([31]);
  });

  test('a question is answered by a reply [confirm.reply] [input.request]', async () => {
    const { names, turn, id } = await asking('size');
    const answer = { id, name: 'adk_request_input', response: { payload: { size: 'L' } } };
    await gateway.sendMessage({ ...names, message: reply(answer) });
    expect((await env.turnOf(turn)).calls).toMatchObject([{ response: { answer: { size: 'L' } } }]);
  });

  test('what answers a sensitive tool is shown neither with its request nor in the audit [input.request]', async () => {
    const { names, turn, id } = await asking('pin');
    await env.provideInput(id, SECRET);
    await turn.result();
    const { approvals } = gateway;
    expect(await approvals.get({ requestId: id })).toMatchObject({ response: '(sensitive)' });
    const audit = await approvals.audit(names);
    expect(JSON.stringify(audit)).not.toContain(SECRET);
    expect(audit.map(({ content }) => content?.response)).toContain('(sensitive)');
    expect(await approvals.verifyAudit(names)).toMatchObject({ ok: true });
    // Commands that find nobody who owns the folder read the store themselves.
    expect(await storedApi(env.store, undefined).approvals.audit(names)).toEqual(audit);
  });

  test('an answer that is too large is not kept first [input.request]', async () => {
    const { names, id } = await asking('pin');
    const kept = vi.spyOn(env.store.approvals, 'keepResponse');
    const answer = { id, name: 'adk_request_input', response: { payload: 'x'.repeat(33_000) } };
    await expect(gateway.sendMessage({ ...names, message: reply(answer) })).rejects.toMatchObject({
      code: 'HOLDFAST_INVALID_TURN',
      message: expect.stringContaining('bytes of JSON, at most 32768 are allowed'),
    });
    expect(kept).not.toHaveBeenCalled();
    kept.mockRestore();
    await gateway.interrupt(names);
  });

  test('a secret in a reply reaches the tool, and no history [credential.secret]', async () => {
    const { names, turn, id, requests } = await asking('shop');
    expect(requests).toMatchObject([{ kind: 'credential', authConfig: { credentialKey: 'shop' } }]);
    const credential = { authType: 'apiKey', apiKey: SECRET };
    const given = {
      id,
      name: 'adk_request_credential',
      response: { ...requests[0]?.authConfig, exchangedAuthCredential: credential },
    };
    const handle = await gateway.sendMessage({ ...names, message: reply(given) });
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(used).toMatchObject(credential);
    expect(await isInHistory(turn.workflowId, SECRET)).toBe(false);
    expect(await isInHistory(turn.workflowId, 'cr-')).toBe(true);
    expect(JSON.stringify(await env.store.sessions.readEvents(names))).not.toContain(SECRET);
    expect(JSON.stringify(await gateway.approvals.audit(names))).not.toContain(SECRET);
    const [kept, ...others] = await gateway.credentials.list(names);
    expect(others).toEqual([]);
    expect(kept).toMatchObject({ credentialKey: 'shop', authType: 'apiKey', userId: names.userId });
    expect(JSON.stringify(kept)).not.toContain(SECRET);
    const again = await env.run({ ...names, message: 'shop' });
    expect(again.calls).toMatchObject([{ response: { asked: true } }]);
  });

  test('what is no credential is refused, and not quoted [credential.secret]', async () => {
    const { names, turn, id } = await asking('shop');
    const sending = (response: Record<string, unknown>, name = 'adk_request_credential') =>
      gateway.sendMessage({ ...names, message: reply({ id, name, response }) });
    const responses = [
      { secret: SECRET },
      { credentialRef: SECRET },
      { response: SECRET },
      { exchangedAuthCredential: { authType: 'oauth2', oauth2: { clientSecret: SECRET } } },
      { raw_auth_credential: { auth_type: 'api_key', api_key: { value: SECRET } } },
    ];
    for (const response of responses) {
      const refused = await sending(response).catch((error: unknown) => error);
      expect(refused).toBeInstanceOf(Error);
      expect(JSON.stringify([(refused as Error).message, refused])).not.toContain(SECRET);
    }
    // Under any other name, by the call's id, too.
    const callId = (await env.client.approvals.get({ requestId: id }))?.callId ?? '';
    await expect(
      gateway.sendMessage({
        ...names,
        message: reply({
          id: callId,
          name: 'shop',
          response: { exchangedAuthCredential: { authType: 'apiKey', apiKey: SECRET } },
        }),
      }),
    ).rejects.toThrow(InvalidTurn);
    const bare = reply({ id: callId, name: 'shop', response: { apiKey: SECRET } });
    await expect(gateway.sendMessage({ ...names, message: bare })).rejects.toThrow(InvalidTurn);
    await env.client.interrupt(names);
    await turn.result();
    expect(await isInHistory(turn.workflowId, SECRET)).toBe(false);
    expect(await env.client.credentials.list(names)).toEqual([]);
  });

  test('with no turn that waits a reply starts none, and says what became of its request [confirm.reply]', async () => {
    const { names, turn, id } = await asking('pay 41');
    const approve = { ...names, message: reply(confirmation(id, { confirmed: true })) };
    const reject = { ...names, message: reply(confirmation(id, { confirmed: false })) };
    await gateway.sendMessage(approve);
    await turn.result();
    const runs = () => env.temporal.workflow.getHandle(turn.workflowId).describe();
    const { runId } = await runs();
    await expect(gateway.sendMessage(reject)).rejects.toThrow(RequestNotPending);
    await expect(gateway.sendMessage(reject)).rejects.toMatchObject({ request: { status: 'approved' } });
    const again = await gateway.sendMessage(approve);
    expect(await again.receipt()).toMatchObject({ replies: [{ status: 'duplicate' }] });
    expect(await again.result()).toMatchObject({ invocationId: turn.invocationId, status: 'completed' });
    const unknown = reply(confirmation('rq-e-nobody.1.0.1', { confirmed: true }));
    await expect(gateway.sendMessage({ ...names, message: unknown })).rejects.toThrow(RequestNotFound);
    expect((await runs()).runId).toBe(runId);
    expect(paid.filter((amount) => amount === 41)).toEqual([41]);
  });

  test('what a message says beside its replies is a message of its own [confirm.reply]', async () => {
    const { names, turn, id } = await asking('pay 61');
    const message = reply(confirmation(id, { confirmed: true }));
    const next = await gateway.sendMessage({
      ...names,
      message: { ...message, parts: [...(message.parts ?? []), { text: 'say thanks' }] },
    });
    expect(next.invocationId).not.toBe(turn.invocationId);
    expect(await turn.result()).toMatchObject({ text: 'done' });
    expect(await next.result()).toMatchObject({ text: 'said' });
    expect(paid).toContain(61);
  });
});

if (isDeep) {
  test('with no worker up a reply is kept for the next one [confirm.reply]', async () => {
    const { names, turn, id } = await asking('pay 71');
    await env.stopWorker();
    const handle = await env.client.sendMessage({
      ...names,
      message: reply(confirmation(id, { confirmed: true })),
    });
    expect(handle.invocationId).toBe(turn.invocationId);
    expect(await handle.receipt()).toMatchObject({ status: 'accepted', confirmed: false });
    await env.restartWorker();
    expect(await handle.result()).toMatchObject({ status: 'completed' });
    expect(paid.filter((amount) => amount === 71)).toEqual([71]);
  });
}

test('a turn that waits says so, and its result is waited for [confirm.reply]', async () => {
  const { names, turn, id } = await asking('pay 81');
  expect(await env.client.status(names)).toMatchObject({
    status: 'waiting_approval',
    waiting: [{ requestId: id, tool: 'pay' }],
  });
  const items: string[] = [];
  const stop = new AbortController();
  const followed = (async () => {
    for await (const item of env.client.stream(names, { signal: stop.signal })) {
      items.push(item.type === 'event' ? item.kind : item.type);
      if (item.type === 'event' && item.kind === 'request') stop.abort();
    }
  })();
  await followed;
  expect(items).toContain('request');
  const result = turn.result();
  await env.approve(id);
  expect(await result).toMatchObject({ status: 'completed' });
});

test('without a store a secret is not sent [credential.secret]', async () => {
  const plain = new HoldfastClient({ temporal: env.temporal });
  const { names, turn, id } = await asking('shop');
  const given = {
    id,
    name: 'adk_request_credential',
    response: { credentialKey: 'shop', rawAuthCredential: { authType: 'apiKey', apiKey: SECRET } },
  };
  await expect(plain.sendMessage({ ...names, message: reply(given) })).rejects.toThrow(StoreNeeded);
  await env.provideCredential(turn, {
    authType: 'http',
    http: { scheme: 'bearer', credentials: { token: SECRET } },
  });
  expect(await turn.result()).toMatchObject({ status: 'completed' });
  expect(await isInHistory(turn.workflowId, SECRET)).toBe(false);
});

test('without keys a credential is not stored, and the error says what to set [credential.secret]', async () => {
  const { HOLDFAST_CREDENTIAL_KEYS: before } = process.env;
  delete process.env.HOLDFAST_CREDENTIAL_KEYS;
  try {
    const keyless = new HoldfastClient({ temporal: env.temporal, store: env.store });
    const put = keyless.credentials.put({
      app: 'test',
      userId: 'ada',
      credentialKey: 'k',
      credential: { authType: 'apiKey', apiKey: SECRET },
    });
    await expect(put).rejects.toMatchObject({ code: 'HOLDFAST_CREDENTIAL_KEY_MISSING' });
    await expect(put).rejects.toThrow(/HOLDFAST_CREDENTIAL_KEYS/);
  } finally {
    if (before !== undefined) process.env.HOLDFAST_CREDENTIAL_KEYS = before;
  }
});
