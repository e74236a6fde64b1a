import type { Part } from '../../src/events/content.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { isRecord } from '../../src/protocol/json.ts';
import type { Store } from '../../src/store/store.ts';
import type { CallActions } from '../../src/store/turns/call-store.ts';

/** Facts of a run for the later looks at its job, where they differ from the plan. */
export interface JobNotes {
  args?: Record<string, unknown>;
  /** The other actions of the run; kept while its call waits. */
  actions?: CallActions;
  /** References of what people have given the call, by the key of the credential. */
  credentials?: [credentialKey: string, credentialRef: string][];
}

/** The actions of a hook, besides the outcome that it gave. */
export interface OutcomeNotes {
  actions?: CallActions;
  /** After the response, of a result that is media. */
  parts?: Part[];
  /** As their tiers say. */
  trusted?: boolean;
}

const NOTES = 'holdfast:job';

interface NotedCall {
  session: string;
  callKey: string;
}

export async function recordNotes(
  store: Pick<Store, 'turns'>,
  call: NotedCall,
  notes: JobNotes,
): Promise<void> {
  if (Object.keys(notes).length > 0) await store.turns.recordOnce({ ...call, key: NOTES, value: notes });
}

export function notesIn(once: Readonly<Record<string, unknown>>): JobNotes {
  const notes = Object.hasOwn(once, NOTES) ? once[NOTES] : undefined;
  return isRecord(notes) ? (notes as JobNotes) : {};
}

/** Recorded before the outcome that it belongs to, which may turn out not to be the one that counts. */
export async function recordOutcomeNotes(
  store: Pick<Store, 'turns'>,
  call: NotedCall,
  response: Record<string, unknown>,
  notes: OutcomeNotes,
): Promise<void> {
  if (Object.keys(notes).length === 0) return;
  await store.turns.recordOnce({ ...call, key: outcomeKey(response), value: notes });
}

export function outcomeNotesIn(
  once: Readonly<Record<string, unknown>>,
  response: Record<string, unknown>,
): OutcomeNotes {
  const key = outcomeKey(response);
  const notes = Object.hasOwn(once, key) ? once[key] : undefined;
  return isRecord(notes) ? (notes as OutcomeNotes) : {};
}

function outcomeKey(response: Record<string, unknown>): string {
  return `${NOTES}:${digestOf(response)}`;
}
