import { beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import {
  createApproverKey,
  InvalidApproverKey,
  issuerOf,
  parseApproverKey,
} from '../../src/approvals/approver-key.ts';
import { verifyDecisionAttestation } from '../../src/approvals/decision-attestation.ts';
import { take } from '../../src/contract/check.ts';
import { createKey } from '../../src/contract/keys.ts';
import { checkOf } from '../../src/contract/operation.ts';
import { checkSources } from '../../src/gateway/webhooks/check-sources.ts';
import { SlackApp } from '../../src/slack/slack-app.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { claimsOf, EXPECTED, forged, NOW } from './signed.ts';

type Door = (name: string) => unknown;

const isRefused = async (door: Door, name: string) => {
  try {
    await door(name);
    return false;
  } catch {
    return true;
  }
};

/** Names of 247 characters at least make an issuer's name that is too long. */
const GOOD = [
  'ada',
  'Ada Lovelace',
  'mira@example.com',
  '李四',
  'a'.repeat(247),
  '😀'.repeat(247),
  'Unverified',
];
const BAD = [
  '',
  ' ',
  ' ada',
  'ada ',
  'ada\u00a0',
  '\u2028ada',
  'a\nb',
  'a\u0000b',
  '\ud800',
  'a'.repeat(257),
  '😀'.repeat(257),
  'unverified',
];

describe('a name of a person is taken by all doors, or by none [approval.approvers]', () => {
  const rootAgent = new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash' });
  const slackOptions = {
    botToken: 'xoxb-1',
    signingSecret: 'planted-secret-9Qx',
    appId: 'A0123456789',
    teamIds: ['T0123456789'],
    channel: 'C0123456789',
  };
  let key: Awaited<ReturnType<typeof createApproverKey>>['key'];
  beforeAll(async () => {
    ({ key } = await createApproverKey('ada'));
  });

  const DOORS: Record<string, Door> = {
    'keys.create': (name) => {
      const taken = take(checkOf(createKey.input), { name, apps: ['a'], roles: ['run'] });
      if (taken.problem !== undefined) throw new Error(taken.problem.problem);
    },
    'a key that signs': (name) => createApproverKey(name),
    'a key that is read': (name) => parseApproverKey(JSON.stringify({ ...key, approver: name })),
    'approvers of a tool': (name) =>
      tool({
        name: 'pay',
        description: 'pays',
        requireConfirmation: true,
        approval: { approvers: [name] },
        execute: () => ({}),
      }),
    'issuers of an app': (name) =>
      new App({
        name: 'shop',
        rootAgent,
        durable: { approval: { issuers: [{ ...issuerOf(key), approver: name }] } },
      }),
    'persons of a webhook': (name) =>
      checkSources('test', { pager: { secrets: () => [], persons: [name], handle: () => ({}) } }),
    'persons of Slack': (name) => new SlackApp({ ...slackOptions, persons: { U0123456789: name } }),
    'an attestation': async (name) => {
      const { approver: _any, ...issuer } = issuerOf(key);
      const jws = await forged({ ...claimsOf(key), sub: name }, { privateKey: key.privateKey });
      const verdict = await verifyDecisionAttestation(jws, EXPECTED, [issuer], NOW);
      if (!verdict.ok) throw new Error(verdict.reason);
    },
  };

  test.each(Object.entries(DOORS))('%s', async (_door, door) => {
    const refused = await Promise.all([...GOOD, ...BAD].map((name) => isRefused(door, name)));
    const isBad = [...GOOD.map(() => false), ...BAD.map(() => true)];
    expect(refused).toEqual(isBad);
  });

  test('a key of a name whose issuer would be too long is not made', async () => {
    await expect(createApproverKey('a'.repeat(248))).rejects.toThrow(InvalidApproverKey);
  });
});
