import type { Json } from './gemini-json.ts';

/** A message that stands in a channel. */
export interface SlackMessage {
  channel: string;
  ts: string;
  /** Of the message whose thread it is in; absent at the top of the channel. */
  threadTs?: string;
  text: string;
  blocks: readonly Json[];
  /** How often it was changed. */
  edits: number;
}

/** An ephemeral message: one person alone has seen it. */
export interface SlackWhisper {
  channel: string;
  user: string;
  text: string;
  blocks: readonly Json[];
}

/** A modal that was opened. */
export interface SlackView {
  id: string;
  user: string;
  callbackId: string;
  privateMetadata: string;
  title: string;
  blocks: readonly Json[];
  /** Initial values of its inputs, by their blocks. */
  initial: Readonly<Record<string, string>>;
}

/** An answer of Slack's in place of the usual one. */
export class SlackRefusal extends Error {
  readonly error: string;
  readonly problems: readonly string[];

  constructor(error: string, problems: readonly string[] = []) {
    super(error);
    this.error = error;
    this.problems = problems;
  }
}

/** How a workspace stands: what was posted, whispered and opened. */
export class SlackState {
  readonly messages: SlackMessage[] = [];
  readonly whispers: SlackWhisper[] = [];
  readonly views: SlackView[] = [];
  /** The user of a trigger, and until when it may open a modal, milliseconds since the epoch. */
  readonly triggers = new Map<string, { user: string; until: number }>();
  /** Of response URLs, by their last part. */
  readonly replies = new Map<string, { user: string; channel: string; ts?: string; uses: number }>();
  #last = 0;

  /** Unique and growing, as a message's `ts` is: seconds with six digits after the point. */
  nextTs(): string {
    this.#last = Math.max(this.#last + 1, Date.now() * 1_000);
    return `${Math.floor(this.#last / 1_000_000)}.${String(this.#last % 1_000_000).padStart(6, '0')}`;
  }

  /** Those of a channel, or of a thread with the one that it begins with, between two times; oldest first. */
  between(
    channel: string,
    { threadTs, oldest, latest }: { threadTs?: string; oldest: number; latest: number },
  ) {
    return this.messages.filter((message) => {
      const isThere =
        threadTs === undefined
          ? message.threadTs === undefined
          : [message.threadTs, message.ts].includes(threadTs);
      return (
        message.channel === channel && isThere && Number(message.ts) > oldest && Number(message.ts) < latest
      );
    });
  }

  find(channel: string, ts: string): SlackMessage | undefined {
    return this.messages.find((message) => message.channel === channel && message.ts === ts);
  }
}
