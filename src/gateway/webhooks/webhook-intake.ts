import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { HoldfastError } from '../../contract/error.ts';
import { jsonBytes } from '../../contract/json-bytes.ts';
import { verifyWebhook, webhookSecret } from '../../net/signatures.ts';
import { shortDigest } from '../../protocol/identity.ts';
import { isRecord, parsedJson } from '../../protocol/json.ts';
import type { ChannelDelivery, DeliveryAnswer } from '../../store/messages/message-store.ts';
import type { GatewayAttester } from '../approvals/gateway-attester.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import { isSourceName } from './check-sources.ts';
import type { WebhookEvent, WebhookHoldfast, WebhookRequest, WebhookSource } from './options.ts';
import { shownHeaders } from './read-request.ts';
import { WebhookNotReady } from './webhook-not-ready.ts';

/** Milliseconds that a sender waits for its handler. */
const PATIENCE = 20_000;
/** Milliseconds after which a gateway that has said nothing more of a delivery is gone. */
const LONGEST_HOLD = 120_000;
const MOST_ANSWER_BYTES = 64 * 1024;
/** An unknown source takes as long as a forged delivery. */
const NOBODYS_SECRET = randomBytes(32);
const ID = /^[\x21-\x7e]{1,256}$/;

/** Outcomes of a delivery. */
export type Taken = { kind: 'busy' } | { kind: 'answered'; answer: DeliveryAnswer };

/** Webhooks that come in: verified, handled once, answered. */
export class WebhookIntake {
  readonly #options: GatewayOptions;
  readonly #attester: GatewayAttester;
  readonly #messages: GatewayRecords['messages'];

  constructor(options: GatewayOptions, attester: GatewayAttester, messages: GatewayRecords['messages']) {
    this.#options = options;
    this.#attester = attester;
    this.#messages = messages;
  }

