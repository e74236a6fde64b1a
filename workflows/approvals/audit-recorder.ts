import { CancellationScope, log, scheduleActivity } from '@temporalio/workflow';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import type { AuditEntry, RecordEntriesInput } from '../../src/protocol/gate.ts';
import { RECORD_ENTRIES } from '../../src/protocol/names.ts';
import { recordEntriesOptions, turnPriority, type User } from '../activities.ts';

const MOST_AT_ONCE = 100;

/** Puts what happened to requests into the store, in order, where nothing that follows does so anyway. */
export class AuditRecorder {
  readonly #user: User;
  #waiting: { session: string; entry: AuditEntry }[] = [];
  #recording = false;

  constructor(user: User) {
    this.#user = user;
  }

  /** No write to the store is under way. */
  get finished(): boolean {
    return this.#waiting.length === 0 && !this.#recording;
  }

  record(session: string, entry: AuditEntry): void {
    this.#waiting.push({ session, entry });
    if (this.#recording) return;
    this.#recording = true;
    // Also while the run is being cancelled: what has happened is to be proved.
    void CancellationScope.nonCancellable(async () => {
      try {
        while (this.#waiting.length > 0) await this.#recordSome();
      } finally {
        this.#recording = false;
      }
    });
  }

  async #recordSome(): Promise<void> {
    const session = this.#waiting[0]?.session ?? '';
    const other = this.#waiting.findIndex((one) => one.session !== session);
    const count = Math.min(other === -1 ? this.#waiting.length : other, MOST_AT_ONCE);
    const entries = this.#waiting.splice(0, count).map(({ entry }) => entry);
    const [first] = entries;
    const input: RecordEntriesInput = { v: PROTOCOL_VERSION, session, entries };
    const summary =
      entries.length === 1 ? `${first?.kind} · ${first?.requestId}` : `${entries.length} entries of requests`;
    try {
      const options = recordEntriesOptions(summary, turnPriority(this.#user));
      await scheduleActivity(RECORD_ENTRIES, [input], options);
    } catch (error) {
      // A failure for good isn't retried; the turn goes on without the record.
      log.warn('entries of requests were not recorded', { error });
    }
  }
}
