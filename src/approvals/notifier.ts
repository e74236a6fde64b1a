import type { GateKind } from '../protocol/gate.ts';
import type { ApprovalTerms } from '../store/approval-store.ts';

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
  /** Who may decide, and how. */
  terms: ApprovalTerms;
  /** Attested sender of the message; absent where nobody has attested it. */
  requester?: string;
  /** Milliseconds since the epoch. */
  since: number;
  /** Milliseconds since the epoch; absent where it doesn't expire. */
  until?: number;
  /** Of an input: JSON Schema of the answer. */
  responseSchema?: unknown;
  /** Of a credential: the name under which it is kept. */
  credentialKey?: string;
  /** What to type to see the request, and to answer it. */
  commands: readonly string[];
  /** Where to read more, by what is there: `transcript`, `workflow`. */
  links: Readonly<Record<string, string>>;
}

/** Why people are told: requests have opened, or others may decide from now on. */
export type NotifiedWhy = 'opened' | 'escalated';

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
  /** For messages; each of an app has its own. */
  name: string;
  notify(requests: readonly NotifiedRequest[], why: NotifiedWhy): Promise<void>;
}
