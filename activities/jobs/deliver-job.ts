import type { DeliveredJob, DeliverJobInput } from '../../src/protocol/job.ts';
import { jobMessageId, textOfJobBelow } from '../../src/protocol/job.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import type { JobOutcome, JobRow } from '../../src/store/store.ts';
import { attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { reportUnexpected } from '../logging.ts';
import { NotDeployedHere } from '../not-deployed-here.ts';
import { type OutcomeNotes, outcomeNotesIn } from './job-notes.ts';
import { ownToolOfJob } from './job-scene.ts';

/** `holdfast.deliverJob`: tells a session what its job came to, by a message that answers the call once more. */
export function deliverJob(
  dependencies: ActivityDependencies,
): (input: DeliverJobInput) => Promise<DeliveredJob> {
  return (input) => {
    const { app, sessionId, callKey } = input;
    return attempt(
      () => deliver(dependencies, input),
      reportUnexpected(dependencies, { app, sessionId, callKey }),
    );
  };
}

async function deliver(
  dependencies: ActivityDependencies,
  { session, jobId, callKey, app, userId, sessionId, ...caller }: DeliverJobInput,
): Promise<DeliveredJob> {
  const { store, sendMessage } = dependencies;
  const delivery = await store.jobDelivery({ session, jobId });
  if (delivery !== 'due') return { v: PROTOCOL_VERSION, delivered: delivery === 'told', reason: delivery };
  const row = await store.findJob(jobId);
  if (row?.outcome === undefined) return { v: PROTOCOL_VERSION, delivered: false, reason: 'deleted' };
  const { callId: id, tool: name, agent, outcome, status } = row;
  const messageId = jobMessageId(callKey);
  if ((await store.findSession({ app, userId, sessionId }))?.session !== session) {
    const response = isOpen(dependencies, row, caller) ? outcome.response : undefined;
    const message = { role: 'user', parts: [{ text: textOfJobBelow(row, response) }] };
    await sendMessage({ app, userId, sessionId, messageId, message });
    return { v: PROTOCOL_VERSION, delivered: true };
  }
  const known = await store.findCall({ session, callKey });
  // The store puts the outcome in the place of whatever is said of a job that has ended.
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
    return ownToolOfJob(dependencies, { ...place, agent: row.agent }, row)?.durable.sensitive === false;
  } catch (error) {
    if (error instanceof NotDeployedHere) return false;
    throw error;
  }
}
