import { setTimeout } from 'node:timers/promises';
import type { Event } from '../events/event.ts';
import { BasePlugin } from '../plugins/base-plugin.ts';
import type { PluginParams } from '../plugins/plugin-failed.ts';
import { isSensitiveAgent } from '../plugins/withheld.ts';
import type { SessionView } from '../tools/invocation-context.ts';
import { SPOOLED_FOLDER } from '../tools/spooled/spooled-artifact.ts';
import { type Block, type Mrkdwn, plain } from './block-kit.ts';
import type { DrawnMessage } from './request-message.ts';
import { SEEN_AFTER, SlackFailed } from './slack-api.ts';
import type { SlackApp } from './slack-app.ts';
import { slackLines, slackText } from './slack-text.ts';
import { isThreadName, threadOfSession } from './thread-session.ts';

const LONGEST_SECTION = 2_900;
const LONGEST_ANSWER = 10_000;
const LONGEST_NOTICE = 200;
/** Files that an answer names. */
const MOST_FILES = 10;

/** Milliseconds by which clocks may differ. */
const LONGEST_AGO = 60_000;

/** Milliseconds between attempts to post an answer. The turn waits for them. */
const PAUSES = [500, 2_000, 5_000, 10_000, 15_000] as const;

const LONGEST_PAUSE = 30_000;

/** Posts the answer of a turn that was begun in Slack into its thread. */
export class SlackPlugin extends BasePlugin {
  readonly #app: SlackApp;

  constructor(app: SlackApp) {
    super(app.name);
    this.#app = app;
  }

  override async afterRunCallback({ invocationContext }: PluginParams<'afterRunCallback'>): Promise<void> {
    const { session, invocationId, agent } = invocationContext;
    if (!isThreadName(session.id)) return;
    const thread = threadOfSession(session.id, await this.#app.signingSecrets());
    if (thread === undefined) return;
    const last = session.events.findLast((event) => event.invocationId === invocationId);
    const message = isSensitiveAgent(agent)
      ? answer('The answer is sensitive: it isn’t shown here.')
      : withFiles(answerOf(last), savedIn(session, invocationId), this.#app.publicUrl);
    const { channel, ts: threadTs } = thread;
    const [first, ...others] = message.blocks;
    const id = `holdfast_answer_${invocationId}`;
    const marked = { ...message, blocks: first === undefined ? [] : [{ ...first, block_id: id }, ...others] };
    const from = (last?.timestamp ?? Date.now()) - LONGEST_AGO;
    await this.#postOnce({
      // A worker that died, or an answer of Slack's that was lost, may have posted it.
      isPosted: async () => {
        const span = { channel, threadTs, from, to: Date.now() + LONGEST_AGO };
        return (await this.#app.api.find(span, (block) => block.block_id === id)) !== undefined;
      },
      post: async () => {
        await this.#app.api.post(channel, marked, threadTs);
      },
    });
  }

  async #postOnce({ isPosted, post }: Posting): Promise<void> {
    let doubtfulSince: number | undefined;
    for (const pause of [...PAUSES, undefined]) {
      try {
        if (await this.#isSeen(isPosted, doubtfulSince)) return;
        const at = Date.now();
        try {
          return await post();
        } catch (error) {
          doubtfulSince = error instanceof SlackFailed && error.isInDoubt ? at : undefined;
          throw error;
        }
      } catch (error) {
        if (!(error instanceof SlackFailed) || pause === undefined || error.isFinal) throw error;
        // The last look has to count, however late the doubt began.
        const until = pause === PAUSES.at(-1) && doubtfulSince !== undefined ? doubtfulSince + SEEN_AFTER : 0;
        await setTimeout(Math.min(Math.max(pause, error.retryAfter ?? 0, until - Date.now()), LONGEST_PAUSE));
      }
    }
  }

  /** @throws SlackFailed where it isn't there, and may come yet. */
  async #isSeen(isPosted: Posting['isPosted'], doubtfulSince: number | undefined): Promise<boolean> {
    if (doubtfulSince === undefined) {
      try {
        return await isPosted();
      } catch (error) {
        // An answer isn't thrown away because nobody may look for one that is hardly there.
        if (error instanceof SlackFailed && error.error !== undefined) return false;
        throw error;
      }
    }
    const lookedAt = Date.now();
    if (await isPosted()) return true;
    if (lookedAt >= doubtfulSince + SEEN_AFTER) return false;
    throw new SlackFailed('chat.postMessage: Slack has not said whether it has posted it, and may do so yet');
  }
}

