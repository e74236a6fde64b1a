import { createHmac, randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import {
  type SignedHeaders,
  signWebhook,
  slackSignatureFlaw,
  verifyWebhook,
  webhookSecret,
} from '../../src/net/signatures.ts';

const text = () => `whsec_${randomBytes(32).toString('base64')}`;
const AT = Date.now();
const now = () => Math.floor(AT / 1_000);
const bytesOf = (body: string) => Buffer.from(body);

describe('signatures of Standard Webhooks [webhook.signatures]', () => {
  test('are those of its library, both ways', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.stringMatching(/^[\x21-\x7e]{1,64}$/), (raw, id) => {
        const body = JSON.stringify({ raw });
        const secret = text();
        const theirs = new Webhook(secret);
        const ours = signWebhook([webhookSecret(secret)], { id, timestamp: now(), body });
        expect(theirs.verify(body, ours)).toEqual(JSON.parse(body));
        const timestamp = new Date();
        const headers = {
          'webhook-id': id,
          'webhook-timestamp': String(Math.floor(timestamp.getTime() / 1_000)),
          'webhook-signature': theirs.sign(id, timestamp, body),
        };
        expect(verifyWebhook([webhookSecret(secret)], headers, bytesOf(body))).toEqual({ id });
      }),
    );
  });

  test('of any secret count, while they are rotated', () => {
    const [older, newer, other] = [text(), text(), text()];
    const given = { id: 'm1', timestamp: now(), body: '{}' };
    const headers = signWebhook([webhookSecret(older), webhookSecret(newer)], given);
    for (const secret of [older, newer]) {
      expect(new Webhook(secret).verify('{}', headers)).toEqual({});
      expect(verifyWebhook([webhookSecret(other), webhookSecret(secret)], headers, bytesOf('{}'))).toEqual({
        id: 'm1',
      });
    }
    expect(verifyWebhook([webhookSecret(other)], headers, bytesOf('{}'))).toBe('forged');
  });

  const secrets = [webhookSecret(text())];
  const signed = (more: Partial<{ id: string; timestamp: number; body: string }> = {}) =>
    signWebhook(secrets, { id: 'm1', timestamp: now(), body: '{}', ...more });

  test.each<[string, SignedHeaders, string]>([
    ['no id', { ...signed(), 'webhook-id': undefined }, 'missing header'],
    ['no time', { ...signed(), 'webhook-timestamp': undefined }, 'missing header'],
    ['no signature', { ...signed(), 'webhook-signature': '' }, 'missing header'],
    ['two ids', { ...signed(), 'webhook-id': ['m1', 'm1'] }, 'repeated header'],
    ['two signatures', { ...signed(), 'webhook-signature': ['v1,a', 'v1,b'] }, 'repeated header'],
    ['another id', { ...signed(), 'webhook-id': 'm2' }, 'forged'],
    ['another time', { ...signed(), 'webhook-timestamp': String(now() - 1) }, 'forged'],
    ['an old time', signed({ timestamp: now() - 301 }), 'stale'],
    ['a time to come', signed({ timestamp: now() + 302 }), 'stale'],
    ['a time that is none', { ...signed(), 'webhook-timestamp': 'NaN' }, 'malformed'],
    ['a time with a sign', { ...signed(), 'webhook-timestamp': `+${now()}` }, 'malformed'],
    ['an id with a line break', { ...signed(), 'webhook-id': 'm1\n' }, 'malformed'],
    ['an endless id', signed({ id: 'm'.repeat(257) }), 'malformed'],
    [
      'another kind',
      { ...signed(), 'webhook-signature': signed()['webhook-signature'].replace('v1,', 'v1a,') },
      'forged',
    ],
    [
      'half a signature',
      { ...signed(), 'webhook-signature': signed()['webhook-signature'].slice(0, 20) },
      'forged',
    ],
    ['many of them', { ...signed(), 'webhook-signature': 'v1,AAAA '.repeat(40).trim() }, 'malformed'],
  ])('%s', (_what, headers, flaw) => {
    expect(verifyWebhook(secrets, headers, bytesOf('{}'), AT)).toBe(flaw);
  });

  test('another body', () => {
    expect(verifyWebhook(secrets, signed(), bytesOf('{} '))).toBe('forged');
  });

  test('whatever is sent instead throws nothing, and counts for nothing', () => {
    const header = fc.oneof(fc.string({ unit: 'binary' }), fc.constant(undefined), fc.array(fc.string()));
    const names = [
      'webhook-id',
      'webhook-timestamp',
      'webhook-signature',
      'x-slack-signature',
      'x-slack-request-timestamp',
    ];
    fc.assert(
      fc.property(fc.array(header, { minLength: 5, maxLength: 5 }), fc.uint8Array(), (values, body) => {
        const headers = Object.fromEntries(names.map((name, index) => [name, values[index]]));
        expect(verifyWebhook(secrets, headers, body)).toBeTypeOf('string');
        expect(slackSignatureFlaw('a secret of slack', headers, body)).toBeTypeOf('string');
      }),
    );
  });

  test('a short secret is refused, and never quoted', () => {
    for (const secret of ['', 'whsec_', 'sh0rt', 'whsec_c2hvcnQ=']) {
      expect(() => webhookSecret(secret)).toThrow(/^a secret has at least 16 bytes$/);
    }
  });
});

describe("Slack's signatures [webhook.signatures]", () => {
  const secret = '8f742231b10e8888abcd99yyyzzz85a5';

  test("are those of Slack's own example", () => {
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    const headers = {
      'x-slack-request-timestamp': '1531420618',
      'x-slack-signature': 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
    };
    expect(slackSignatureFlaw(secret, headers, bytesOf(body), 1_531_420_618_000)).toBeUndefined();
    expect(slackSignatureFlaw(secret, headers, bytesOf(body))).toBe('stale');
    expect(slackSignatureFlaw(`${secret}x`, headers, bytesOf(body), 1_531_420_618_000)).toBe('forged');
    const upper = { ...headers, 'x-slack-signature': headers['x-slack-signature'].toUpperCase() };
    expect(slackSignatureFlaw(secret, upper, bytesOf(body), 1_531_420_618_000)).toBe('malformed');
    const twice = { ...headers, 'x-slack-signature': [headers['x-slack-signature']] };
    expect(slackSignatureFlaw(secret, twice, bytesOf(body), 1_531_420_618_000)).toBe('repeated header');
  });

  test('hold for any body', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (body) => {
        const at = String(now());
        const signature = `v0=${createHmac('sha256', secret).update(`v0:${at}:`).update(body).digest('hex')}`;
        const headers = { 'x-slack-request-timestamp': at, 'x-slack-signature': signature };
        expect(slackSignatureFlaw(secret, headers, body)).toBeUndefined();
      }),
    );
  });
});