  /**
   * @param source undefined for one that nobody has configured: it is refused as a forged one is, so that nobody learns which there are.
   * @throws RequestRefused for a delivery that the source has not sent; any error of its handler.
   */
  async take(
    name: string,
    source: WebhookSource | undefined,
    request: WebhookRequest,
    requestId: string,
  ): Promise<Taken> {
    const refused = (why: { flaw: string; error?: unknown }): RequestRefused => {
      // Any other name is a stranger's text.
      const named = isSourceName(name) ? { source: name } : {};
      this.#options.logger.warn('a webhook was refused', { requestId, ...named, ...why });
      if (why.error instanceof WebhookNotReady) {
        const seconds = Math.ceil(why.error.retryAfter / 1_000);
        return new RequestRefused('HOLDFAST_WEBHOOK_NOT_READY', undefined, {
          'retry-after': String(seconds),
        });
      }
      return new RequestRefused('HOLDFAST_GATEWAY_UNAUTHENTICATED');
    };
    if (source === undefined) {
      verifyWebhook([NOBODYS_SECRET], request.headers, request.body);
      throw refused({ flaw: 'there is no such source' });
    }
    const known = await verified(source, request);
    if (!('key' in known)) throw refused(known);
    const delivery = { channel: `webhook:${name}`, id: known.key, holder: randomUUID() };
    const taken = await this.#messages.takeDelivery({ ...delivery, time: LONGEST_HOLD });
    if (taken.kind !== 'taken') return taken;
    const work = this.#handled(name, delivery, source, eventOf(known.id, request));
    const late = Promise.withResolvers<Taken>();
    const timer = setTimeout(() => {
      late.resolve({ kind: 'busy' });
      work.catch((error) =>
        this.#options.logger.error('a webhook has failed', { requestId, source: name, error }),
      );
    }, PATIENCE);
    try {
      return await Promise.race([work, late.promise]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** Goes on when nobody waits for it any more: its sender gets the answer when it comes again. */
  async #handled(
    name: string,
    delivery: ChannelDelivery & { holder: string },
    source: WebhookSource,
    event: WebhookEvent,
  ): Promise<Taken> {
    const desk = webhookDesk(this.#options, this.#attester, { name, source, id: delivery.id });
    let answer: DeliveryAnswer;
    try {
      answer = answeredBy(name, await source.handle(event, desk));
    } catch (error) {
      await this.#messages.releaseDelivery(delivery);
      throw error;
    }
    await this.#messages.answerDelivery({ ...delivery, answer });
    return { kind: 'answered', answer };
  }
}

/**
 * The key of a delivery, and its sender's id; or why it is none. Senders see no error of a source's own way, unless that asks for another
 * delivery.
 */
async function verified(
  source: WebhookSource,
  { headers, body }: WebhookRequest,
): Promise<{ key: string; id: string } | { flaw: string; error?: unknown }> {
  const { verify = 'standard' } = source;
  try {
    const secrets = secretsOf(source);
    if (verify === 'standard') {
      const found = verifyWebhook(secrets.map(webhookSecret), headers, body);
      return typeof found === 'string' ? { flaw: found } : { key: found.id, id: found.id };
    }
    const found = await verify({ headers, body }, secrets);
    if (found === undefined) return { flaw: 'forged' };
    const { id, idIsSigned = false } = found;
    if (id === undefined ? idIsSigned : !ID.test(id)) return { flaw: 'its id is none' };
    const digest = `sha256-${createHash('sha256').update(body).digest('base64url')}`;
    return idIsSigned && id !== undefined ? { key: id, id } : { key: digest, id: id ?? digest };
  } catch (error) {
    return { flaw: 'it could not be verified', error };
  }
}

/** @throws RangeError where one of them could be guessed. */
function secretsOf({ secrets = [] }: WebhookSource): string[] {
  const given = [typeof secrets === 'function' ? secrets() : secrets].flat();
  for (const secret of given) webhookSecret(secret);
  return given;
}

function eventOf(id: string, request: WebhookRequest): WebhookEvent {
  const text = Buffer.from(request.body).toString('utf8');
  const json = parsedJson(text);
  const type = isRecord(json) ? json.type : undefined;
  return { id, ...(typeof type === 'string' ? { type } : {}), headers: shownHeaders(request), json, text };
}

function answeredBy(name: string, answer: unknown): DeliveryAnswer {
  if (answer === undefined) return { status: 200 };
  const { status = 200, body } = isRecord(answer) ? answer : { status: Number.NaN };
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 299) {
    throw new HoldfastError(
      'HOLDFAST_WEBHOOK_MISUSED',
      `the handler of ${name} answers { status: 200 to 299, body }, or nothing`,
    );
  }
  if (body === undefined) return { status };
  if (jsonBytes(body) > MOST_ANSWER_BYTES) {
    throw new HoldfastError(
      'HOLDFAST_WEBHOOK_MISUSED',
      `the handler of ${name} answers with more than ${MOST_ANSWER_BYTES} bytes of JSON`,
    );
  }
  return { status, body };
}

interface DeskOf {
  name: string;
  source: WebhookSource;
  /** The sender's. */
  id: string;
}

/** Actions for the handler of one delivery. */
function webhookDesk(
  { client }: Pick<GatewayOptions, 'client'>,
  attester: GatewayAttester,
  { name, source, id }: DeskOf,
): WebhookHoldfast {
  let sent = 0;
  const personOf = (person = `webhook:${name}`): string => {
    if (person === `webhook:${name}` || source.persons?.includes(person)) return person;
    throw new HoldfastError(
      'HOLDFAST_WEBHOOK_MISUSED',
      `person: the source ${name} may name those of its persons only`,
    );
  };
  return {
    async confirm({ requestId }, { person, ...options }) {
      const decider = { person: personOf(person), channel: 'webhook' } as const;
      return await attester.confirm(decider, { requestId }, options);
    },
    async provideInput({ requestId }, { person, response }) {
      const decider = { person: personOf(person), channel: 'webhook' } as const;
      return await attester.provideInput(decider, { requestId }, { response });
    },
    completeJob: async (jobId, { person, result }) =>
      await client.jobs.complete(jobId, { result, person: personOf(person) }),
    failJob: async (jobId, { person, error }) =>
      await client.jobs.fail(jobId, { error, person: personOf(person) }),
    async sendMessage({ person, ...message }) {
      sent += 1;
      // Another attempt of this delivery sends the same.
      const messageId = message.messageId ?? `webhook-${name}-${shortDigest(id)}-${sent}`;
      const attested = await attester.attestMessage(personOf(person), { ...message, messageId });
      return await client.sendMessage(attested);
    },
  };
}
