import { describe, expect, test } from 'vitest';
import { CredentialKeyMissing, InvalidCredential } from '../../src/credentials/credential-errors.ts';
import { type ApprovalColumns, approvalRow } from '../../src/store/approvals/approval-row.ts';
import { DocumentCheck, readDocument } from './document-check.ts';
import { HOST, stubGateway } from './gateway-stub.ts';

const SECRET = 'sk-planted-gateway-7Yw2';
const REQUEST = '/v1/approvals/rq-e-1.1.0.1';
const CREDENTIALS = '/v1/apps/shop/users/ada/credentials';

const post = (body: unknown) => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
const failing = (error: Error) =>
  stubGateway({
    'approvals.get': () => ({ app: 'shop', userId: 'ada' }),
    'approvals.confirm': () => Promise.reject(error),
    'credentials.put': () => Promise.reject(error),
  });

describe('a credential', () => {
  const body = { credentialKey: 'shop', credential: { authType: 'apiKey', apiKey: SECRET } };

  test('is given to the client, and neither logged nor answered [credential.secret]', async () => {
    const given: unknown[] = [];
    const stored = {
      ...{ credentialRef: 'cr-1', app: 'shop', userId: 'ada', credentialKey: 'shop' },
      ...{ authType: 'apiKey', createdAt: 1 },
    };
    const { send, lines } = stubGateway({
      'credentials.put': (put) => {
        given.push(put);
        return stored;
      },
    });
    const answer = await send(CREDENTIALS, post(body));
    expect(answer.status).toBe(201);
    expect(await answer.json()).toEqual(stored);
    expect(given).toEqual([{ app: 'shop', userId: 'ada', ...body }]);
    expect(JSON.stringify(lines)).not.toContain(SECRET);
  });

  test.each([
    ['of another type', { ...body, credential: { authType: SECRET } }, 400],
    ['in a field that there is not', { ...body, secret: SECRET }, 400],
    ['in the place of its object', { ...body, credential: SECRET }, 400],
  ])('%s is refused, and quoted nowhere [credential.secret]', async (_where, wrong, status) => {
    const { send, lines } = failing(new InvalidCredential('credential: expected an object'));
    const answer = await send(CREDENTIALS, post(wrong));
    expect(answer.status).toBe(status);
    expect(JSON.stringify([await answer.json(), lines])).not.toContain(SECRET);
  });

  test('that the client fails with is quoted nowhere, whatever the error [credential.secret]', async () => {
    for (const [error, status] of [
      [new InvalidCredential("http.scheme: expected 'bearer' or 'basic'"), 400],
      [new CredentialKeyMissing(), 501],
    ] as const) {
      const { send, lines } = failing(error);
      const answer = await send(CREDENTIALS, post(body));
      expect(answer.status).toBe(status);
      expect(JSON.stringify([await answer.json(), lines])).not.toContain(SECRET);
    }
  });
});

test('a request has all fields of the document, and no others [gateway.document]', async () => {
  const by = { principal: 'grace', verified: true, channel: 'cli', attestation: 'd-1' };
  const columns: Required<ApprovalColumns> = {
    ...{ session_id: 's-1', request_id: 'rq-e-1.1.0.1', run_key: 'e-1', invocation_id: 'e-1' },
    ...{ call_key: 'e-1.1.0', call_id: 'c-1', kind: 'input', tool: 'ask', agent: 'desk', path: ['desk'] },
    ...{ workflow_id: 'shop/ada/s1', root_workflow_id: 'shop/ada/s1', requester: 'ada', hint: 'How many?' },
    ...{
      payload: { of: 'pens' },
      args: { of: 'pens' },
      args_digest: 'd',
      gate_digest: 'g',
      sensitive: ['pin'],
    },
    terms: {
      ...{ approvers: ['grace'], quorum: 2, expiresIn: 9, onExpiry: 'escalate', escalateAfter: 5 },
      ...{ escalateTo: ['joan'], allowEdit: true, notRequester: true },
    },
    ...{ response_schema: { type: 'number' }, auth_config: { authScheme: {}, credentialKey: 'k' } },
    ...{ status: 'answered', since: 1, until: 9, escalated_at: 5, decided_at: 6 },
    votes: [{ by, confirmed: true, at: 6, of: 'v-1' }],
    history: [
      { entryId: 'rq-e-1.1.0.1/1', kind: 'answered', at: 6, by, confirmed: true, reason: 'as agreed' },
    ],
    ...{ reason: 'as agreed', edited_args: { of: 'ink' }, answer_payload: { n: 1 }, response: 3 },
    ...{ response_ref: 'ri-1', credential_ref: 'cr-1' },
  };
  const names = { app: 'shop', userId: 'ada', sessionId: 's1' };
  const row = approvalRow(columns, names);
  expect(approvalRow({ ...columns, response: null }, names)).toHaveProperty('response', null);
  const { gateway, send } = stubGateway({ 'approvals.get': () => row });
  const check = new DocumentCheck(await readDocument(gateway, HOST));
  const answer = await send(REQUEST);
  check.check('GET', REQUEST, answer.status, 'application/json', await answer.json());
  expect([...check.undocumented]).toEqual([]);
  expect(check.unanswered('Approval')).toEqual([]);
});
