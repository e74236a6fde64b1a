import { generateKeyPairSync } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type WorkflowHandle, WorkflowNotFoundError } from '@temporalio/client';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { signDecision } from '../../src/approvals/decision-attestation.ts';
import { type PrivateJwk, publicHalf } from '../../src/approvals/issuer.ts';
import { NoticeFailed } from '../../src/approvals/notice-failed.ts';
import type { Notifier } from '../../src/approvals/notifier.ts';
import { noticeIdOf } from '../../src/approvals/start-notice.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { CredentialVault } from '../../src/credentials/credential-vault.ts';
import { requestIdOf, type WaitingRequest } from '../../src/protocol/gate.ts';
import { callKeyOf, invocationIdOf, workflowIdOf } from '../../src/protocol/identity.ts';
import { NOTIFY } from '../../src/protocol/names.ts';
import type { TurnStatus } from '../../src/protocol/turn.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { questionsOf } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { heldInput } from '../../src/tools/input-request.ts';
import { stepCalls } from './scripts.ts';
import type { TurnEnvironment } from './turn-environment.ts';
import type { TurnKind } from './turn-kinds.ts';

const PEOPLE = ['mira', 'otto', 'zoe'] as const;
type Person = (typeof PEOPLE)[number];

/** Of this process: nobody replays a signature. */
const privateKeys = new Map(
  PEOPLE.map((name) => {
    const { privateKey } = generateKeyPairSync('ed25519');
    return [name, privateKey.export({ format: 'jwk' }) as unknown as PrivateJwk] as const;
  }),
);

/** For the worker of the environment that the kinds are run in. */
export const GATE_KIND_KEYS = `k1:${Buffer.alloc(32, 7).toString('base64')}`;

const paid = () => ({ paid: true });
const gated = { description: 'pays', execute: paid, requireConfirmation: true } as const;
const tools = [
  tool({ ...gated, name: 'pay' }),
  tool({ ...gated, name: 'pay_soon', approval: { expiresIn: 1_000 } }),
  tool({
    ...gated,
    name: 'pay_or_ask_others',
    approval: { approvers: ['mira'], expiresIn: 1_000, onExpiry: 'escalate', escalateTo: ['otto'] },
  }),
  tool({ ...gated, name: 'pay_much', approval: { approvers: PEOPLE, quorum: 2, allowEdit: true } }),
  tool({
    name: 'pay_found',
    description: 'finds the price, and asks whether to pay it',
    execute: (_args, context) => {
      if (context.toolConfirmation === undefined) context.requestConfirmation({ hint: 'Pay 7 EUR?' });
      return { paid: context.toolConfirmation?.confirmed === true };
    },
  }),
  tool({
    name: 'ship',
    description: 'asks where to',
    execute: async (_args, context) => ({ street: await context.requestInput({ message: 'Where to?' }) }),
  }),
  tool({
    name: 'deliver',
    description: 'asks where to while it runs',
    execute: async (_args, context) => {
      const { abortSignal: signal } = context;
      return await heldInput(questionsOf(context), { message: 'Where to?' }, { within: 60_000, signal });
    },
  }),
  tool({
    name: 'deliver_soon',
    description: 'asks where to while it runs, and does not wait for long',
    execute: async (_args, context) => {
      const { abortSignal: signal } = context;
      return await heldInput(questionsOf(context), { message: 'Where to?' }, { within: 1_000, signal });
    },
  }),
  tool({
    name: 'order',
    description: 'needs a key',
    authConfig: { credentialKey: 'shop', authScheme: { type: 'apiKey', in: 'header', name: 'x-key' } },
    execute: paid,
  }),
  tool({
    name: 'verify',
    description: 'asks for what nobody may read',
    sensitive: ['result'],
    execute: async (_args, context) => ({ number: await context.requestInput({ message: 'Which number?' }) }),
  }),
  tool({ name: 'look', description: 'looks', execute: () => ({ seen: true }) }),
];

/** Its first notice is given up while it is told. */
const GIVEN_UP = 'notice-given-up-by-its-turn';

