import { NoticeFailed } from '../approvals/notice-failed.ts';
import type {
  EndedRequest,
  NoticeContext,
  NotifiedRequest,
  NotifiedWhy,
  Notifier,
} from '../approvals/notifier.ts';
import { digestOf } from '../protocol/canonical-json.ts';
import { defined, isRecord } from '../protocol/json.ts';
import { plain } from './block-kit.ts';
import { actionOf, callOf, type DrawnMessage, endedMessage, pendingMessage } from './request-message.ts';
import {
  type PostingNote,
  placeOf,
  type RequestNote,
  readNote,
  readPosting,
  shownDigest,
} from './request-note.ts';
import { SEEN_AFTER, SlackFailed, type SlackPlace } from './slack-api.ts';
import type { SlackApp } from './slack-app.ts';
import { isThreadName, type SlackThread, threadOfSession } from './thread-session.ts';

/** Characters of a hint that are kept to draw it again. */
const LONGEST_HINT = 1_500;
/** Milliseconds after which no attempt to post is under way any more. */
const LONGEST_POST = 15_000;
/** Milliseconds after which Slack has posted what it has taken. */
const LATEST_POST = 5 * 60_000;
/** Milliseconds by which Slack's clock and the store's may differ. */
const MARGIN = 60_000;
/** Milliseconds between two looks for a message that may come yet. */
const NEXT_LOOK = 5_000;
/** Slack's words for a message that nobody can change any more. */
const GONE: ReadonlySet<string | undefined> = new Set(['message_not_found', 'cant_update_message']);

/** Posts requests as messages with buttons, and changes these once the requests have ended. */
export class SlackNotifier implements Notifier {
  readonly name: string;
  readonly #app: SlackApp;

  constructor(app: SlackApp) {
    this.name = app.name;
    this.#app = app;
  }

  async notify(
    requests: readonly NotifiedRequest[],
    why: NotifiedWhy,
    context: NoticeContext,
  ): Promise<void> {
    await each(requests, async (request) => {
      const kept = await context.kept(request.requestId);
      const note = readNote(kept);
      if (note === undefined) await this.#post(request, why, context, readPosting(kept));
      else if (why === 'escalated') await this.#escalate(request, note, context);
    });
  }

  async ended(requests: readonly EndedRequest[], context: NoticeContext): Promise<void> {
    await each(requests, async (request) => {
      const kept = await context.kept(request.requestId);
      const note = readNote(kept);
      const place = note ?? (await this.#lost(request, context, readPosting(kept)));
      if (place === undefined) return;
      const { status, decidedAt, by, reason, editedArgs } = request;
      const message = endedMessage(request, {
        status,
        at: decidedAt,
        by: by.map(({ principal }) => principal),
        ...defined({ reason, editedArgs }),
      });
      try {
        await this.#app.api.update(place, message);
      } catch (error) {
        if (!(error instanceof SlackFailed) || !GONE.has(error.error)) throw error;
      }
      if (note !== undefined) return;
      const found = noteOf(request, place, { opens: false, mentions: [] });
      await context.keep(request.requestId, found, placeOf(place));
    });
  }

  async #post(
    request: NotifiedRequest,
    why: NotifiedWhy,
    context: NoticeContext,
    posting: PostingNote | undefined,
  ): Promise<void> {
    const { requestId, terms } = request;
    const where = await this.#whereOf(request);
    if (where === undefined) return;
    const { channel, threadTs } = where;
    const escalated = why === 'escalated';
    const deciders = [...(terms.approvers ?? []), ...(escalated ? (terms.escalateTo ?? []) : [])];
    const mentions = this.#app.idsOf(deciders);
    // Each person who asks for a link gets their own.
    const opens = context.linkFor(request, 'nobody') !== undefined;
    const message = pendingMessage(request, { opens, mentions });
    const before = await this.#posted(requestId, context, { ...where, posting });
    // It may be of a session that was deleted and made again: it shows the kept request.
    if (before !== undefined) await this.#app.api.update(before, message);
    const place =
      before ??
      (await this.#postOnce(requestId, context, () => this.#app.api.post(channel, message, threadTs)));
    const kept = noteOf(request, place, { opens, mentions });
    await context.keep(requestId, escalated ? { ...kept, escalated } : kept, placeOf(place));
  }

  /** Where a request stands that has ended before its message was found; undefined where it was never posted. */
  async #lost(
    request: EndedRequest,
    context: NoticeContext,
    posting: PostingNote | undefined,
  ): Promise<SlackPlace | undefined> {
    if (posting === undefined) return undefined;
    const where = await this.#whereOf(request);
    return where === undefined
      ? undefined
      : await this.#posted(request.requestId, context, { ...where, posting });
  }

