import { jobIdOf } from '../../src/protocol/identity.ts';
import type { SettleStepInput, UnsettledCall } from '../../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { callLogger } from '../logging.ts';
import { argumentsIn } from '../tool/settle-unsettled.ts';
import { describeFailure, storeErrorIn } from '../tool/tool-failure.ts';
import { JobScene } from './job-scene.ts';
import { tellCancelled } from './tell-cancelled.ts';

type Call = Pick<UnsettledCall, 'callKey' | 'callId'>;

/**
 * Calls whose jobs have ended with their turn, or whose last attempt was lost behind the end of their job: whoever does it is told
 * that its outcome is not wanted, unless that attempt has done so.
 */
export async function tellUnwantedJobs(
  dependencies: ActivityDependencies,
  { calls, ...input }: Pick<SettleStepInput, 'session' | 'runKey' | 'agent'> & { calls: readonly Call[] },
  current: Attempt,
): Promise<void> {
  for (const call of calls) {
    // Code that the model wrote has no job.
    if (call.callId !== '') await tell(dependencies, input, call, current);
  }
}

async function tell(
  dependencies: ActivityDependencies,
  { session, runKey, agent }: Pick<SettleStepInput, 'session' | 'runKey' | 'agent'>,
  { callKey, callId }: Call,
  current: Attempt,
): Promise<void> {
  if (session === undefined) return;
  const { store } = dependencies;
  const row = await store.findJob(jobIdOf(session, callKey));
  if (row === undefined || (row.status !== 'cancelled' && row.status !== 'timed_out')) return;
  const { app, userId, sessionId } = row;
  const call = { v: PROTOCOL_VERSION, session, runKey, callKey, callId, agent };
  try {
    const planned = await store.callArguments({ session, callKey });
    const value = planned ?? argumentsIn(await eventsOf(dependencies, { app, userId, sessionId }), callId);
    const scene = await JobScene.open(dependencies, { ...call, args: { value } }, row, current);
    await tellCancelled(dependencies, scene, current);
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    if (storeErrorIn(error) !== undefined) throw error;
    callLogger(dependencies, { app, sessionId, callKey, agent, tool: row.tool }).warn(
      'nobody was told that a job is not wanted any more',
      dependencies.conceal ? {} : { problem: describeFailure(error).message },
    );
  }
}

async function eventsOf(
  { store }: Pick<ActivityDependencies, 'store'>,
  names: { app: string; userId: string; sessionId: string },
) {
  return (await store.readEvents({ ...names, limit: Number.MAX_SAFE_INTEGER })).map(({ event }) => event);
}
