import { randomBytes } from 'node:crypto';
import proto from '@temporalio/proto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { Notifier } from '../../src/approvals/notifier.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import type { Content, FunctionResponse } from '../../src/events/content.ts';
import { Runner } from '../../src/runner/runner.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { textOf } from '../setup/history-facts.ts';
import { filesBelow, leaksIn, plantedSecrets } from '../setup/planted-secrets.ts';
import { stepCalls } from '../setup/scripts.ts';
import { someOf } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const { DescribeWorkflowExecutionResponse } = proto.temporal.api.workflowservice.v1;

/** Secrets that nothing but the store may have, and there encrypted. */
const GIVEN = ['stored', 'replied', 'streamed', 'updated', 'refusedReply'] as const;
/** The model's own, or a person's: the store has them, and nothing of Temporal's. */
const SENSITIVE = ['argument', 'payload', 'result', 'hint', 'answer', 'repliedAnswer', 'textAnswer'] as const;

/** A header can hold no line break. */
const given = Object.fromEntries(
  Object.entries(plantedSecrets(GIVEN)).map(([kind, secret]) => [kind, secret.trim()]),
) as Record<(typeof GIVEN)[number], string>;
const sensitive = plantedSecrets(SENSITIVE);
const secrets = { ...given, ...sensitive };

const credentialKeys = `k1:${randomBytes(32).toString('base64')}`;
const authConfig = { credentialKey: 'shop', authScheme: { type: 'http', scheme: 'bearer' } } as const;

const used: unknown[] = [];
const logged: string[] = [];
const notified: string[] = [];
const thrown: string[] = [];

const notifier: Notifier = {
  name: 'noting',
  notify: async (requests, why) => void notified.push(JSON.stringify([why, requests])),
};
const tools = [
  tool({
    name: 'order',
    description: 'needs a credential, and may fail and quote it',
    authConfig,
    retry: { maximumAttempts: 2, initialInterval: 1, maximumInterval: 2 },
    sensitive: true,
    execute: (_args: unknown, context: Context) => {
      const { token } = context.authCredential?.http?.credentials ?? {};
      used.push(token);
      // What a tool says itself is in the ledger as it is.
      const quotes = token === given.streamed && used.filter((one) => one === token).length === 1;
      if (quotes) throw new Error(`401 for ${token}`);
      return { ordered: true };
    },
  }),
  tool({
    name: 'wire',
    description: 'has a secret argument',
    parameters: z.object({ pin: z.string() }),
    sensitive: true,
    requireConfirmation: () => ({
      hint: `wire with ${sensitive.hint}?`,
      payload: { quoted: sensitive.payload },
    }),
    execute: ({ pin }, context) => {
      used.push(pin, context.toolConfirmation?.payload);
      return { wired: sensitive.result };
    },
  }),
];
tools.push(
  tool({
    name: 'verify',
    description: 'asks for what nobody else may read',
    sensitive: ['result'],
    execute: async (_args: unknown, context: Context) => {
      used.push(
        await context.requestInput({
          message: 'Which number?',
          responseSchema: z.object({ number: z.string() }),
        }),
      );
      return { verified: true };
    },
  }),
  tool({
    name: 'transfer',
    description: 'has a secret argument beside others, which may be changed',
    parameters: z.object({ pin: z.string(), amount: z.number(), note: z.string().optional() }),
    sensitive: ['pin'],
    requireConfirmation: true,
    approval: { allowEdit: true },
    execute: (args) => {
      used.push(args);
      return { transferred: args.amount };
    },
  }),
);
const app = new App({
  name: 'shop',
  rootAgent: new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash', tools }),
  durable: { notifiers: [notifier] },
});

let environment: TurnEnvironment;
let client: HoldfastClient;
beforeAll(async () => {
  environment = await openTurnEnvironment({
    apps: [app],
    // Its files are read.
    serverConfig: [],
    logger: { warn: (message, attributes) => logged.push(`${message} ${JSON.stringify(attributes)}`) },
    workerOptions: { credentialKeys },
  });
  const { temporal: temporalClient, store } = environment;
  client = new HoldfastClient({
    temporal: temporalClient,
    store,
    searchAttributes: true,
    credentialKeys: parseCredentialKeys(credentialKeys),
  });
});
afterAll(() => environment.close());

