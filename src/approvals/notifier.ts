import type { Voter } from '../contract/approvals.ts';
import type { ApprovalTerms, GateKind, RequestStatus } from '../contract/requests.ts';

/** A request as people are told of it: what they need to decide, and no secrets. Sensitive arguments read `(sensitive)`. */
export interface NotifiedRequest {
  requestId: string;
  kind: GateKind;
  app: string;
  userId: string;
  sessionId: string;
  agent: string;
  /** Names of the agents from the root to the one that asks. */
  path: readonly string[];
  tool: string;
  callKey: string;
  callId: string;
  /** The question. Like the arguments it may hold what a model wrote: show it as text, never as markup. */
  hint: string;
  /** As the tool gave it; left out for a tool with sensitive arguments. */
  payload?: unknown;
  args: Record<string, unknown>;
  /** Deciders of the request, and the rules of their decision. */
  terms: ApprovalTerms;
  /** Attested sender of the message; absent where nobody has attested it. */
  requester?: string;
  /** Milliseconds since the epoch. */
  since: number;
  /** Milliseconds since the epoch; absent where it doesn't expire. */
  until?: number;
  /** For an input: JSON Schema of the answer. */
  responseSchema?: unknown;
  /** For a credential: the name under which it is kept. */
  credentialKey?: string;
  /** Commands that show and answer the request. */
  commands: readonly string[];
  /** Where to read more, by what is there: `transcript`, `workflow`. */
  links: Readonly<Record<string, string>>;
}

/** A request that people were told of, once nobody is to answer it any more. */
export interface EndedRequest extends NotifiedRequest {
  status: Exclude<RequestStatus, 'pending'>;
  /** Milliseconds since the epoch. */
  decidedAt: number;
  /** Those whose decisions have made it so, in order; nobody where its time was over. */
  by: readonly Voter[];
  /** The reason that the last of them gave, or the reason of the end without a decision. Shown as text, never as markup. */
  reason?: string;
  /** Those that run in place of the ones that were shown; sensitive ones read `(sensitive)`. */
  editedArgs?: Record<string, unknown>;
}

/** Why people are told: requests have opened, or others may decide from now on. */
export type NotifiedWhy = 'opened' | 'escalated';

/** Services for a notifier at work. */
export interface NoticeContext {
  /**
   * Address of a page on which this person decides, and nobody else; good for one decision.
   *
   * @param approver as in the request's `terms.approvers`, and in the audit later on.
   * @returns undefined where the worker has no credential keys, or no address of the gateway.
   */
  linkFor(request: Pick<NotifiedRequest, 'requestId' | 'until'>, approver: string): string | undefined;
  /** The note of this notifier about a request; undefined without one. */
  kept(requestId: string): Promise<unknown>;
  /**
   * Keeps a note of a request, in place of the one before: as the id of a message, to change it later.
   *
   * @param value JSON, at most 16 KiB.
   * @param place a name by which the gateway finds the note, unique within the notifier: as a channel and a message's time.
   * @throws NoteRefused
   */
  keep(requestId: string, value: unknown, place?: string): Promise<void>;
  /**
   * The time by the store's clock, milliseconds since the epoch. The next attempt may be another worker's: times in notes are
   * by this clock, never by a machine's own.
   *
   * @throws StoreUnavailable
   */
  now(): Promise<number>;
  /** When it was to be told first, however often it is tried: milliseconds since the epoch. */
  since: number;
  /** Aborts when nobody waits for this attempt any more. */
  signal: AbortSignal;
}

/**
 * Tells people of requests that wait for them. It runs in a worker, apart from the call that waits: what it throws is tried again, and
 * never keeps anybody from answering. It may be asked more than once about one request: `requestId` is the same then.
 *
 * @example
 * const pager: Notifier = {
 *   name: 'pager',
 *   async notify(requests, why) {
 *     for (const { requestId, tool, hint } of requests) await page(`${why}: ${tool}: ${hint}`, { dedupeBy: requestId });
 *   },
 * };
 */
export interface Notifier {
  /** For messages, and to keep its notes by; each of an app has its own. */
  name: string;
  notify(requests: readonly NotifiedRequest[], why: NotifiedWhy, context: NoticeContext): Promise<void>;
  /** Of requests that have ended, also of those that ended before {@link notify} was asked about them. Never while it is asked. */
  ended?(requests: readonly EndedRequest[], context: NoticeContext): Promise<void>;
  /**
   * Milliseconds for which a notice that fails is tried again, beside the turn; 30 days at most. A notice that fails for longer is
   * in `holdfast notices`.
   *
   * @default 3 days
   */
  retryFor?: number;
}