/** How often the notifier was asked, by session: the first time it is down. */
const asked = new Map<string, number>();
const responder: Notifier = {
  name: 'responder',
  async notify(requests, _why, { signal }) {
    for (const { sessionId } of requests) {
      if (!sessionId.startsWith('notice-')) continue;
      asked.set(sessionId, (asked.get(sessionId) ?? 0) + 1);
      if (sessionId === GIVEN_UP && asked.get(sessionId) === 1)
        await setTimeout(30_000, undefined, { signal });
      if (asked.get(sessionId) === 1) throw new NoticeFailed('down');
    }
  },
  async ended(requests, { signal }) {
    const isSlow = requests.some(({ sessionId }) => sessionId === 'told-of-the-end-late');
    if (isSlow) await setTimeout(30_000, undefined, { signal });
  },
};

/** New ones for each environment: an agent keeps the connection to the model that it has asked. */
export const gateKindApps = () => [
  new App({
    name: 'gated',
    rootAgent: new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools }),
    durable: {
      approval: {
        issuers: [...privateKeys].map(([name, key]) => ({
          issuer: name,
          approver: name,
          key: publicHalf(key),
        })),
      },
    },
  }),
  new App({
    name: 'told',
    rootAgent: new LlmAgent({ name: 'clerk_with_a_pager', model: 'gemini-2.5-flash', tools }),
    durable: { notifiers: [responder] },
  }),
];

const MESSAGE = 'm';

/** What waits, as soon as there is so much of it. */
async function waiting(handle: WorkflowHandle, count: number): Promise<WaitingRequest[]> {
  for (;;) {
    const { waiting = [] } = await handle.query<TurnStatus>('status');
    if (waiting.length === count) return waiting;
    await setTimeout(10);
  }
}

type Act = (scene: {
  environment: TurnEnvironment;
  names: SessionNames;
  handle: WorkflowHandle;
  requests: WaitingRequest[];
}) => Promise<unknown>;

/** A turn of these calls, and what is done once so many of them wait. */
function asking(steps: Parameters<typeof stepCalls>[0], act: Act, count = 1): TurnKind {
  return {
    app: 'gated',
    script: stepCalls(steps),
    async drive(environment, names) {
      const sent = { ...names, message: 'go', messageId: MESSAGE };
      const { workflowId } = await environment.client.sendMessage(sent);
      const handle = environment.temporal.workflow.getHandle(workflowId);
      const requests = await waiting(handle, count);
      await act({ environment, names, handle, requests });
      await handle.result().catch(() => undefined);
    },
  };
}

/** Of an app that tells people of ends. */
const telling = (kind: TurnKind): TurnKind => ({ ...kind, app: 'told' });

const idOf = ([request]: readonly WaitingRequest[]): string => request?.requestId ?? '';

async function signed({ store }: TurnEnvironment, requestId: string, approver: Person) {
  const request = await store.approvals.find(requestId);
  const key = privateKeys.get(approver);
  if (request === undefined || key === undefined) throw new Error(`nothing to sign for ${requestId}`);
  const { session, argsDigest } = request;
  const claims = { issuer: approver, approver, session, requestId, argsDigest, channel: 'test' };
  return await signDecision({ ...claims, decision: 'approve' }, key);
}

const vote: (person: Person) => Act =
  (person) =>
  async ({ environment, handle, requests }) => {
    const requestId = idOf(requests);
    const attestation = await signed(environment, requestId, person);
    await handle.executeUpdate('confirm', { args: [{ requestId, confirmed: true, attestation }] });
  };

/** Terminates the turn once this is so in the store, and sends its message again. */
async function sentAgain(
  { environment, names, handle }: Parameters<Act>[0],
  isSo: (row: ApprovalRow | undefined) => boolean,
  requestIds: readonly string[],
  open: number,
): Promise<void> {
  for (const requestId of requestIds) {
    while (!isSo(await environment.store.approvals.find(requestId))) await setTimeout(10);
  }
  await handle.terminate();
  await environment.client.sendMessage({ ...names, message: 'go', messageId: MESSAGE });
  await waiting(handle, open);
}