/** A turn that waits, and what Temporal shows of it meanwhile. */
async function asks(name: string, args = {}): Promise<[AskingTurn, ApprovalRow, Record<string, Buffer>]> {
  environment.gemini.reset(stepCalls([[{ name, args }]]));
  const userId = `user-${randomBytes(4).toString('hex')}`;
  const turn = await AskingTurn.start({ ...environment, client }, { app: 'shop', userId });
  const [request] = await turn.pending();
  if (request === undefined) throw new Error('nobody is asked');
  await expect.poll(async () => (await statusOf(turn)).includes(request.requestId)).toBe(true);
  await expect.poll(() => notified.some((one) => one.includes(request.requestId))).toBe(true);
  return [turn, request, await placesOf(turn, 'while it waits')];
}

const statusOf = async ({ handle }: AskingTurn) => JSON.stringify(await handle.query('status'));

/** All that Temporal has of a run: history, memo, search attributes, details, pending activities. */
async function placesOf({ handle }: AskingTurn, when: string): Promise<Record<string, Buffer>> {
  const { raw } = await handle.describe();
  return {
    [`history ${when}`]: Buffer.from(textOf(await handle.fetchHistory())),
    [`description ${when}`]: Buffer.from(DescribeWorkflowExecutionResponse.encode(raw).finish()),
    [`status ${when}`]: Buffer.from(JSON.stringify(await handle.query('status'))),
    [`details ${when}`]: Buffer.from(JSON.stringify(await handle.query('__temporal_workflow_metadata'))),
  };
}

/** What a turn that has ended has left of secrets, anywhere but in the store. */
async function leaksOf(turn: AskingTurn, waiting: Record<string, Buffer>): Promise<string[]> {
  await turn.result();
  const elsewhere = leaksIn(secrets, {
    ...waiting,
    ...(await placesOf(turn, 'in the end')),
    logs: Buffer.from(logged.join('\n')),
    notices: Buffer.from(notified.join('\n')),
    errors: Buffer.from(thrown.join('\n')),
  });
  const status = ['pending', 'answered', 'approved', 'rejected', 'cancelled'] as const;
  const listed = JSON.stringify(await client.approvals.list({ app: 'shop', status }));
  const audit = JSON.stringify(await client.approvals.audit(turn.names));
  // Those who decide read what the tool asks them.
  const { hint: _asked, payload: _shown, ...shownToNobody } = secrets;
  const shown = leaksIn(shownToNobody, { listed: Buffer.from(listed), audit: Buffer.from(audit) });
  return [...elsewhere, ...shown];
}

const bearer = (token: string) =>
  ({ authType: 'http', http: { scheme: 'bearer', credentials: { token } } }) as const;

const reply = ({ requestId }: ApprovalRow, token: string): Content => ({
  role: 'user',
  parts: [
    {
      functionResponse: {
        id: requestId,
        name: 'adk_request_credential',
        response: { ...authConfig, exchangedAuthCredential: bearer(token) },
      },
    },
  ],
});

const refusal = async (work: Promise<unknown>): Promise<string> => {
  const error = await work.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  if (!(error instanceof Error)) throw new Error('it was not refused');
  thrown.push(`${error.message} ${error.stack} ${String(error.cause)} ${JSON.stringify(error)}`);
  return error.message;
};

const WAYS: Record<
  'stored' | 'replied' | 'streamed',
  (turn: AskingTurn, request: ApprovalRow) => Promise<unknown>
> = {
  stored: async ({ names: { app: owner, userId } }, { requestId }) => {
    const { credentialRef } = await client.credentials.put({
      app: owner,
      userId,
      credentialKey: authConfig.credentialKey,
      credential: bearer(given.stored),
    });
    return await client.approvals.provideCredential({ requestId }, { credentialRef });
  },
  replied: ({ names }, request) => client.sendMessage({ ...names, message: reply(request, given.replied) }),
  streamed: async ({ names: { userId, sessionId } }, request) => {
    const runner = new Runner({ client, app });
    const newMessage = reply(request, given.streamed);
    for await (const _event of runner.runAsync({ userId, sessionId, newMessage }));
  },
};

test.each(someOf(Object.keys(WAYS) as (keyof typeof WAYS)[]))(
  'a credential that is %s reaches its tool, and nothing else that anybody reads [credential.secret]',
  async (way) => {
    const [turn, request, waiting] = await asks('order');
    await WAYS[way](turn, request);
    expect((await turn.result()).status).toBe('completed');
    expect(used.filter((one) => one === given[way]).length).toBeGreaterThan(0);
    expect(await leaksOf(turn, waiting)).toEqual([]);
    expect(JSON.stringify(await turn.events())).not.toContain(given[way]);
    const inPlain = filesBelow(environment.folder, ['temporal.db', 'temporal.db-wal']);
    const { streamed: _quoted, ...encrypted } = given;
    expect(leaksIn(encrypted, inPlain)).toEqual([]);
  },
);

