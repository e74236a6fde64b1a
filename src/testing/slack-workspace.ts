import type { Json } from './gemini-json.ts';
import type { SlackForgery } from './slack-sign.ts';
import type { SlackMessage, SlackView, SlackWhisper } from './slack-state.ts';

/** How Slack answers: as ever; not at all; late; that there is too much; or, having done what it was asked for, not to one method. */
export type SlackMood =
  | 'up'
  | 'down'
  | { mute: string }
  | { slow: number | Promise<unknown>; method?: string }
  | { rateLimited: number; method?: string };

export interface MockSlackOptions {
  /** @default a free one on 127.0.0.1 */
  port?: number;
  /** Whether it keeps the process up until it is closed. Default true. */
  ref?: boolean;
}

/** The acting user and the channel. */
export interface SlackActor {
  user: string;
  /** Defaults to the mock server's: another workspace's in a shared channel. */
  userTeam?: string;
}

export interface MockSlack extends AsyncDisposable {
  /** For `slackApiUrl`: `http://127.0.0.1:PORT/api/`. */
  readonly url: string;
  readonly botToken: string;
  readonly signingSecret: string;
  readonly appId: string;
  readonly teamId: string;
  /** All that stand in channels, in the order in which they were posted. */
  readonly messages: readonly SlackMessage[];
  /** Ephemeral ones. */
  readonly whispers: readonly SlackWhisper[];
  readonly views: readonly SlackView[];
  /** Methods that were called, refused calls included. */
  readonly calls: readonly string[];
  /** Refusals, as Slack's: empty in a test of a correct client. */
  readonly refusals: readonly { method: string; error: string; problems: readonly string[] }[];
  /**
   * Waits until so many messages stand in channels, and gives the last of them.
   *
   * @throws after 30 seconds.
   */
  waitForMessage(count?: number): Promise<SlackMessage>;
  /** From now on. `slow` in milliseconds, or until a promise is kept, `rateLimited` in seconds that clients are told to wait, both for all methods or for one `method`; `mute` a method. */
  become(mood: SlackMood): void;
  /**
   * Somebody clicks on a button.
   *
   * @param gateway its address, without a path.
   * @throws where the message has no such button: nobody could click on it.
   */
  click(
    gateway: string,
    click: SlackActor & { message: SlackMessage; action: string },
    forged?: SlackForgery,
  ): Promise<Response>;
  /** Somebody sends a modal; inputs that aren't given stay as they were. */
  submitView(
    gateway: string,
    submit: { view: SlackView; values?: Readonly<Record<string, string>>; userTeam?: string },
    forged?: SlackForgery,
  ): Promise<Response>;
  /** Somebody types a slash command. */
  command(
    gateway: string,
    command: SlackActor & { channel: string; command: string; text: string },
    forged?: SlackForgery,
  ): Promise<Response>;
  /** Somebody replies in a thread. `fields` of the event beside, or in place of, the usual ones; `eventId` to send one again. */
  reply(
    gateway: string,
    reply: SlackActor & { channel: string; threadTs: string; text: string; eventId?: string; fields?: Json },
    forged?: SlackForgery,
  ): Promise<Response>;
  /** Sends anything, signed. */
  send(gateway: string, path: string, body: string, type: string, forged?: SlackForgery): Promise<Response>;
  /** Body of a click, to be sent in another way, or twice. */
  clickBody(
    click: SlackActor & { message: SlackMessage; action: string; value?: string },
    forged?: SlackForgery,
  ): string;
  close(): Promise<void>;
}
