import type { StoredEvent } from '../../contract/events.ts';
import type { GateKind, RequestStatus } from '../../contract/requests.ts';
import type { TurnUsage } from '../../contract/sessions.ts';
import type { PlannedCall } from '../../protocol/step.ts';
import type { InvocationOutcome } from '../../protocol/turn.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import type { CallAsPlanned } from './call-store.ts';

/** The session of an agent that a call has run: below the session of that call, and deleted with it. */
export interface ChildSession {
  /** The store's internal id. */
  session: string;
  /** Also the session's name, and its invocation's id. */
  runKey: string;
  /** Last seq of its transcript. */
  seq: number;
  status: InvocationOutcome['status'] | 'running';
  /** Names of the agents from the root to this one. */
  path: string[];
  /** The call, and the session that it belongs to. */
  callKey: string;
  parent: string;
}

/** Which of the agents below a root are looked for. */
export interface WhichChildren {
  /** Those whose calls belong to these steps: a session's id, and the step's key. */
  steps: readonly { session: string; step: string }[];
  /** Those of these run keys. */
  runKeys: readonly string[];
}

export interface FoundChildren {
  /** In the order in which they began. */
  children: ChildSession[];
  /** Whether they are all that there are below the root. */
  areAll: boolean;
}

/** The outcome of a call's agent. */
export interface ChildOutcome {
  session: string;
  outcome: InvocationOutcome;
  /** Texts of the last event with content, thoughts left out, joined by line breaks; undefined where there is none. */
  text: string | undefined;
  /** How the session's own state differs from what it began with: no `app:`, `user:` and `temp:` keys, which are shared or gone. */
  stateDelta: Record<string, unknown>;
  /** The newest versions that its events tell of. */
  artifactDelta: Record<string, number>;
}

/** A call that runs an agent, with all that says whether it may. */
export interface CallOfAgentFound {
  /** Of the caller. */
  app: string;
  userId: string;
  /** As its step has planned it; undefined where it has planned no such call. */
  planned?: PlannedCall;
  /** Its activity has begun it, and nothing has settled it. */
  isUnderWay: boolean;
  /** `hasBegun`: the call has begun with what was answered, all of its approvals proven. */
  requests: readonly { requestId: string; kind: GateKind; status: RequestStatus; hasBegun: boolean }[];
  /** As planned, or as an approval has them. */
  args?: Record<string, unknown>;
}

/** Agents that calls have run, and the sessions that they have below the root's. */
export interface ChildStore {
  /** The call whose agent's session this is; undefined for the session of a turn. */
  findPlanningCall(session: string): Promise<CallAsPlanned | undefined>;
  /** @throws StoreBehindHistory where the call's step is not in the store. */
  findCallOfAgent(call: { session: string; callKey: string }): Promise<CallOfAgentFound>;
  /**
   * The outcome of the agent that a call of `parent` has run. This ends a run without an outcome as interrupted, with all its open
   * calls, and the runs below it.
   *
   * @param parent the store's id of the caller's session.
   * @returns undefined where it has never begun.
   */
  endChild(parent: string, runKey: string): Promise<ChildOutcome | undefined>;
  /** The usage of runs by now, with all that they have run, in the order in which they are named. */
  usageOfRuns(runs: readonly { session: string; run: string }[]): Promise<TurnUsage[]>;
  /**
   * Sessions of agents' tools below this one, at any depth, in the order in which they began.
   *
   * @param names of the root.
   */
  listChildren(names: SessionNames): Promise<ChildSession[]>;
  /**
   * Some of the sessions that `listChildren` lists; of a root that has few, all of them.
   *
   * @param names of the root.
   */
  findChildren(names: SessionNames, which: WhichChildren): Promise<FoundChildren>;
  /**
   * The events of the latest step that each of a session's runs has among these events, in order: all that a run's
   * calls may be open in.
   *
   * @param read `from` and `to` are the first and the last seq.
   */
  readLatestSteps(read: SessionNames & { from: number; to: number }): Promise<StoredEvent[]>;
}
