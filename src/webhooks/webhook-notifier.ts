import { NoticeFailed } from '../approvals/notice-failed.ts';
import type { EndedRequest, NoticeContext, NotifiedRequest, Notifier } from '../approvals/notifier.ts';
import { hasCode } from '../contract/error.ts';
import { type GuardedAnswer, guardedFetch, retryAfterOf } from '../net/guarded-fetch.ts';
import { checkedUrl } from '../net/public-address.ts';
import { signWebhook, webhookSecret } from '../net/signatures.ts';
import { shortDigest } from '../protocol/identity.ts';
import { defined } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import * as option from '../schema/option-kinds.ts';
import { OptionReader } from '../schema/options.ts';

/** Kinds of webhook messages: the field `type`. */
export type WebhookEventType = 'request.opened' | 'request.escalated' | 'request.ended';

export interface WebhookNotifierOptions {
  /**
   * Name of the notifier; each notifier of an app has its own.
   *
   * @default 'webhook'
   */
  name?: string;
  /** `https://…` of the public internet, at port 443; others by `allowHosts`. */
  url: string;
  /**
   * `whsec_` and base64, or text of at least 16 bytes. It is signed with each: several while they are rotated.
   *
   * @format a secret, or a list of them
   */
  secrets: string | readonly string[];
  /**
   * Events that are told.
   *
   * @default all
   */
  events?: readonly WebhookEventType[];
  /**
   * Hosts, `name` or `name:port`, that may be asked without TLS, at this port, and in a local network.
   *
   * @default none
   */
  allowHosts?: readonly string[];
  /** As {@link Notifier.retryFor}. */
  retryFor?: number;
}

const OWNER = 'webhookNotifier';
const EVENTS: readonly WebhookEventType[] = ['request.opened', 'request.escalated', 'request.ended'];
const FIELDS = [
  'name',
  'url',
  'secrets',
  'events',
  'allowHosts',
  'retryFor',
] satisfies (keyof WebhookNotifierOptions)[];
const TIMEOUT = 10_000;
const MOST_ANSWER_BYTES = 4 * 1024;
/** More than this few receivers take. */
const MOST_BODY_BYTES = 512 * 1024;
const GONE = 410;

interface Told {
  type: WebhookEventType;
  timestamp: number;
  request: NotifiedRequest | EndedRequest;
}

/**
 * Tells a service of requests that wait for people, and of their ends, by Standard Webhooks 1.0.0:
 * `{ type, timestamp, data }`, where `data` is the request.
 *
 * @throws DefinitionError naming the option, and never quoting a secret.
 * @example
 * const hooks = webhookNotifier({ url: 'https://desk.example.com/hooks', secrets: process.env.DESK_SECRET ?? '' });
 * new App({ name: 'shop', rootAgent, durable: { notifiers: [hooks] } });
 */
export function webhookNotifier(options: WebhookNotifierOptions): Notifier {
  assertKnownFields(OWNER, options, FIELDS);
  const read = new OptionReader(OWNER, options);
  const name = option.text('webhook')(read, 'name');
  const { url, allowHosts = [], events = EVENTS } = options;
  checkDestination(url, allowHosts);
  const secrets = secretsOf(options.secrets);
  if (!Array.isArray(events) || events.length === 0 || !events.every((event) => EVENTS.includes(event))) {
    read.fail('events', `expected some of ${EVENTS.join(', ')}`);
  }
  const tell = (told: readonly Told[], { signal, now }: NoticeContext) =>
    tellAll(
      told.filter(({ type }) => events.includes(type)),
      async (each) => {
        const id = `msg_${shortDigest(JSON.stringify([name, each.request.requestId, each.type]))}`;
        await post({ url, allowHosts, secrets, signal, now }, id, bodyOf(each));
      },
    );
  return {
    name,
    notify(requests, why, context) {
      const type = why === 'opened' ? 'request.opened' : 'request.escalated';
      const timestampOf = ({ since }: NotifiedRequest) => (why === 'opened' ? since : context.since);
      return tell(
        requests.map((request) => ({ type, timestamp: timestampOf(request), request })),
        context,
      );
    },
    ...(events.includes('request.ended')
      ? {
          ended: (requests: readonly EndedRequest[], context: NoticeContext) =>
            tell(
              requests.map((request) => ({ type: 'request.ended', timestamp: request.decidedAt, request })),
              context,
            ),
        }
      : {}),
    ...defined({ retryFor: option.count()(read, 'retryFor') }),
  };
}

