import { CancellationScope, condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import { MOST_WAITS } from '../../src/contract/lists.ts';
import type { GateKind } from '../../src/contract/requests.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import type { ChildStart } from '../../src/protocol/agent-run.ts';
import { childWorkflowIdOf } from '../../src/protocol/identity.ts';
import { defined } from '../../src/protocol/json.ts';
import { CHILD_STATE } from '../../src/protocol/names.ts';
import type { AgentWait, ChildState, RunningChild, TurnState, TurnStatus } from '../../src/protocol/turn.ts';
import type { Requests } from '../approvals/requests.ts';
import { taken } from '../arguments.ts';
import type { Jobs } from '../jobs/jobs.ts';

/** A child that begins. */
export interface BegunChild {
  runKey: string;
  agent: string;
  path: readonly string[];
  /** The call whose agent it is. */
  callKey?: string;
}

interface KnownChild extends RunningChild {
  callKey?: string;
}

/** The agents that run as children of this workflow: what they do, as far as they have said so. */
export class Children {
  readonly #rootWorkflowId: string;
  readonly #running = new Map<string, KnownChild>();
  /** Asked for with each activation, and long where many run at once. */
  #shown: RunningChild[] | undefined;

  constructor(rootWorkflowId: string) {
    this.#rootWorkflowId = rootWorkflowId;
  }

  get running(): RunningChild[] {
    this.#shown ??= [...this.#running.values()].map(({ callKey: _callKey, ...child }) => child);
    return this.#shown;
  }

  /** The known waits below this workflow, at any depth. */
  get waits(): AgentWait[] {
    return [...this.#running.values()].flatMap(({ waits = [] }) => waits);
  }

  /** How many more of them there are. */
  get more(): number {
    return [...this.#running.values()].reduce((sum, { more = 0 }) => sum + more, 0);
  }

  has(runKey: string): boolean {
    return this.#running.has(runKey);
  }

  /** Whether the agent of a call does nothing but wait. */
  waitsFor(callKey: string): boolean {
    return [...this.#running.values()].some((child) => child.callKey === callKey && isWaiting(child.status));
  }

  began({ runKey, agent, path, callKey }: BegunChild): void {
    this.#running.set(runKey, {
      runKey,
      agent,
      path,
      workflowId: childWorkflowIdOf(this.#rootWorkflowId, runKey),
      status: 'running',
      since: Date.now(),
      ...defined({ callKey }),
    });
    this.#shown = undefined;
  }

  ended(runKey: string): void {
    this.#running.delete(runKey);
    this.#shown = undefined;
  }

  /**
   * Takes a child's report of its state.
   *
   * @throws ApplicationFailure of type `InvalidState`
   */
  told(given: ChildState): void {
    const {
      runKey,
      status,
      since,
      waits = [],
      more = 0,
    } = taken(WORKFLOW_CHECKS.childState, given, {
      of: CHILD_STATE,
      type: 'InvalidState',
    });
    const child = this.#running.get(runKey);
    if (child === undefined) return;
    const { tool: _tool, waits: _waits, more: _more, ...rest } = child;
    const own = waits.find((wait) => wait.runKey === runKey);
    this.#running.set(runKey, {
      ...rest,
      status,
      since,
      ...(own === undefined ? {} : { tool: own.tool }),
      ...(waits.length === 0 ? {} : { waits }),
      ...(more > 0 ? { more } : {}),
    });
    this.#shown = undefined;
  }
}

/** The status of a turn that waits for people; the first match counts. */
export const WAITS: readonly [GateKind, AgentWait['status']][] = [
  ['confirmation', 'waiting_approval'],
  ['credential', 'waiting_credential'],
  ['input', 'waiting_input'],
];

const WAITING: readonly TurnState[] = [...WAITS.map(([, state]) => state), 'waiting_job'];

export function isWaiting(state: TurnState): state is AgentWait['status'] {
  return WAITING.includes(state);
}

/** The state of a child, and its waits. */
export interface ChildWork {
  state: TurnStatus['status'];
  requests: Pick<Requests, 'pending'>;
  jobs: Pick<Jobs, 'waiting'>;
  children: Pick<Children, 'waits' | 'more'>;
}

/** Signals the parent whenever this workflow begins to wait for people or jobs, goes on, or has other waits below it. */
export async function signalParent(child: ChildStart, work: ChildWork): Promise<void> {
  const { parent } = workflowInfo();
  if (parent === undefined) return;
  let told = 'running';
  await CancellationScope.nonCancellable(async () => {
    for (;;) {
      await condition(() => isReported(work.state) && keyOf(stateOf(child, work)) !== told);
      const given: ChildState = { ...stateOf(child, work), since: Date.now() };
      told = keyOf(given);
      try {
        await getExternalWorkflowHandle(parent.workflowId, parent.runId).signal(CHILD_STATE, given);
      } catch {
        // The parent has ended, or has gone on in another run, which sees the child's end.
      }
    }
  });
}

function isReported(state: TurnStatus['status']): state is TurnState {
  return state === 'running' || isWaiting(state);
}

function stateOf(child: ChildStart, work: ChildWork): Omit<ChildState, 'since'> {
  const waits = waitsOf(child, work);
  const more = work.children.more + Math.max(waits.length - MOST_WAITS, 0);
  return {
    runKey: child.runKey,
    path: child.path,
    status: work.state,
    ...(waits.length === 0 ? {} : { waits: waits.slice(0, MOST_WAITS) }),
    ...(more === 0 ? {} : { more }),
  };
}

/** Two states with the same key are the same to people. */
function keyOf({ status, waits = [], more }: Omit<ChildState, 'since'>): string {
  const names = waits.map(({ runKey, requestId, tool }) => requestId ?? `${runKey} ${tool}`);
  return [status, ...names, ...(more === undefined ? [] : [more])].join(' ');
}

function waitsOf(
  { runKey, path, rootWorkflowId }: ChildStart,
  { requests, jobs, children }: ChildWork,
): AgentWait[] {
  const own = { runKey, workflowId: childWorkflowIdOf(rootWorkflowId, runKey), path };
  return [
    ...requests.pending.map(({ call, gate, since }) => {
      const status = WAITS.find(([kind]) => kind === gate.kind)?.[1] ?? 'waiting_approval';
      const { callId, tool } = call;
      return { ...own, path: call.path, status, tool, callId, requestId: gate.requestId, since };
    }),
    ...jobs.waiting.map(({ tool, callId, since }) => ({
      ...own,
      status: 'waiting_job' as const,
      tool,
      callId,
      since,
    })),
    ...children.waits,
  ];
}