test('a raw secret in an update is refused, and is in no history; the refusal doesn’t say it [credential.secret]', async () => {
  const [turn, { requestId }, waiting] = await asks('order');
  const update = (name: string, payload: object) => turn.handle.executeUpdate(name, { args: [payload] });
  await refusal(update('provideCredential', { requestId, apiKey: given.updated }));
  await refusal(update('provideCredential', { requestId, credentialRef: given.updated }));
  await refusal(update('provideCredential', { credentialRef: { token: given.updated } }));
  const response = { ...authConfig, exchangedAuthCredential: bearer(given.refusedReply) };
  const functionResponse = { id: requestId, name: 'adk_request_credential', response };
  const message = { role: 'user', parts: [{ functionResponse }] };
  await refusal(update('sendMessage', { messageId: 'm2', message }));
  expect((await turn.pending()).map((row) => row.requestId)).toEqual([requestId]);
  const leaks = leaksIn(secrets, { ...waiting, ...(await placesOf(turn, 'behind the refusals')) });
  expect(leaks).toEqual([]);
  await turn.handle.signal('interrupt', {});
  expect(await leaksOf(turn, {})).toEqual([]);
});

test('a raw secret in a signal changes nothing: the log names the run, whose history has it, and not the secret [credential.secret]', async () => {
  const leaked = plantedSecrets(['signalled', 'signalledReply']);
  const [turn, request] = await asks('order');
  const { requestId } = request;
  await turn.handle.signal('provideCredential', { requestId, credentialRef: leaked.signalled });
  const message = reply(request, leaked.signalledReply);
  await turn.handle.signal('sendMessage', { messageId: 'm2', message });
  const { runId } = await turn.handle.describe();
  const warnings = () =>
    logged.filter((line) => line.includes(`run ${runId}`) && line.includes('raw secret'));
  await expect.poll(() => warnings().length).toBeGreaterThanOrEqual(2);
  expect((await turn.pending()).map(({ status }) => status)).toEqual(['pending']);
  await turn.handle.signal('interrupt', {});
  await turn.result();
  const { 'history in the end': history, ...others } = await placesOf(turn, 'in the end');
  expect(leaksIn(leaked, { history: history ?? Buffer.alloc(0) })).not.toEqual([]);
  const logs = Buffer.from(logged.join('\n'));
  const audit = Buffer.from(JSON.stringify(await client.approvals.audit(turn.names)));
  const events = Buffer.from(JSON.stringify(await turn.events()));
  const notices = Buffer.from(notified.join('\n'));
  expect(leaksIn(leaked, { ...others, logs, audit, events, notices })).toEqual([]);
});

test('what is sensitive of a gated call reaches its tool, and nothing else that people read, approvers neither [credential.secret] [tool.sensitive]', async () => {
  const [turn, request, waiting] = await asks('wire', { pin: sensitive.argument });
  expect(request.args).toEqual({ pin: sensitive.argument });
  await client.approvals.confirm({ requestId: request.requestId }, { confirmed: true });
  expect((await turn.result()).status).toBe('completed');
  expect(used).toEqual(expect.arrayContaining([sensitive.argument, { quoted: sensitive.payload }]));
  expect(await leaksOf(turn, waiting)).toEqual([]);
});

test('a gated call with sensitive arguments that is rejected says nothing of them [credential.secret] [tool.sensitive]', async () => {
  const [turn, request, waiting] = await asks('wire', { pin: sensitive.argument });
  await turn.signal({ requestId: request.requestId, confirmed: false, reason: 'no' });
  expect(await leaksOf(turn, waiting)).toEqual([]);
});

const answering = async ({ names }: AskingTurn, functionResponse: FunctionResponse) => {
  const handle = await client.sendMessage({
    ...names,
    message: { role: 'user', parts: [{ functionResponse }] },
  });
  return await handle.receipt();
};

const ANSWERS: Record<
  'answer' | 'repliedAnswer' | 'textAnswer',
  (turn: AskingTurn, request: ApprovalRow) => Promise<unknown>
> = {
  answer: (_turn, { requestId }) =>
    client.approvals.provideInput({ requestId }, { response: { number: sensitive.answer } }),
  repliedAnswer: (turn, { requestId: id }) => {
    const response = { payload: { number: sensitive.repliedAnswer } };
    return answering(turn, { id, name: 'adk_request_input', response });
  },
  textAnswer: (turn, { requestId: id }) => {
    const response = { result: JSON.stringify({ number: sensitive.textAnswer }) };
    return answering(turn, { id, name: 'adk_request_input', response });
  },
};