/** One that fails keeps none of the others from being told. */
async function tellAll(all: readonly Told[], tell: (told: Told) => Promise<void>): Promise<void> {
  const outcomes = await Promise.allSettled(all.map(tell));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}

interface Destination {
  url: string;
  allowHosts: readonly string[];
  secrets: readonly Buffer[];
  signal: AbortSignal;
  now: NoticeContext['now'];
}

async function post(
  { url, allowHosts, secrets, signal, now }: Destination,
  id: string,
  body: string,
): Promise<void> {
  const signature = signWebhook(secrets, { id, timestamp: Math.floor((await now()) / 1_000), body });
  const headers = { 'content-type': 'application/json', 'user-agent': 'holdfast', ...signature };
  const limits = { allow: allowHosts, timeout: TIMEOUT, maxBytes: MOST_ANSWER_BYTES };
  let answer: GuardedAnswer;
  try {
    answer = await guardedFetch(url, { method: 'POST', headers, body, signal }, limits);
  } catch (error) {
    if (hasCode(error, 'HOLDFAST_FETCH_FAILED') || hasCode(error, 'HOLDFAST_ADDRESS_REFUSED'))
      throw new NoticeFailed(error.message);
    throw error;
  }
  const { status } = answer;
  if (status >= 200 && status < 300) return;
  if (status === GONE)
    throw new NoticeFailed('the webhook answers 410: nobody listens there any more', { final: true });
  const retryAfter =
    status === 429 || status === 503 ? retryAfterOf(answer.headers['retry-after'], await now()) : undefined;
  throw new NoticeFailed(`the webhook answers ${status}`, retryAfter === undefined ? {} : { retryAfter });
}

/** The same for each attempt. Arguments that are too large for it are read from the gateway. */
function bodyOf({ type, timestamp, request }: Told): string {
  const about = { type, timestamp: new Date(timestamp).toISOString() };
  const whole = JSON.stringify({ ...about, data: request });
  if (Buffer.byteLength(whole) <= MOST_BODY_BYTES) return whole;
  const { args: _args, payload: _payload, responseSchema: _schema, ...rest } = request;
  const { editedArgs: _edited, ...data } = rest as Partial<EndedRequest>;
  return JSON.stringify({ ...about, data: { ...data, isCut: true } });
}

function checkDestination(url: unknown, allowHosts: readonly string[]): void {
  const fail = (field: string, problem: string): never => {
    throw new DefinitionError({ owner: OWNER, field, problem });
  };
  if (!Array.isArray(allowHosts) || !allowHosts.every((host) => typeof host === 'string')) {
    fail('allowHosts', 'expected a list of hosts: name or name:port');
  }
  if (typeof url !== 'string') fail('url', 'expected a URL that begins with https://');
  try {
    checkedUrl(String(url), allowHosts);
  } catch (error) {
    if (hasCode(error, 'HOLDFAST_ADDRESS_REFUSED')) fail('url', error.message);
    throw error;
  }
}

function secretsOf(secrets: unknown): Buffer[] {
  const given: unknown[] = Array.isArray(secrets) ? secrets : [secrets];
  const fail = (problem: string): never => {
    throw new DefinitionError({ owner: OWNER, field: 'secrets', problem });
  };
  if (given.length === 0) fail('expected at least one');
  return given.map((secret) => {
    if (typeof secret !== 'string') return fail('expected text, or a list of texts');
    try {
      return webhookSecret(secret);
    } catch (error) {
      if (error instanceof RangeError) return fail(error.message);
      throw error;
    }
  });
}
