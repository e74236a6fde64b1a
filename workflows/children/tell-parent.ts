import { CancellationScope, condition, getExternalWorkflowHandle, workflowInfo } from '@temporalio/workflow';
import type { ChildStart } from '../../src/protocol/agent-run.ts';
import { childWorkflowIdOf } from '../../src/protocol/identity.ts';
import { CHILD_STATE } from '../../src/protocol/names.ts';
import type { AgentWait, ChildState, TurnState, TurnStatus } from '../../src/protocol/turn.ts';
import type { Requests } from '../approvals/requests.ts';
import type { Jobs } from '../jobs/jobs.ts';
import { WAITS } from '../turn/waiting-status.ts';
import { type Children, isWaiting, MOST_WAITS } from './children.ts';

/** What a child does, and waits for. */
export interface ToldWork {
  state: TurnStatus['status'];
  requests: Pick<Requests, 'pending'>;
  jobs: Pick<Jobs, 'waiting'>;
  children: Pick<Children, 'waits' | 'more'>;
}

/** Tells the workflow that waits for this one whenever it begins to wait for people or jobs, when it goes on, and what waits below it. */
export async function tellParent(child: ChildStart, work: ToldWork): Promise<void> {
  const { parent } = workflowInfo();
  if (parent === undefined) return;
  let told = 'running';
  await CancellationScope.nonCancellable(async () => {
    for (;;) {
      await condition(() => isToTell(work.state) && keyOf(stateOf(child, work)) !== told);
      const given: ChildState = { ...stateOf(child, work), since: Date.now() };
      told = keyOf(given);
      try {
        await getExternalWorkflowHandle(parent.workflowId, parent.runId).signal(CHILD_STATE, given);
      } catch {
        // Whoever waited has ended, or has gone on in another run, which sees the child's end.
      }
    }
  });
}

function isToTell(state: TurnStatus['status']): state is TurnState {
  return state === 'running' || isWaiting(state);
}

function stateOf(child: ChildStart, work: ToldWork): Omit<ChildState, 'since'> {
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

/** Equal where nothing is new that people want to know. */
function keyOf({ status, waits = [], more }: Omit<ChildState, 'since'>): string {
  const names = waits.map(({ runKey, requestId, tool }) => requestId ?? `${runKey} ${tool}`);
  return [status, ...names, ...(more === undefined ? [] : [more])].join(' ');
}

function waitsOf(
  { runKey, path, rootWorkflowId }: ChildStart,
  { requests, jobs, children }: ToldWork,
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