interface Posting {
  isPosted: () => Promise<boolean>;
  post: () => Promise<void>;
}

function answerOf(event: Event | undefined): DrawnMessage {
  const said = (event?.content?.parts ?? [])
    .filter(({ text, thought }) => text !== undefined && thought !== true)
    .map(({ text }) => text)
    .join('');
  if (said.trim() !== '') return answer(said);
  return answer(
    event?.errorCode === undefined ? 'The turn has ended without an answer.' : 'The turn has failed.',
  );
}

/** A file that a turn has saved, and the path of its page. */
interface SavedFile {
  name: string;
  path: string;
}

/** Names of artifacts that a turn has saved, without results that tools keep for the model. */
function savedIn({ appName, userId, id, events }: SessionView, invocationId: string): SavedFile[] {
  const names = events
    .filter((event) => event.invocationId === invocationId)
    .flatMap((event) => Object.keys(event.actions.artifactDelta ?? {}))
    .filter((name) => !name.startsWith(SPOOLED_FOLDER));
  return [...new Set(names)].map((name) => ({
    name,
    path: [appName, userId, id, name].map(encodeURIComponent).join('/'),
  }));
}

function withFiles(
  message: DrawnMessage,
  files: readonly SavedFile[],
  base: string | undefined,
): DrawnMessage {
  if (files.length === 0) return message;
  const lines: Block[] = files.slice(0, MOST_FILES).map(({ name, path }) => ({
    type: 'context',
    elements: [
      plain(slackText(name, LONGEST_NOTICE)),
      ...(base === undefined ? [] : [link(`${base}/inbox/files/${path}`)]),
    ],
  }));
  const more = files.length - MOST_FILES;
  if (more > 0) lines.push({ type: 'context', elements: [plain(`and ${more} more files`)] });
  return { ...message, blocks: [...message.blocks, ...lines] };
}

/** @param url without characters that end a link. */
function link(url: string): Mrkdwn {
  return { type: 'mrkdwn', text: `<${url}|Download>`, verbatim: true };
}

function answer(text: string): DrawnMessage {
  const { text: shown } = slackLines(text, LONGEST_ANSWER);
  return { text: slackText(text, LONGEST_NOTICE), blocks: sectionsOf(shown) };
}

/** Cut where no entity is cut: at a blank, a line's end or after a character that is no part of one. */
function sectionsOf(text: string): Block[] {
  const blocks: Block[] = [];
  let rest = text;
  while (rest.trim() !== '') {
    let end = Math.min(rest.length, LONGEST_SECTION);
    if (end < rest.length) {
      const line = rest.lastIndexOf('\n', end);
      const blank = rest.lastIndexOf(' ', end);
      if (line > end / 2) end = line + 1;
      else if (blank > end / 2) end = blank + 1;
      else end = wholeEnd(rest, end);
    }
    const part = rest.slice(0, end);
    if (part.trim() !== '') blocks.push({ type: 'section', text: plain(part) });
    rest = rest.slice(end);
  }
  return blocks;
}

/** Neither within an entity, as `&amp;`, nor within a pair of surrogates. */
function wholeEnd(text: string, end: number): number {
  const entity = text.lastIndexOf('&', end - 1);
  if (entity >= 0 && text.indexOf(';', entity) >= end) return entity;
  return (text.charCodeAt(end - 1) & 0xfc00) === 0xd800 ? end - 1 : end;
}