const reply = (requestId: string) => ({
  messageId: 'reply',
  message: {
    role: 'user',
    parts: [
      {
        functionResponse: {
          id: requestId,
          name: 'adk_request_confirmation',
          response: { response: '{"confirmed":true}' },
        },
      },
    ],
  },
});

async function hasEnded(handle: WorkflowHandle): Promise<boolean> {
  try {
    return (await handle.describe()).status.name !== 'RUNNING';
  } catch (error) {
    if (error instanceof WorkflowNotFoundError) return false;
    throw error;
  }
}

async function hasBegun(handle: WorkflowHandle, child: string): Promise<boolean> {
  const { events } = await handle.fetchHistory();
  return (events ?? []).some(
    ({ childWorkflowExecutionStartedEventAttributes: started }) => started?.workflowType?.name === child,
  );
}

/** As Temporal does once the time of the activity is over, which takes a day. */
async function giveUpNotice(
  { temporal }: TurnEnvironment,
  { sessionId }: SessionNames,
  handle: WorkflowHandle,
): Promise<void> {
  while (!asked.has(sessionId)) await setTimeout(10);
  const { pendingActivities } = (await handle.describe()).raw;
  const { activityId } = pendingActivities?.find(({ activityType }) => activityType?.name === NOTIFY) ?? {};
  await temporal.workflowService.respondActivityTaskFailedById({
    namespace: temporal.options.namespace,
    workflowId: handle.workflowId,
    activityId: activityId ?? '',
    failure: { message: 'its time is over', applicationFailureInfo: { type: 'Late', nonRetryable: true } },
  });
}

/** The workflow that tells the notifier of the first request of a turn. */
function noticeOf({ app, userId, sessionId }: SessionNames): string {
  const runKey = invocationIdOf(app, userId, sessionId, MESSAGE);
  return noticeIdOf({
    workflowId: workflowIdOf(app, userId, sessionId),
    notifier: responder.name,
    requestIds: [requestIdOf(callKeyOf(runKey, 1, 0), 1)],
    why: 'opened',
  });
}

