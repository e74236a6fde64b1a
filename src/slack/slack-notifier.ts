import { NoticeFailed } from '../approvals/notice-failed.ts';
import type {
  EndedRequest,
  NoticeContext,
  NotifiedRequest,
  NotifiedWhy,
  Notifier,
} from '../approvals/notifier.ts';
import { plain } from './block-kit.ts';
import { callOf, type DrawnMessage, endedMessage, pendingMessage } from './request-message.ts';
import { placeOf, type RequestNote, readNote } from './request-note.ts';
import type { SlackApp } from './slack-app.ts';
import { SlackFailed } from './slack-error.ts';
import { isThreadName, type SlackThread, threadOfSession } from './thread-session.ts';

/** Characters of a hint that are kept to draw it again. */
const LONGEST_HINT = 1_500;
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
      const note = readNote(await context.kept(request.requestId));
      if (note === undefined) await this.#post(request, why, context);
      else if (why === 'escalated') await this.#escalate(request, note, context);
    });
  }

  async ended(requests: readonly EndedRequest[], context: NoticeContext): Promise<void> {
    await each(requests, async (request) => {
      const note = readNote(await context.kept(request.requestId));
      if (note === undefined) return;
      const { status, decidedAt, by, reason, editedArgs } = request;
      const message = endedMessage(request, {
        status,
        at: decidedAt,
        by: by.map(({ principal }) => principal),
        ...(reason === undefined ? {} : { reason }),
        ...(editedArgs === undefined ? {} : { editedArgs }),
      });
      try {
        await this.#app.api.update(note, message);
      } catch (error) {
        if (!(error instanceof SlackFailed) || !GONE.has(error.error)) throw error;
      }
    });
  }

  async #post(request: NotifiedRequest, why: NotifiedWhy, context: NoticeContext): Promise<void> {
    const { requestId, terms, hint, sessionId } = request;
    const thread = await this.#threadOf(sessionId);
    const channel = thread?.channel ?? this.#app.channelOf(request);
    if (channel === undefined) return;
    const escalated = why === 'escalated';
    const deciders = [...(terms.approvers ?? []), ...(escalated ? (terms.escalateTo ?? []) : [])];
    const mentions = this.#app.idsOf(deciders);
    // Whose link it would be doesn't matter here: each person who asks for one gets their own.
    const opens = context.linkFor(request, 'nobody') !== undefined;
    const place = await this.#app.api.post(channel, pendingMessage(request, { opens, mentions }), thread?.ts);
    const kept: RequestNote = { ...place, hint: hint.slice(0, LONGEST_HINT).toWellFormed(), opens, mentions };
    await context.keep(requestId, escalated ? { ...kept, escalated } : kept, placeOf(place));
  }

  /** Only sessions that may be threads need the secret. */
  async #threadOf(sessionId: string): Promise<SlackThread | undefined> {
    if (!isThreadName(sessionId)) return undefined;
    return threadOfSession(sessionId, await this.#app.signingSecrets());
  }

  async #escalate(request: NotifiedRequest, note: RequestNote, context: NoticeContext): Promise<void> {
    if (note.escalated === true) return;
    const called = this.#app.idsOf(request.terms.escalateTo ?? []);
    await this.#app.api.post(note.channel, escalation(called), note.ts);
    await context.keep(request.requestId, { ...note, escalated: true }, placeOf(note));
  }
}

function escalation(called: readonly string[]): DrawnMessage {
  const text = 'Nobody has decided so far: now others may, too.';
  return {
    text,
    blocks: [{ type: 'section', text: plain(text) }, ...callOf(called)],
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
  return new NoticeFailed(message, { ...(retryAfter === undefined ? {} : { retryAfter }), final: isFinal });
}
