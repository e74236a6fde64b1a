import { randomUUID } from 'node:crypto';
import { verifyWebhook, webhookSecret } from '../../net/signatures.ts';
import { jsonBytes } from '../../protocol/json-bytes.ts';
import { isRecord } from '../../schema/kind-of.ts';
import type { WebhookAnswered, WebhookDelivery, WebhookStore } from '../../store/webhook-store.ts';
import type { GatewayAttester } from '../gateway-attester.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { GatewayOptions } from '../gateway-options.ts';
import type { WebhookEvent, WebhookRequest, WebhookSource } from './options.ts';
import { shownHeaders } from './read-request.ts';
import { WebhookMisused, webhookDesk } from './webhook-desk.ts';

/** Milliseconds that a sender waits for its handler. */
const PATIENCE = 20_000;
/** Milliseconds after which a gateway that has said nothing more of a delivery is gone. */
const LONGEST_HOLD = 120_000;
const MOST_ANSWER_BYTES = 64 * 1024;
const ID = /^[\x21-\x7e]{1,256}$/;

/** What becomes of a delivery. */
export type Taken = { kind: 'busy' } | { kind: 'answered'; answer: WebhookAnswered };

/** Webhooks that come in: verified, handled once, answered. */
export class WebhookIntake {
  readonly #options: GatewayOptions;
  readonly #attester: GatewayAttester;
  readonly #store: WebhookStore;

  constructor(options: GatewayOptions, attester: GatewayAttester, store: WebhookStore) {
    this.#options = options;
    this.#attester = attester;
    this.#store = store;
  }

  /** @throws RequestRefused where the source has not sent it; whatever its handler throws. */
  async take(
    name: string,
    source: WebhookSource,
    request: WebhookRequest,
    requestId: string,
  ): Promise<Taken> {
    const id = await this.#verified(name, source, request, requestId);
    const delivery = { source: name, id, holder: randomUUID() };
    const taken = await this.#store.takeDelivery({ ...delivery, time: LONGEST_HOLD });
    if (taken.kind !== 'taken') return taken;
    const work = this.#handled(delivery, source, eventOf(id, request));
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

  async #verified(
    name: string,
    source: WebhookSource,
    request: WebhookRequest,
    requestId: string,
  ): Promise<string> {
    const { verify = 'standard' } = source;
    const found =
      verify === 'standard'
        ? verifyWebhook(secretsOf(source), request.headers, request.body)
        : ((await verify(request)) ?? 'forged');
    if (typeof found !== 'string' && ID.test(found.id)) return found.id;
    const flaw = typeof found === 'string' ? found : 'its id is none';
    this.#options.logger.warn('a webhook was refused', { requestId, source: name, flaw });
    throw new RequestRefused('unauthenticated');
  }

  /** Goes on when nobody waits for it any more: its sender gets the answer when it comes again. */
  async #handled(
    delivery: WebhookDelivery & { holder: string },
    source: WebhookSource,
    event: WebhookEvent,
  ): Promise<Taken> {
    const { source: name } = delivery;
    const desk = webhookDesk(this.#options, this.#attester, { name, source, id: event.id });
    let answer: WebhookAnswered;
    try {
      answer = answeredBy(name, await source.handle(event, desk));
    } catch (error) {
      await this.#store.giveDeliveryBack(delivery);
      throw error;
    }
    await this.#store.answerDelivery({ ...delivery, answer });
    return { kind: 'answered', answer };
  }
}

function secretsOf({ secrets = [] }: WebhookSource): Buffer[] {
  const given = typeof secrets === 'function' ? secrets() : secrets;
  return [given].flat().map(webhookSecret);
}

function eventOf(id: string, request: WebhookRequest): WebhookEvent {
  const text = Buffer.from(request.body).toString('utf8');
  const json = jsonOf(text);
  const type = isRecord(json) ? json.type : undefined;
  return { id, ...(typeof type === 'string' ? { type } : {}), headers: shownHeaders(request), json, text };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Some send forms, or nothing at all: their handlers have the text.
    return undefined;
  }
}

function answeredBy(name: string, answer: unknown): WebhookAnswered {
  if (answer === undefined) return { status: 200 };
  const { status = 200, body } = isRecord(answer) ? answer : { status: Number.NaN };
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 299) {
    throw new WebhookMisused(`the handler of ${name} answers { status: 200 to 299, body }, or nothing`);
  }
  if (body === undefined) return { status };
  if (jsonBytes(body) > MOST_ANSWER_BYTES) {
    throw new WebhookMisused(
      `the handler of ${name} answers with more than ${MOST_ANSWER_BYTES} bytes of JSON`,
    );
  }
  return { status, body };
}
