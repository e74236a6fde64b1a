import { DefaultFailureConverter, type Payload } from '@temporalio/common';
import { encode } from '@temporalio/common/lib/encoding.js';
import { type ActivateInput, patched, type WorkflowInterceptors, workflowInfo } from '@temporalio/workflow';
import type { ErrorCode } from '../src/contract/error-codes.ts';
import { isUndecodable, type Undecodable, undecodableText } from '../src/contract/undecodable.ts';
import { AGENT_TURN } from '../src/protocol/names.ts';
import { lookAhead, payloadConverter } from './payload-converter.ts';

type Job = NonNullable<ActivateInput['activation']['jobs']>[number];
type Result = NonNullable<NonNullable<Job['resolveActivity']>['result']>;
type Failure = NonNullable<NonNullable<Result['failed']>['failure']>;

/** Type of the failure that takes the place of a result that can't be decoded. */
const UNDECODABLE_RESULT = 'UndecodableResult' satisfies ErrorCode;

/** An encoding that nobody decodes. */
const REFUSED = encode('holdfast/refused');

/** Of Temporal's RetryState. */
const NON_RETRYABLE_FAILURE = 2;

/** @public Temporal's worker takes this export from the bundle. */
export const interceptors = (): WorkflowInterceptors => ({
  internals: [
    {
      activate(input, next) {
        for (const job of input.activation.jobs ?? []) refuse(job);
        next(input);
      },
    },
  ],
});

/**
 * A later worker with the codec may decode, in a replay, a payload that an earlier worker couldn't decode and refused. A marker in
 * the history names the refused payload, so that each replay refuses it, too. `patched()` writes and reads the marker here; it
 * doesn't tell releases apart.
 */
function refuse({ signalWorkflow, resolveActivity, resolveChildWorkflowExecution }: Job): void {
  if (signalWorkflow) {
    const payloads = signalWorkflow.input ?? [];
    const unread = payloads.some((payload) => unreadOf(payload) !== undefined);
    if (!isRefused(`signal-${signalWorkflow.originatingEventId}`, unread) || unread) return;
    signalWorkflow.input = payloads.map(() => ({ metadata: { encoding: REFUSED } }));
  } else if (resolveActivity?.result) {
    refuseResult(`activity-${resolveActivity.seq}`, resolveActivity.result, {
      activityFailureInfo: { activityType: { name: 'activity' }, retryState: NON_RETRYABLE_FAILURE },
    });
  } else if (resolveChildWorkflowExecution?.result) {
    refuseResult(`child-${resolveChildWorkflowExecution.seq}`, resolveChildWorkflowExecution.result, {
      childWorkflowExecutionFailureInfo: {
        workflowType: { name: AGENT_TURN },
        workflowExecution: {},
        retryState: NON_RETRYABLE_FAILURE,
      },
    });
  }
}

/** A workflow can't go on with an unknown result: its activity, or its child, has failed. */
function refuseResult(id: string, result: Result, info: Failure): void {
  const problem = problemOf(result);
  if (!isRefused(id, problem !== undefined)) return;
  const message = `its result is ${problem ?? 'one that was refused before'}`;
  delete result.completed;
  delete result.cancelled;
  result.failed = {
    failure: {
      ...info,
      message,
      cause: { message, applicationFailureInfo: { type: UNDECODABLE_RESULT, nonRetryable: true } },
    },
  };
}

function isRefused(id: string, unread: boolean): boolean {
  if (!unread && !workflowInfo().unsafe.isReplaying) return false;
  return patched(`undecodable-${id}`) || unread;
}

function problemOf({ completed, failed, cancelled }: Result): string | undefined {
  if (completed?.result) {
    const unread = unreadOf(completed.result);
    return unread === undefined ? undefined : undecodableText(unread);
  }
  const failure = failed?.failure ?? cancelled?.failure;
  if (!failure) return undefined;
  try {
    new DefaultFailureConverter().failureToError(failure, payloadConverter);
    return undefined;
  } catch {
    return 'a failure without the fields of its kind';
  }
}

function unreadOf(payload: Payload): Undecodable | undefined {
  const value = lookAhead(payload);
  return isUndecodable(value) ? value : undefined;
}
