import { CancellationScope, log, scheduleActivity, startChild, workflowInfo } from '@temporalio/workflow';
import type { RememberSession } from '../src/contract/sessions.ts';
import { PROTOCOL_VERSION } from '../src/contract/version.ts';
import { WORKFLOW_CHECKS } from '../src/contract/workflow-checks.ts';
import { REMEMBER_SESSION, REMEMBER_SESSION_WORKFLOW } from '../src/protocol/names.ts';
import { BESIDE, rememberSessionOptions } from './activities.ts';
import { taken } from './arguments.ts';

/** Adds a session to the memory of its app, beside its turns: no turn waits for it. */
export async function rememberSession(given: RememberSession): Promise<void> {
  const input = taken<RememberSession>(WORKFLOW_CHECKS.rememberStart, given, {
    of: REMEMBER_SESSION_WORKFLOW,
    type: 'InvalidStart',
  });
  await scheduleActivity(REMEMBER_SESSION, [input], rememberSessionOptions(input.sessionId));
}

/**
 * Starts {@link rememberSession} for a turn that ends now, and waits until it has started: the server starts none for a workflow that has ended.
 * If it can't be started, the next turn's one reads what is left.
 */
export async function startToRemember(
  { app, userId, sessionId }: Omit<RememberSession, 'v'>,
  invocationId: string,
): Promise<void> {
  const start: RememberSession = { v: PROTOCOL_VERSION, app, userId, sessionId };
  const options = {
    workflowId: `${workflowInfo().workflowId}/memory-${invocationId}`,
    args: [start],
    ...BESIDE,
  };
  try {
    await CancellationScope.nonCancellable(() => startChild(REMEMBER_SESSION_WORKFLOW, options));
  } catch (error) {
    log.warn('the session is added to the memory by its next turn', { error });
  }
}
