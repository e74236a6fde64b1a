import type { Database } from './engine/database.ts';
import type { Notices } from './live/notices.ts';
import { PostgresJobs } from './postgres-jobs.ts';
import type { SessionNames } from './sessions/session-names.ts';
import type { StepUsage, StoredEvent } from './store.ts';
import type { CallAsPlanned } from './turns/call-store.ts';
import type {
  CallOfAgentFound,
  ChildOutcome,
  ChildSession,
  ChildStore,
  FoundChildren,
  WhichChildren,
} from './turns/child-store.ts';
import {
  endChild,
  findCallOfAgent,
  findChildren,
  listChildren,
  readLatestSteps,
  usageOfRuns,
} from './turns/children.ts';
import { findPlanningCall } from './turns/reads.ts';
import type { OpenStep } from './turns/step-opening.ts';

/** What the store knows of agents that calls have run. */
export class PostgresChildren extends PostgresJobs implements ChildStore {
  readonly #database: Database;
  readonly #notices: Notices;

  constructor(database: Database, notices: Notices) {
    super(database, notices);
    this.#database = database;
    this.#notices = notices;
  }

  findPlanningCall(session: string): Promise<CallAsPlanned | undefined> {
    return findPlanningCall(this.#database, session);
  }

  findCallOfAgent(call: { session: string; callKey: string }): Promise<CallOfAgentFound> {
    return findCallOfAgent(this.#database, call);
  }

  endChild(parent: string, runKey: string): Promise<ChildOutcome | undefined> {
    return endChild(this.#database, parent, runKey);
  }

  usageOfRuns(runs: readonly { session: string; run: string }[]): Promise<StepUsage[]> {
    return usageOfRuns(this.#database, runs);
  }

  listChildren(names: SessionNames): Promise<ChildSession[]> {
    return listChildren(this.#database, names);
  }

  findChildren(names: SessionNames, which: WhichChildren): Promise<FoundChildren> {
    return findChildren(this.#database, names, which);
  }

  readLatestSteps(read: SessionNames & { from: number; to: number }): Promise<StoredEvent[]> {
    return readLatestSteps(this.#database, read);
  }

  /** Tells those who follow the root. */
  protected tellChild(session: string, child: string, { parent, runKey }: OpenStep): void {
    if (parent === undefined) return;
    const { callKey, path } = parent;
    this.#notices.tell({ type: 'child', session, child, runKey, callKey, path });
  }
}
