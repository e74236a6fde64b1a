import { slackSignatureFlaw } from '../../net/signatures.ts';
import type { SlackApp } from '../../slack/slack-app.ts';
import type { GatewayContext } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import { readBody } from '../take-body.ts';

const LIMIT = 1024 * 1024;
const TYPES = {
  form: /^application\/x-www-form-urlencoded\s*(;\s*charset="?utf-8"?\s*)?$/i,
  json: /^application\/json\s*(;\s*charset="?utf-8"?\s*)?$/i,
} as const;
/** Of these, two are a trick. */
const SINGLE: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'content-encoding',
  'x-slack-signature',
  'x-slack-request-timestamp',
]);

/**
 * The body of a request that Slack has signed for this app, lately.
 *
 * @throws RequestRefused
 */
export async function takeSlack(
  app: SlackApp,
  context: GatewayContext,
  type: keyof typeof TYPES,
): Promise<string> {
  const { req, env } = context;
  if (isRepeated(env?.incoming?.rawHeaders ?? []))
    throw new RequestRefused('HOLDFAST_GATEWAY_UNAUTHENTICATED');
  const { headers } = req.raw;
  if (!TYPES[type].test(headers.get('content-type') ?? '')) {
    throw new RequestRefused('HOLDFAST_GATEWAY_UNSUPPORTED_TYPE', 'Slack sends no content of this type here');
  }
  if (!/^(identity)?$/i.test(headers.get('content-encoding') ?? '')) {
    throw new RequestRefused(
      'HOLDFAST_GATEWAY_UNSUPPORTED_TYPE',
      'the body is compressed; Slack sends no compressed bodies',
    );
  }
  const body = await readBody(context, LIMIT);
  const given = Object.fromEntries(headers);
  const secrets = await app.signingSecrets();
  if (secrets.every((secret) => slackSignatureFlaw(secret, given, body) !== undefined)) {
    throw new RequestRefused('HOLDFAST_GATEWAY_UNAUTHENTICATED');
  }
  return body.toString('utf8');
}

/** @param raw names and values in turns. */
function isRepeated(raw: readonly string[]): boolean {
  const names = raw.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase());
  const single = names.filter((name) => SINGLE.has(name));
  return new Set(single).size < single.length;
}
