import type { Decided } from '../../client/approvals/approvals.ts';
import type { OutgoingMessage } from '../../client/messages/outgoing-message.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import type { ConfirmOptions } from '../../contract/approvals.ts';
import type { JobAnswer } from '../../contract/jobs.ts';

/** A request from outside, before anything of it is trusted. */
export interface WebhookRequest {
  /** In lower case; those that came more than once as a list. */
  headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** As it came: signatures are over these bytes. */
  body: Uint8Array;
}

/** The delivery that {@link WebhookSource.verify} has verified. */
export interface VerifiedWebhook {
  /** The sender's own id of what it tells, the same for each attempt: visible ASCII, at most 256 characters. */
  id?: string;
  /**
   * Whether the signature covers the id: then a delivery is known again by it. Otherwise by its body, which the signature covers: a
   * reader of a delivery could send it under another id.
   *
   * @default false
   */
  idIsSigned?: boolean;
}

/** A verified delivery. */
export interface WebhookEvent {
  /** The sender's, the same for each of its attempts; a digest of the body where the sender has none. */
  id: string;
  /** The field `type` of a JSON object, where it is text. */
  type?: string;
  /** `content-type`, `user-agent`, and those that begin with `x-`; never credentials of the gateway. */
  headers: Readonly<Record<string, string>>;
  /** Undefined for a body that isn't JSON. */
  json: unknown;
  text: string;
}

/** Person of a decision or message: one of the source's `persons`; `webhook:<source>` by default. */
export interface ByPerson {
  person?: string;
}

/** Actions for the handler of a source, attested and audited with the channel `webhook`. */
export interface WebhookHoldfast {
  /** As {@link Approvals.confirm}. */
  confirm(
    which: { requestId: string },
    options: Omit<ConfirmOptions, 'attestation'> & ByPerson,
  ): Promise<Decided>;
  /** As {@link Approvals.provideInput}. */
  provideInput(which: { requestId: string }, options: { response: unknown } & ByPerson): Promise<Decided>;
  /** As {@link Jobs.complete}: a repeated call changes nothing. */
  completeJob(jobId: string, options: { result: unknown } & ByPerson): Promise<JobAnswer>;
  /** As {@link Jobs.fail}. */
  failJob(jobId: string, options: { error: string } & ByPerson): Promise<JobAnswer>;
  /**
   * As {@link HoldfastApi.sendMessage}. Without a `messageId` it is made of the delivery's: one that comes again sends nothing twice.
   */
  sendMessage(message: Omit<OutgoingMessage, 'attestation'> & ByPerson): Promise<TurnHandle>;
}

/** The answer to the sender. */
export interface WebhookAnswer {
  /** 200 to 299. Defaults to 200. */
  status?: number;
  /** JSON, at most 64 KiB. */
  body?: unknown;
}

/** Makes sure that a source has sent a request; undefined for what is forged. `secrets` are those of the source. */
export type VerifyWebhook = (
  request: WebhookRequest,
  secrets: readonly string[],
) => VerifiedWebhook | undefined | Promise<VerifiedWebhook | undefined>;

/** A sender of deliveries to `POST /v1/webhooks/<name>`. */
export interface WebhookSource {
  /**
   * Any of these has signed what comes: `whsec_` and base64, or text of at least 16 bytes. Several while they are rotated. A function is
   * asked when the gateway starts, which fails where they are too short, and for each delivery. Needed unless `verify` is a function. Where
   * it can't know them now it throws {@link WebhookNotReady}: the gateway starts, and who sends is told to come again.
   */
  secrets?: string | readonly string[] | (() => string | readonly string[]);
  /**
   * How it is made sure that the source has sent it: by Standard Webhooks 1.0.0, or by a function, which gets `secrets`, answers
   * undefined for what is forged, compares in constant time, and sees to the age of what it takes, where that is signed. Where it can't
   * know now it throws {@link WebhookNotReady}, which is answered by 503; whatever else it throws by 401, as a forged one is.
   *
   * @default 'standard'
   */
  verify?: 'standard' | VerifyWebhook;
  /** Further people that its handler may name, beside `webhook:<source>`. */
  persons?: readonly string[];
  /**
   * Handles the event. An error that it throws is answered by 500 and logged: the sender tries again, and this is called again. It is
   * called once for each delivery otherwise. After 20 seconds the sender is told to come again, and gets the answer then; after 2 minutes
   * whoever has called it is taken to be gone.
   */
  handle(event: WebhookEvent, holdfast: WebhookHoldfast): Promise<WebhookAnswer | undefined> | Promise<void>;
}

/** By name: lower case letters, digits, `-` and `_`. */
export type WebhookSources = Readonly<Record<string, WebhookSource>>;
