import type { GateKind } from '../../src/protocol/gate.ts';
import type { WaitingJob } from '../../src/protocol/job.ts';
import type { AgentWait, RunningCall, TurnState } from '../../src/protocol/turn.ts';
import type { PendingRequest } from '../approvals/request-book.ts';
import { type Children, isWaiting } from '../children/children.ts';

/** Of several the first one counts. */
export const WAITS: readonly [GateKind, AgentWait['status']][] = [
  ['confirmation', 'waiting_approval'],
  ['credential', 'waiting_credential'],
  ['input', 'waiting_input'],
];

/** What a turn under way does: it waits for people only where nothing runs, and for jobs only where it waits for nobody. */
export function stateOfWork(
  running: readonly RunningCall[],
  pending: readonly Pick<PendingRequest, 'gate'>[],
  jobs: readonly WaitingJob[],
  children: Pick<Children, 'running' | 'waitsFor'>,
): TurnState {
  const states = children.running.map(({ status }) => status);
  if (running.some(({ callKey }) => !children.waitsFor(callKey))) return 'running';
  if (states.some((state) => !isWaiting(state))) return 'running';
  const wait = WAITS.find(
    ([kind, state]) => pending.some(({ gate }) => gate.kind === kind) || states.includes(state),
  );
  return wait?.[1] ?? (jobs.length > 0 || states.includes('waiting_job') ? 'waiting_job' : 'running');
}
