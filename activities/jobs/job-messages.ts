import { isAnySensitive } from '../../src/approvals/sensitive.ts';
import type { JobOutcome, JobReceipt, JobRow } from '../../src/contract/jobs.ts';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import { completeWait } from '../../src/jobs/complete-wait.ts';
import {
  type DeliveredJob,
  type DeliverJobInput,
  jobMessageId,
  type RecordJobInput,
  textOfJobBelow,
} from '../../src/protocol/job.ts';
import { NotDeployedHere } from '../agents.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { ownToolOfJob } from './job-hook-context.ts';
import { type OutcomeNotes, outcomeNotesIn } from './job-notes.ts';
import { tellProgress } from './job-of-call.ts';

/**
 * `holdfast.recordJob`: what a message to a turn that waits says of a job.
 *
 * @throws HOLDFAST_UNKNOWN_JOB where its call has none so far, or its session was deleted.
 */
export async function recordJob(
  dependencies: ActivityDependencies,
  input: RecordJobInput,
): Promise<JobReceipt> {
  const { jobId, callKey, message } = input;
  // Before the job ends, and with it perhaps the turn.
  if (message !== undefined) await dependencies.store.jobs.keepAnswer({ jobId }, message);
  const receipt = { v: PROTOCOL_VERSION, jobId, callKey };
  return { ...receipt, ...(await (input.willContinue ? updated : ended)(dependencies, input)) };
}

type Recorded = Pick<JobReceipt, 'status' | 'job' | 'reason'>;

async function updated(
  dependencies: ActivityDependencies,
  { jobId, response }: RecordJobInput,
): Promise<Recorded> {
  const { job, tells } = await dependencies.store.jobs.progress({ jobId, intermediate: response });
  if (tells) await tellProgress(dependencies, job);
  if (job.status === 'running') return { status: 'updated', job: job.status };
  return { status: 'refused', job: job.status, reason: 'the job has ended: an update says nothing any more' };
}

async function ended(
  { store, temporal }: ActivityDependencies,
  { jobId, response }: RecordJobInput,
): Promise<Recorded> {
  const failed = Object.hasOwn(response, 'error');
  const { first, repeated, job } = await store.jobs.end({
    jobId,
    status: failed ? 'failed' : 'completed',
    outcome: { response, failed },
    by: 'message',
  });
  // An earlier end may not have told the waiting activity.
  await completeWait(temporal(), job);
  return { status: repeated ? 'duplicate' : first ? 'ended' : 'known', job: job.status };
}

/** `holdfast.deliverJob`: tells a session its job's outcome, by a message that answers the call once more. */
export async function deliverJob(
  dependencies: ActivityDependencies,
  { jobId, ...caller }: DeliverJobInput,
): Promise<DeliveredJob> {
  const { store, sendMessage } = dependencies;
  const row = await store.jobs.find(jobId);
  if (row === undefined) return { v: PROTOCOL_VERSION, delivered: false, reason: 'deleted' };
  // By the input anybody's outcome could be told to anybody.
  const { session, callKey, app, userId, sessionId, callId: id, tool: name, agent, outcome, status } = row;
  const delivery = await store.jobs.delivery({ session, jobId });
  if (delivery !== 'due') return { v: PROTOCOL_VERSION, delivered: delivery === 'told', reason: delivery };
  if (outcome === undefined) return { v: PROTOCOL_VERSION, delivered: false, reason: 'open' };
  const messageId = jobMessageId(callKey);
  if ((await store.sessions.find({ app, userId, sessionId }))?.session !== session) {
    const response = isOpen(dependencies, row, caller) ? outcome.response : undefined;
    const message = { role: 'user', parts: [{ text: textOfJobBelow(row, response) }] };
    await sendMessage({ app, userId, sessionId, messageId, message });
    return { v: PROTOCOL_VERSION, delivered: true };
  }
  const known = await store.turns.findCall({ session, callKey });
  // The store puts the outcome in the place of other words about an ended job.
  const told: OutcomeNotes & Pick<JobOutcome, 'response'> = isOpen(dependencies, row, caller)
    ? { response: outcome.response, ...outcomeNotesIn(known?.once ?? {}, outcome.response) }
    : { response: { status } };
  const { response, parts = [] } = told;
  await sendMessage({
    ...{ app, userId, sessionId, agent, messageId },
    message: { role: 'user', parts: [{ functionResponse: { id, name, response } }, ...parts] },
  });
  return { v: PROTOCOL_VERSION, delivered: true };
}

/** Whether the tool's results may stand in a history; not where it isn't known. */
function isOpen(
  dependencies: ActivityDependencies,
  row: JobRow,
  place: Pick<DeliverJobInput, 'root' | 'within'>,
): boolean {
  try {
    const tool = ownToolOfJob(dependencies, { ...place, agent: row.agent }, row);
    return !isAnySensitive(tool?.durable.sensitive ?? true);
  } catch (error) {
    if (error instanceof NotDeployedHere) return false;
    throw error;
  }
}
