import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { type ApproverKey, createApproverKey } from '../../src/approvals/approver-key.ts';
import { signMessage } from '../../src/approvals/message-attestation.ts';
import { invocationIdOf } from '../../src/protocol/identity.ts';
import { messageDigest } from '../../src/protocol/message.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { OwnModel } from '../setup/own-model.ts';
import { AskingTurn } from '../store/suite/approvals/asking-turn.ts';
import { ActivityScene } from './activity-scene.ts';

let store: OpenedStore;
let scene: ActivityScene;
let key: ApproverKey;

beforeAll(async () => {
  store = await openStore(await databaseWithStore());
  const { key: made, issuer } = await createApproverKey('ada');
  key = made;
  const rootAgent = new LlmAgent({ name: 'clerk', model: new OwnModel() });
  scene = new ActivityScene(
    store,
    new App({ name: 'shop', rootAgent, durable: { approval: { issuers: [issuer] } } }),
  );
});
afterAll(() => store.close());

/** Keeps a message that came while another one was answered, and asks somebody in its turn. */
async function requesterOf(
  text: string,
  attested: string | undefined,
  claimed?: string,
): Promise<string | undefined> {
  const names = { app: 'shop', userId: 'ada', sessionId: randomUUID() };
  const messageId = 'm1';
  const digest = messageDigest(text);
  const attestation =
    attested === undefined
      ? undefined
      : await signMessage(
          {
            issuer: key.issuer,
            principal: 'ada',
            ...names,
            messageId,
            messageDigest: messageDigest(attested),
          },
          key.privateKey,
        );
  const message = {
    messageId,
    invocationId: invocationIdOf(names.app, names.userId, names.sessionId, messageId),
    place: 1,
    digest,
    bytes: text.length,
    message: text,
    ...(attestation === undefined ? {} : { attestation }),
    ...(claimed === undefined ? {} : { requester: claimed }),
  };
  expect(await scene.keep({ v: 1, ...names, startedAt: 1, messages: [message] })).toMatchObject({
    messages: [{ kind: 'kept' }],
  });
  const turn = new AskingTurn(store, { names, messageId });
  await turn.opened(1, { fromInbox: true, digest });
  const request = turn.request(1, 0);
  await turn.commitAsking(1, [request]);
  return (await turn.row(request.requestId))?.requester;
}

test('a queued message has the sender that its attestation proves [approval.approvers]', async () => {
  expect(await requesterOf('pay ada 40', 'pay ada 40')).toBe('ada');
});

test('of a message that was not attested, or otherwise, nobody is the sender; its turn runs', async () => {
  expect(await requesterOf('pay ada 40', undefined)).toBeUndefined();
  expect(scene.warnings).toEqual([]);
  expect(await requesterOf('pay ada 4000', 'pay ada 40')).toBeUndefined();
  expect(scene.warnings.join()).toContain('the attestation is for another content');
});

test('nobody is the sender by saying so', async () => {
  expect(await requesterOf('pay ada 40', undefined, 'boss')).toBeUndefined();
});
