import { describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import type { AppDurableOptions } from '../../src/app/app-settings.ts';
import { createApproverKey } from '../../src/approvals/approver-key.ts';
import type { PublicJwk } from '../../src/protocol/public-jwk.ts';
import { refusal } from './refusal.ts';

const rootAgent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash' });
const shop = (durable: AppDurableOptions) => new App({ name: 'shop', rootAgent, durable }).durable;

const X = '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo';
const ed25519: PublicJwk = { kty: 'OKP', crv: 'Ed25519', x: X };
const p256: PublicJwk = { kty: 'EC', crv: 'P-256', x: X, y: X };
const pager = { name: 'pager', notify: async () => undefined };

describe('whose decisions an app believes [approval.approvers]', () => {
  test('nobody’s by default', () => {
    expect(shop({}).approval).toEqual({ trustTemporal: false, issuers: [], trustGateway: true });
    expect(shop({ approval: {} }).approval).toEqual({
      trustTemporal: false,
      issuers: [],
      trustGateway: true,
    });
  });

  test('those whose public keys it lists, reduced to what counts', () => {
    const issuer = { issuer: 'desk', key: { ...ed25519, kid: 'k1', use: 'sig', key_ops: ['verify'] } };
    const { approval } = shop({
      approval: {
        trustTemporal: true,
        issuers: [issuer, { issuer: 'desk', key: p256, approver: 'mira', channels: ['cli'] }],
      },
    });
    expect(approval).toEqual({
      trustTemporal: true,
      trustGateway: true,
      issuers: [
        { issuer: 'desk', key: { ...ed25519, kid: 'k1', alg: 'EdDSA' } },
        { issuer: 'desk', key: { ...p256, alg: 'ES256' }, approver: 'mira', channels: ['cli'] },
      ],
    });
    expect([approval, approval.issuers, ...approval.issuers].every(Object.isFrozen)).toBe(true);
  });

  test('an approver’s key as it was made', async () => {
    const { issuer } = await createApproverKey('mira');
    expect(shop({ approval: { issuers: [issuer] } }).approval.issuers).toEqual([issuer]);
  });

  test('a private key is refused, and never quoted', async () => {
    const { key } = await createApproverKey('mira');
    const issuers = [{ issuer: 'approver:mira', key: key.privateKey }];
    const error = refusal(() => shop({ approval: { issuers } }));
    expect(error.message).toBe(
      'App "shop": durable.approval.issuers[0].key: this is a private key: list its public half only, and replace the key, ' +
        'as others may have read it here',
    );
    expect(error.message).not.toContain(key.privateKey.d);
  });
});

describe('who is told of requests [approval.notify]', () => {
  test('notifiers, in their order', () => {
    const log = { name: 'log', notify: async () => undefined };
    expect(shop({ notifiers: [pager, log] }).notifiers).toEqual([pager, log]);
    expect(shop({}).notifiers).toEqual([]);
  });
});

describe('refuses, naming the field [define.refuse]', () => {
  const ONE_KEY =
    'another entry of this issuer has this key, or names its key the same: only one of them would ever be trusted';
  const WANTED = "expected a public JWK of Ed25519 (kty: 'OKP') or P-256 (kty: 'EC')";
  const keyOf = (key: unknown) => ({ approval: { issuers: [{ issuer: 'desk', key }] } });
  test.each<[object, string, string]>([
    [{ approval: true }, 'approval', 'expected an object, got boolean'],
    [{ approval: { issuer: [] } }, 'approval.issuer', 'unknown option; did you mean "issuers"?'],
    [{ approval: { issuers: {} } }, 'approval.issuers', 'expected a list, got object'],
    [{ approval: { issuers: ['desk'] } }, 'approval.issuers[0]', 'expected an object, got string'],
    [
      { approval: { issuers: [{ key: ed25519 }] } },
      'approval.issuers[0].issuer',
      'expected a name, got undefined',
    ],
    [keyOf(undefined), 'approval.issuers[0].key', `${WANTED}, got undefined`],
    [keyOf('-----BEGIN PUBLIC KEY-----'), 'approval.issuers[0].key', `${WANTED}, got string`],
    [keyOf({ kty: 'RSA', crv: 'x', n: 'x' }), 'approval.issuers[0].key', `${WANTED}; others are not taken`],
    [keyOf({ ...ed25519, crv: 'X25519' }), 'approval.issuers[0].key', `${WANTED}; others are not taken`],
    [
      keyOf({ ...ed25519, x: 'short' }),
      'approval.issuers[0].key',
      `${WANTED}, whose coordinates are 32 bytes in base64url`,
    ],
    [
      keyOf({ ...p256, y: undefined }),
      'approval.issuers[0].key',
      `${WANTED}, whose coordinates are 32 bytes in base64url`,
    ],
    [keyOf({ ...ed25519, kid: 5 }), 'approval.issuers[0].key', 'kid: expected the name of the key'],
    [
      keyOf({ ...ed25519, alg: 'ES256' }),
      'approval.issuers[0].key',
      "alg: expected 'EdDSA', or leave it out",
    ],
    [
      { approval: { issuers: [{ issuer: 'desk', key: ed25519, approver: 'unverified' }] } },
      'approval.issuers[0].approver',
      'unproven decisions are recorded under this name',
    ],
    [
      { approval: { issuers: [{ issuer: 'desk', key: ed25519, channels: [] }] } },
      'approval.issuers[0].channels',
      'expected a list with at least one channel, or leave it out for all of them',
    ],
    [
      {
        approval: {
          issuers: [
            { issuer: 'desk', key: ed25519 },
            { issuer: 'desk', key: ed25519, approver: 'mira' },
          ],
        },
      },
      'approval.issuers[1].key',
      ONE_KEY,
    ],
    [
      {
        approval: {
          issuers: [
            { issuer: 'desk', key: { ...ed25519, kid: 'k1' } },
            { issuer: 'desk', key: { ...p256, kid: 'k1' } },
          ],
        },
      },
      'approval.issuers[1].key',
      ONE_KEY,
    ],
    [{ notifiers: pager }, 'notifiers', 'expected a list, got object'],
    [
      { notifiers: [pager.notify] },
      'notifiers[0]',
      'expected a notifier: an object with a name and a function notify, got function',
    ],
    [{ notifiers: [{ ...pager, name: '' }] }, 'notifiers[0].name', 'expected a name'],
    [
      { notifiers: [pager, { ...pager }] },
      'notifiers[1].name',
      'another notifier has this name: each has its own',
    ],
    [{ notifiers: [{ ...pager, ended: true }] }, 'notifiers[0].ended', 'expected a function, got boolean'],
    [
      { notifiers: [{ ...pager, retryFor: '3 days' }] },
      'notifiers[0].retryFor',
      'expected milliseconds, more than 0, got string',
    ],
    ...[0, -1, Number.NaN, Number.POSITIVE_INFINITY].map((retryFor): [object, string, string] => [
      { notifiers: [{ ...pager, retryFor }] },
      'notifiers[0].retryFor',
      'expected milliseconds, more than 0',
    ]),
  ])('%j', (durable, field, problem) => {
    const error = refusal(() => shop(durable));
    expect(error).toMatchObject({ code: 'HOLDFAST_DEFINITION', field: `durable.${field}`, problem });
  });
});
