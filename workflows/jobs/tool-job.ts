import {
  CancellationScope,
  CancelledFailure,
  defineQuery,
  log,
  scheduleActivity,
  setCurrentDetails,
  setHandler,
  type WorkflowInfo,
  workflowInfo,
} from '@temporalio/workflow';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { WORKFLOW_CHECKS } from '../../src/contract/workflow-checks.ts';
import { RESULTS } from '../../src/protocol/activity-results.ts';
import { callInput, placeInTree } from '../../src/protocol/call-input.ts';
import { jobWorkflowIdOf } from '../../src/protocol/identity.ts';
import type {
  DeliveredJob,
  DeliverJobInput,
  EndedDetachedJob,
  ToolJobStart,
  ToolJobStatus,
} from '../../src/protocol/job.ts';
import { DELIVER_JOB, RESERVED_PREFIX, STATUS_QUERY, TOOL_JOB } from '../../src/protocol/names.ts';
import { deliverJobOptions, turnPriority, usable } from '../activities.ts';
import { failure, refusal, taken } from '../arguments.ts';
import { jobLines } from '../turn/describe-turn.ts';
import { newerOf } from './job-book.ts';
import { handleJobs } from './job-handlers.ts';
import { JobWait, scheduleJobEnd } from './job-wait.ts';

const CANCELLED = 'cancelled: its workflow was cancelled';

/**
 * A job whose turn did not wait for it: waits for its outcome, and tells its session. Cancelling the workflow cancels the job.
 */
export async function toolJob(given: ToolJobStart): Promise<ToolJobStatus> {
  const start = checkedStart(given, workflowInfo());
  const { callKey, callId, tool, job } = start;
  const waiting = {
    call: start,
    schedule: start.schedule,
    job,
    detached: true,
    input: callInput(start, start),
    priority: turnPriority(start, start.priority),
  } as const;
  const wait = new JobWait(waiting);
  let isWaiting = true;
  let told: ToolJobStatus = {
    v: PROTOCOL_VERSION,
    ...{ jobId: job.jobId, callKey, callId, tool },
    since: Date.now(),
    until: wait.until,
    status: 'running',
  };
  const tell = (news: Partial<ToolJobStatus>) => {
    told = { ...told, ...news };
    setCurrentDetails(detailsOf(told));
  };
  const check = () => {
    if (!isWaiting) throw failure('NotPending', `nobody waits for ${job.jobId} any more`);
  };
  setHandler(defineQuery<ToolJobStatus>(STATUS_QUERY), () => told, {
    description: 'how the job stands: progress, deadline, outcome',
  });
  handleJobs(
    {
      progressed({ jobId, progress }) {
        if (jobId === job.jobId) tell({ progress: newerOf(told.progress, progress) });
      },
      check,
      expireNow() {
        check();
        wait.expire();
      },
    },
    (handle) => {
      try {
        handle();
      } catch (error) {
        log.warn(error instanceof Error ? error.message : String(error));
      }
    },
  );
  tell({});

  const over = await wait.over();
  // Nobody asks people for a call that is over.
  const why = over === 'resumes' ? 'lost' : over;
  isWaiting = false;
  const how = { why, ...(why === 'cancelled' ? { text: CANCELLED } : {}) };
  const ended = await scheduleJobEnd<EndedDetachedJob>(waiting, how);
  const { status } = usable(tool, RESULTS.detachedJob, ended);
  tell({ status });
  const { delivered, reason } = usable(DELIVER_JOB, RESULTS.deliveredJob, await deliver(start));
  tell({ delivered });
  if (reason !== undefined) log.info('the session is not told of the job', { reason });
  if (why === 'cancelled' && status === 'cancelled') throw new CancelledFailure('the job was cancelled');
  return told;
}

/** Also while the run is being cancelled: the session is told that, too. */
async function deliver(start: ToolJobStart): Promise<DeliveredJob> {
  const { app, userId, sessionId, session, turnWorkflowId, callKey, tool, job } = start;
  const input: DeliverJobInput = {
    v: PROTOCOL_VERSION,
    ...{ app, userId, sessionId, session, turnWorkflowId, callKey },
    ...placeInTree(start),
    jobId: job.jobId,
  };
  const options = deliverJobOptions(`${tool} · told to its session`, turnPriority(start, start.priority));
  return await CancellationScope.nonCancellable(() =>
    scheduleActivity<DeliveredJob>(DELIVER_JOB, [input], options),
  );
}

/** The Markdown of its current details. */
function detailsOf(told: ToolJobStatus): string {
  const { status, delivered } = told;
  const ended = status === 'running' ? [] : [status];
  const heard =
    delivered === undefined ? [] : [delivered ? 'its session was told' : 'its session was not told'];
  return [...jobLines(told), ...ended, ...heard].join('\n\n');
}

/**
 * Start arguments of any client.
 *
 * @throws ApplicationFailure of type `InvalidStart`
 */
function checkedStart(given: ToolJobStart, { workflowId }: WorkflowInfo): ToolJobStart {
  const type = 'InvalidStart';
  const start = taken<ToolJobStart>(WORKFLOW_CHECKS.toolJobStart, given, { of: TOOL_JOB, type });
  const { args, tool, turnWorkflowId, callKey } = start;
  if (tool.startsWith(RESERVED_PREFIX)) {
    throw refusal(TOOL_JOB, type, 'tool', `expected a tool's name, not one of ours`);
  }
  if (!('value' in args || 'ref' in args)) {
    throw refusal(TOOL_JOB, type, 'args', 'expected { value } or { ref }, got object');
  }
  const expected = jobWorkflowIdOf(turnWorkflowId, callKey);
  if (workflowId === expected) return start;
  const problem = `turnWorkflowId and callKey belong to the workflow id ${expected}`;
  throw refusal(TOOL_JOB, type, 'workflowId', problem);
}
