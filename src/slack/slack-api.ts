import { codedError } from '../contract/error.ts';
import { defined, isRecord } from '../protocol/json.ts';
import type { ModalView } from './block-kit.ts';
import type { DrawnMessage } from './request-message.ts';

/** Slack has refused a call, or could not be reached. The message quotes neither the sent text nor the token. */
export class SlackFailed extends codedError('HOLDFAST_SLACK_FAILED') {
  /** Slack's word for it, as `channel_not_found`; undefined where Slack was not reached, or said none. */
  readonly error: string | undefined;
  /** Milliseconds until it may be tried again, where Slack has said so. */
  readonly retryAfter: number | undefined;
  readonly #isUnsent: boolean;

  /** @param options `isUnsent`: Slack has got nothing of it; false by default. */
  constructor(
    message: string,
    { error, retryAfter, isUnsent = false }: { error?: string; retryAfter?: number; isUnsent?: boolean } = {},
  ) {
    super(message);
    this.error = error;
    this.retryAfter = retryAfter;
    this.#isUnsent = isUnsent;
  }

  /** Whether Slack may have done what it was asked for: it has not said that it didn't. */
  get isInDoubt(): boolean {
    return !this.#isUnsent && (this.error === undefined || HALF_DONE.has(this.error));
  }

  /** Whether it is in vain to ask the same again. */
  get isFinal(): boolean {
    return this.error !== undefined && FINAL.has(this.error);
  }
}

/** Errors of Slack after which a part may have been done. */
const HALF_DONE = new Set(['fatal_error', 'internal_error']);
/** Words of Slack that only somebody who changes the message, the app or the configuration can take back. */
const FINAL = new Set([
  'account_inactive',
  'cant_update_message',
  'channel_not_found',
  'invalid_arguments',
  'invalid_auth',
  'invalid_blocks',
  'is_archived',
  'message_not_found',
  'missing_scope',
  'msg_blocks_too_long',
  'msg_too_long',
  'no_text',
  'not_authed',
  'not_in_channel',
  'token_expired',
  'token_revoked',
]);

/** Where a message stands. */
export interface SlackPlace {
  channel: string;
  ts: string;
}

/** Where, and when, a message may have been posted. */
interface SlackSpan {
  channel: string;
  /** Of the message whose thread it is. */
  threadTs?: string | undefined;
  /** Milliseconds since the epoch. */
  from: number;
  to: number;
}

interface SlackApiOptions {
  /** `A…` */
  appId: string;
  token: () => Promise<string>;
  /** Ends with a slash. */
  apiUrl: string;
  /**
   * Milliseconds of one call.
   *
   * @default 10 seconds
   */
  callTime?: number | undefined;
}

const CALL_TIME = 10_000;
/**
 * Milliseconds from the begin of an attempt to post until a message that Slack has taken can be seen: longer than a call, for Slack may
 * be slower than who waits for it.
 */
export const SEEN_AFTER = 30_000;
/** Messages that are looked through to find one. */
const PAGE = 200;
const MOST_PAGES = 5;
/** Slack's words where this app isn't let look, or there is nothing to look at. */
const UNSEEN: ReadonlySet<string | undefined> = new Set([
  'channel_not_found',
  'method_not_supported_for_channel_type',
  'missing_scope',
  'no_permission',
  'not_in_channel',
  'thread_not_found',
]);
const NO_CONNECTION: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Where Slack's answers to a click, or to a command, are taken. */
const RESPONSE_HOSTS: ReadonlySet<string> = new Set(['hooks.slack.com', 'hooks.slack-gov.com']);

/** Slack's Web API, as far as it is used here. Each call is made once: the caller decides whether to try again. */
export class SlackApi {
  readonly #options: SlackApiOptions;
  readonly #callTime: number;

  constructor(options: SlackApiOptions) {
    this.#options = options;
    this.#callTime = options.callTime ?? CALL_TIME;
  }

