import type { StoredEvent } from '../../contract/events.ts';
import { stepKeyOf } from '../../protocol/identity.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';

/** Steps of a session whose calls have been asked for, and have no responses yet, as far as its events were read. */
export class OpenSteps {
  readonly #open = new Set<string>();

  get isEmpty(): boolean {
    return this.#open.size === 0;
  }

  get keys(): string[] {
    return [...this.#open];
  }

  passed(stored: StoredEvent): void {
    const step = stepKeyOf(stored.runKey, stored.step);
    if (stored.kind === 'responses') this.#open.delete(step);
    else if (stored.event.content?.parts?.some(({ functionCall }) => functionCall)) this.#open.add(step);
  }

  /** Whether an event has the responses to calls that are open. */
  isEndedBy({ kind, runKey, step }: StoredEvent): boolean {
    return kind === 'responses' && this.#open.has(stepKeyOf(runKey, step));
  }

  hasCall(callKey: string): boolean {
    return this.#open.has(stepOfCall(callKey));
  }
}

/** A call key is its run's key, its step and its place, with dots between. */
export function stepOfCall(callKey: string): string {
  return callKey.split('.', 2).join('.');
}

/** The steps that are open after an event of a session. Calls are open in the invocation of that event only. */
export async function openStepsAt(
  store: Pick<Store, 'sessions' | 'turns'>,
  names: SessionNames,
  seq: number,
): Promise<OpenSteps> {
  const steps = new OpenSteps();
  if (seq === 0) return steps;
  const [last] = await store.sessions.readEvents({ ...names, after: seq - 1, limit: 1 });
  if (last === undefined) return steps;
  const invocation = await store.turns.findInvocation(names, last.event.invocationId);
  if (invocation === undefined || (invocation.outcome !== undefined && invocation.to <= seq)) return steps;
  for (const stored of await store.turns.readLatestSteps({ ...names, from: invocation.from, to: seq })) {
    steps.passed(stored);
  }
  return steps;
}