/** Turns that wait for people. */
export const GATE_TURN_KINDS: Record<string, TurnKind> = {
  approved: asking(
    [[{ name: 'look' }, { name: 'pay' }, { name: 'pay' }], [{ name: 'look' }]],
    async ({ handle, requests: [first, second] }) => {
      await handle.signal('confirm', { requestId: first?.requestId, confirmed: true });
      await handle.executeUpdate('confirm', { args: [{ requestId: second?.requestId, confirmed: true }] });
      await handle
        .signal('confirm', { requestId: second?.requestId, confirmed: false })
        .catch(() => undefined);
    },
    2,
  ),
  rejected: asking([[{ name: 'pay' }]], async ({ handle }) => {
    await handle.signal('confirm', { confirmed: 'maybe' });
    await handle.signal('confirm', { confirmed: false, reason: 'not today' });
  }),
  expired: asking([[{ name: 'pay_soon' }, { name: 'pay_or_ask_others' }]], async () => undefined, 2),
  quorum: asking([[{ name: 'pay_much' }]], async (scene) => {
    await scene.handle.signal('confirm', { confirmed: true });
    for (const person of ['mira', 'otto'] as const) await vote(person)(scene);
  }),
  'asked-from-inside': asking([[{ name: 'pay_found' }, { name: 'look' }]], async ({ handle }) => {
    await handle.signal('confirm', { confirmed: true });
  }),
  input: asking([[{ name: 'ship' }]], async ({ handle }) => {
    await handle.executeUpdate('provideInput', { args: [{ response: 'Quay 7' }] });
  }),
  'held-question': asking([[{ name: 'deliver' }, { name: 'look' }]], async ({ handle, requests }) => {
    const requestId = idOf(requests);
    // Known already, and of no call.
    await handle.signal('holdfast.hold', { callKey: requests[0]?.callKey, n: 1 });
    await handle.signal('holdfast.hold', { callKey: 'none', n: 1 });
    await handle.executeUpdate('provideInput', { args: [{ requestId, response: 'Quay 7' }] });
  }),
  'held-question-expired': asking([[{ name: 'deliver_soon' }]], async () => undefined),
  'held-question-cancelled': asking([[{ name: 'deliver' }]], async ({ handle, requests: [first] }) => {
    await handle.executeUpdate('cancelCall', { args: [{ callKey: first?.callKey }] });
  }),
  'concealed-input': asking([[{ name: 'verify' }]], async ({ environment, handle, requests }) => {
    const requestId = idOf(requests);
    await handle.signal('provideInput', { requestId, response: 'not here' });
    await environment.client.approvals.provideInput({ requestId }, { response: '4711' });
  }),
  credential: asking([[{ name: 'order' }]], async ({ environment, names, handle }) => {
    const vault = new CredentialVault(environment.store.credentials, parseCredentialKeys(GATE_KIND_KEYS));
    const credential = { authType: 'apiKey', apiKey: 'k' } as const;
    const { app, userId } = names;
    const { credentialRef } = await vault.put({ app, userId, credentialKey: 'shop', credential });
    await handle.executeUpdate('provideCredential', { args: [{ credentialRef }] });
  }),
  'cancelled-while-waiting': asking([[{ name: 'pay_or_ask_others' }]], ({ handle }) => handle.cancel()),
  'interrupted-while-waiting': asking([[{ name: 'pay' }]], async ({ handle }) => {
    await handle.signal('interrupt', { reason: 'enough' });
  }),
  'cancelled-call-while-waiting': asking(
    [[{ name: 'pay' }, { name: 'pay' }]],
    async ({ handle, requests: [first, second] }) => {
      await handle.executeUpdate('cancelCall', { args: [{ callKey: first?.callKey }] });
      await handle.signal('confirm', { requestId: second?.requestId, confirmed: true });
    },
    2,
  ),
  'answered-and-sent-again': asking(
    [[{ name: 'pay' }, { name: 'pay' }, { name: 'pay' }]],
    async (scene) => {
      const { handle, requests } = scene;
      const [approved, rejected] = requests.map(({ requestId }) => requestId);
      await handle.executeUpdate('confirm', { args: [{ requestId: approved, confirmed: true }] });
      await handle.executeUpdate('confirm', { args: [{ requestId: rejected, confirmed: false }] });
      const ended = [approved ?? '', rejected ?? ''];
      await sentAgain(scene, (row) => row !== undefined && row.status !== 'pending', ended, 1);
      await handle.executeUpdate('confirm', { args: [{ confirmed: true }] });
    },
    3,
  ),
  'voted-and-sent-again': asking([[{ name: 'pay_much' }]], async (scene) => {
    await vote('mira')(scene);
    await sentAgain(scene, (row) => row?.votes.length === 1, [idOf(scene.requests)], 1);
    await vote('otto')(scene);
  }),
  'told-of-the-end': telling(
    asking(
      [[{ name: 'pay' }, { name: 'pay' }]],
      async ({ handle, requests: [first] }) => {
        await handle.executeUpdate('confirm', { args: [{ requestId: first?.requestId, confirmed: true }] });
        await handle.cancel();
      },
      2,
    ),
  ),
  'told-of-the-end-late': telling(
    asking([[{ name: 'pay' }]], async ({ handle }) => {
      await handle.signal('confirm', { confirmed: true });
    }),
  ),
  'notice-beside-its-turn': {
    ...telling(
      asking([[{ name: 'pay' }]], async ({ environment, names, handle }) => {
        const notice = environment.temporal.workflow.getHandle(noticeOf(names));
        while (!(await hasEnded(notice))) await setTimeout(10);
        await handle.signal('confirm', { confirmed: true });
      }),
    ),
    recordedWorkflow: noticeOf,
  },
  [GIVEN_UP]: telling(
    asking([[{ name: 'pay' }]], async ({ environment, names, handle }) => {
      await giveUpNotice(environment, names, handle);
      while (!(await hasBegun(handle, 'deliverNotice'))) await setTimeout(10);
      await handle.signal('confirm', { confirmed: true });
    }),
  ),
  'reply-by-message': asking([[{ name: 'pay' }]], async ({ handle, requests }) => {
    await handle.executeUpdate('sendMessage', { args: [reply(idOf(requests))] });
  }),
};