  /** @throws SlackFailed */
  async post(channel: string, message: DrawnMessage, threadTs?: string): Promise<SlackPlace> {
    const posted = await this.#call('chat.postMessage', {
      channel,
      ...message,
      ...QUIET,
      ...defined({ thread_ts: threadTs }),
    });
    const { ts, channel: where } = posted;
    if (typeof ts !== 'string') throw new SlackFailed('chat.postMessage: Slack’s answer names no message');
    return { channel: typeof where === 'string' ? where : channel, ts };
  }

  /**
   * A message of this app that has such a block: whether one was posted, where Slack's answer was lost.
   *
   * @returns undefined where there is none, or this app may not look.
   * @throws SlackFailed
   */
  async find(
    { channel, threadTs, from, to }: SlackSpan,
    fits: (block: Readonly<Record<string, unknown>>) => boolean,
  ): Promise<SlackPlace | undefined> {
    const span = { channel, oldest: secondsOf(from), latest: secondsOf(to), limit: PAGE };
    const [method, where] =
      threadTs === undefined
        ? ['conversations.history', span]
        : ['conversations.replies', { ...span, ts: threadTs }];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES; page++) {
      let found: Record<string, unknown>;
      try {
        found = await this.#call(method, { ...where, ...defined({ cursor }) });
      } catch (error) {
        if (error instanceof SlackFailed && UNSEEN.has(error.error)) return undefined;
        throw error;
      }
      for (const message of recordsOf(found.messages)) {
        const { app_id: appId, ts, blocks } = message;
        if (appId === this.#options.appId && typeof ts === 'string' && recordsOf(blocks).some(fits)) {
          return { channel, ts };
        }
      }
      const next = isRecord(found.response_metadata) ? found.response_metadata.next_cursor : undefined;
      if (typeof next !== 'string' || next === '') return undefined;
      cursor = next;
    }
    return undefined;
  }

  /** @throws SlackFailed */
  async update({ channel, ts }: SlackPlace, message: DrawnMessage): Promise<void> {
    await this.#call('chat.update', { channel, ts, ...message, ...QUIET });
  }

  /**
   * Shows a message to one person only.
   *
   * @throws SlackFailed
   */
  async postEphemeral(
    to: { channel: string; user: string; threadTs?: string },
    message: DrawnMessage,
  ): Promise<void> {
    const { threadTs, ...where } = to;
    const thread = threadTs === undefined ? {} : { thread_ts: threadTs };
    await this.#call('chat.postEphemeral', { ...where, ...thread, ...message, ...QUIET });
  }

  /** @throws SlackFailed */
  async openModal(triggerId: string, view: ModalView): Promise<void> {
    await this.#call('views.open', { trigger_id: triggerId, view });
  }

  /** Whether an answer may be sent there. */
  takesResponse(responseUrl: string): boolean {
    const url = URL.parse(responseUrl);
    const api = new URL(this.#options.apiUrl);
    if (url === null || url.username !== '' || url.password !== '') return false;
    if (url.origin === api.origin && api.hostname !== 'slack.com') return true;
    return url.protocol === 'https:' && url.port === '' && RESPONSE_HOSTS.has(url.hostname);
  }

  /**
   * Answers the person who has clicked or typed, by the address that came with it.
   *
   * @throws SlackFailed
   */
  async respond(responseUrl: string, message: DrawnMessage): Promise<void> {
    if (!this.takesResponse(responseUrl)) throw new SlackFailed('response_url: it is no address of Slack');
    const body = JSON.stringify({ response_type: 'ephemeral', replace_original: false, ...message });
    let status: number;
    try {
      const answer = await fetch(responseUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8' },
        body,
        redirect: 'error',
        signal: AbortSignal.timeout(this.#callTime),
      });
      status = answer.status;
      await answer.body?.cancel();
    } catch {
      // The thrown error quotes the address, which is a secret.
      throw new SlackFailed('response_url: Slack could not be reached');
    }
    if (status >= 300) throw new SlackFailed(`response_url: Slack answered with status ${status}`);
  }

  async #call(method: string, args: Record<string, unknown>): Promise<Record<string, unknown>> {
    const token = await this.#options.token();
    let status: number;
    let wait: number;
    let answer: unknown;
    try {
      const response = await fetch(new URL(method, this.#options.apiUrl), {
        method: 'POST',
        headers: { authorization: `Bearer ${token}` },
        body: formOf(args),
        redirect: 'error',
        signal: AbortSignal.timeout(this.#callTime),
      });
      status = response.status;
      wait = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
      if (status === 200) answer = await response.json();
      else await response.body?.cancel();
    } catch (error) {
      // The error's text may quote the request, which has secrets.
      throw new SlackFailed(`${method}: Slack could not be reached`, { isUnsent: isUnsent(error) });
    }
    if (status === 429 && Number.isFinite(wait)) {
      const told = { error: 'ratelimited', retryAfter: wait * 1_000 };
      throw new SlackFailed(`${method}: Slack takes no more for ${wait} s`, told);
    }
    const { ok, error, ...said } = isRecord(answer) ? answer : {};
    if (ok === true) return said;
    if (typeof error !== 'string') throw new SlackFailed(`${method}: Slack answered with status ${status}`);
    throw new SlackFailed(`${method}: Slack refuses it: ${error}`, { error });
  }
}

/** Not all of Slack's methods take JSON. */
function formOf(args: Record<string, unknown>): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, value] of Object.entries(args)) {
    if (value !== undefined) form.set(name, typeof value === 'string' ? value : JSON.stringify(value));
  }
  return form;
}

/** Slack fetches, links and calls nothing beyond the message's blocks. */
const QUIET = { link_names: false, unfurl_links: false, unfurl_media: false };

/** As a message's `ts`. */
function secondsOf(time: number): string {
  return (Math.max(0, time) / 1_000).toFixed(6);
}

function recordsOf(list: unknown): Record<string, unknown>[] {
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

/** Whether there was no connection by which Slack could have got it. */
function isUnsent(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error ? Reflect.get(cause, 'code') : undefined;
  return typeof code === 'string' && NO_CONNECTION.has(code);
}