test.each(someOf(Object.keys(ANSWERS) as (keyof typeof ANSWERS)[]))(
  'what a sensitive tool is told reaches it, and nothing of Temporal: %s [credential.secret] [input.request]',
  async (way) => {
    const [turn, request, waiting] = await asks('verify');
    await ANSWERS[way](turn, request);
    expect((await turn.result()).status).toBe('completed');
    expect(used).toContainEqual({ number: sensitive[way] });
    expect(await leaksOf(turn, waiting)).toEqual([]);
    expect(JSON.stringify(await ANSWERS[way](turn, request))).toContain('duplicate');
  },
);

test('an answer that does not fit a sensitive tool is refused without a word of it [credential.secret]', async () => {
  const [turn, { requestId }, waiting] = await asks('verify');
  const giving = (response: unknown) => client.approvals.provideInput({ requestId }, { response });
  expect(await refusal(giving({ nummer: sensitive.answer }))).toContain('schema');
  expect(await refusal(giving(sensitive.answer))).toContain('schema');
  expect((await turn.pending()).map(({ status }) => status)).toEqual(['pending']);
  await giving({ number: sensitive.answer });
  expect(await leaksOf(turn, waiting)).toEqual([]);
});

test('a raw answer to a sensitive tool is refused in an update; in a signal it counts for nothing, and the log names the run [credential.secret]', async () => {
  const leaked = plantedSecrets(['signalled', 'signalledReply']);
  const [turn, { requestId }, waiting] = await asks('verify');
  const update = (name: string, payload: object) => turn.handle.executeUpdate(name, { args: [payload] });
  const message = (number: string) => {
    const functionResponse = { id: requestId, name: 'adk_request_input', response: { number } };
    return { messageId: 'm2', message: { role: 'user', parts: [{ functionResponse }] } };
  };
  const reason = await refusal(update('provideInput', { requestId, response: { number: sensitive.answer } }));
  expect(reason).not.toContain(sensitive.answer);
  await refusal(update('provideInput', { requestId, responseRef: sensitive.answer }));
  await refusal(update('sendMessage', message(sensitive.repliedAnswer)));
  expect(leaksIn(secrets, { ...waiting, ...(await placesOf(turn, 'behind the refusals')) })).toEqual([]);
  await turn.handle.signal('provideInput', { requestId, response: { number: leaked.signalled } });
  await turn.handle.signal('sendMessage', message(leaked.signalledReply));
  const { runId } = await turn.handle.describe();
  const warnings = () =>
    logged.filter((line) => line.includes(`run ${runId}`) && line.includes('raw secret'));
  await expect.poll(() => warnings().length).toBeGreaterThanOrEqual(2);
  expect((await turn.pending()).map(({ status }) => status)).toEqual(['pending']);
  await turn.handle.signal('interrupt', {});
  await turn.result();
  const { 'history in the end': _history, ...others } = await placesOf(turn, 'in the end');
  const audit = Buffer.from(JSON.stringify(await client.approvals.audit(turn.names)));
  const logs = Buffer.from(logged.join('\n'));
  expect(leaksIn({ ...secrets, ...leaked }, { ...others, audit, logs })).toEqual([]);
});

test('an edit leaves sensitive arguments as they are, and is refused where it names one [credential.secret] [approval.edit]', async () => {
  const args = { pin: sensitive.argument, amount: 5, note: 'rent' };
  const [turn, { requestId }, waiting] = await asks('transfer', args);
  const other = { amount: 4, pin: sensitive.payload };
  const confirmed = true;
  expect(await refusal(client.approvals.confirm({ requestId }, { confirmed, args: other }))).toContain('pin');
  const update = turn.handle.executeUpdate('confirm', { args: [{ requestId, confirmed, args: other }] });
  await refusal(update);
  expect(leaksIn(secrets, await placesOf(turn, 'behind the refusals'))).toEqual([]);
  const leaked = plantedSecrets(['signalled']);
  await turn.signal({ requestId, confirmed, args: { amount: 4, pin: leaked.signalled } });
  await expect.poll(() => logged.filter((line) => line.includes('raw secret')).length).toBeGreaterThan(0);
  expect((await turn.pending()).map(({ status }) => status)).toEqual(['pending']);
  await client.approvals.confirm({ requestId }, { confirmed, args: { amount: 4 } });
  expect((await turn.result()).status).toBe('completed');
  expect(used).toContainEqual({ pin: sensitive.argument, amount: 4 });
  expect(used).not.toContainEqual(expect.objectContaining({ pin: leaked.signalled }));
  expect(await leaksOf(turn, waiting)).toEqual([]);
});