  async #whereOf(request: NotifiedRequest): Promise<Where | undefined> {
    const thread = await this.#threadOf(request.sessionId);
    if (thread !== undefined) return { channel: thread.channel, threadTs: thread.ts };
    const channel = this.#app.channelOf(request);
    return channel === undefined ? undefined : { channel };
  }

  /**
   * Where an attempt has posted it whose answer was lost.
   *
   * @throws NoticeFailed while Slack may post it yet.
   */
  async #posted(
    requestId: string,
    { now }: Pick<NoticeContext, 'now'>,
    { channel, threadTs, posting }: Where & { posting: PostingNote | undefined },
  ): Promise<SlackPlace | undefined> {
    if (posting === undefined) return undefined;
    const lookedAt = await now();
    const left = posting.at + LONGEST_POST - lookedAt;
    if (!posting.isOver && left > 0) {
      throw new NoticeFailed('another attempt may be posting it now', { retryAfter: left });
    }
    const span = { channel, threadTs, from: posting.at - MARGIN, to: posting.at + LATEST_POST };
    const found = await this.#app.api.find(span, (block) => isAboutRequest(block, requestId));
    if (found === undefined) waitUntilSeen(posting.at, lookedAt);
    return found;
  }

  /** Notes first that it is being posted, so that the next attempt looks for it if this one gets no answer. */
  async #postOnce(
    requestId: string,
    context: NoticeContext,
    post: () => Promise<SlackPlace>,
  ): Promise<SlackPlace> {
    context.signal.throwIfAborted();
    const at = await context.now();
    await context.keep(requestId, { posting: { at } });
    try {
      context.signal.throwIfAborted();
      return await post();
    } catch (error) {
      await context.keep(requestId, isInDoubt(error) ? { posting: { at, isOver: true } } : {});
      throw error;
    }
  }

  /** Only sessions that may be threads need the secret. */
  async #threadOf(sessionId: string): Promise<SlackThread | undefined> {
    if (!isThreadName(sessionId)) return undefined;
    return threadOfSession(sessionId, await this.#app.signingSecrets());
  }

  async #escalate(request: NotifiedRequest, note: RequestNote, context: NoticeContext): Promise<void> {
    if (note.escalated === true) return;
    const { channel, ts } = note;
    const { requestId, sessionId, terms } = request;
    const { escalating, ...told } = note;
    const thread = await this.#threadOf(sessionId);
    // Slack wants the first message of a thread: the request's own may be a reply itself.
    const threadTs = thread?.channel === channel ? thread.ts : ts;
    const id = escalationId(requestId);
    const lookedAt = await context.now();
    const span = { channel, threadTs, from: Number(ts) * 1_000, to: lookedAt + MARGIN };
    const before = await this.#app.api.find(span, ({ block_id: found }) => found === id);
    if (before === undefined) {
      if (escalating !== undefined) waitUntilSeen(escalating, lookedAt);
      context.signal.throwIfAborted();
      await context.keep(requestId, { ...told, escalating: await context.now() }, placeOf(note));
      try {
        context.signal.throwIfAborted();
        await this.#app.api.post(channel, escalation(id, this.#app.idsOf(terms.escalateTo ?? [])), threadTs);
      } catch (error) {
        if (!isInDoubt(error)) await context.keep(requestId, told, placeOf(note));
        throw error;
      }
    }
    await context.keep(requestId, { ...told, escalated: true }, placeOf(note));
  }
}

/** A channel, or a thread of it. */
interface Where {
  channel: string;
  threadTs?: string;
}

function noteOf(
  request: NotifiedRequest,
  { channel, ts }: SlackPlace,
  drawn: Pick<RequestNote, 'opens' | 'mentions'>,
): RequestNote {
  const hint = request.hint.slice(0, LONGEST_HINT).toWellFormed();
  return { channel, ts, hint, ...drawn, shown: shownDigest(request) };
}

/** Whether Slack may have posted what it was asked to post. */
function isInDoubt(error: unknown): boolean {
  return error instanceof SlackFailed && error.isInDoubt;
}

/** @throws NoticeFailed while a message of this attempt may be seen later. */
function waitUntilSeen(at: number, lookedAt: number): void {
  const left = at + SEEN_AFTER - lookedAt;
  if (left <= 0) return;
  const retryAfter = Math.min(left, NEXT_LOOK);
  throw new NoticeFailed('Slack has not said whether it has posted it, and may do so yet', { retryAfter });
}

/** One for each request: a thread may be of several. */
function escalationId(requestId: string): string {
  return `holdfast_escalated_${digestOf(requestId).slice(0, 22)}`;
}

/** Whether a block has a button of ours about this request. */
function isAboutRequest({ type, elements }: Readonly<Record<string, unknown>>, requestId: string): boolean {
  const buttons: unknown[] = type === 'actions' && Array.isArray(elements) ? elements : [];
  return buttons.some(
    (button) => isRecord(button) && button.value === requestId && actionOf(button.action_id) !== undefined,
  );
}

function escalation(id: string, called: readonly string[]): DrawnMessage {
  const text = 'There is no decision yet. More people may decide now.';
  return {
    text,
    blocks: [{ type: 'section', block_id: id, text: plain(text) }, ...callOf(called)],
  };
}

/** One that fails keeps none of the others from being told. */
async function each<Request>(
  requests: readonly Request[],
  tell: (request: Request) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const request of requests) {
    try {
      await tell(request);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw noticeFailure(failures[0]);
}

function noticeFailure(error: unknown): unknown {
  if (!(error instanceof SlackFailed)) return error;
  const { message, retryAfter, isFinal } = error;
  return new NoticeFailed(message, { ...defined({ retryAfter }), final: isFinal });
}
