import { shownArguments } from '../../src/plugins/withheld.ts';
import type { ReadDecision, ReadDecisionInput } from '../../src/protocol/own-workflow.ts';
import { PROTOCOL_VERSION } from '../../src/protocol/version.ts';
import { isRecord } from '../../src/schema/kind-of.ts';
import { attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { reportUnexpected } from '../logging.ts';
import { isConfirmAgent } from './confirm-agent.ts';

/** `holdfast.readDecision`: what became of a workflow's own question, and who has decided. */
export function readDecision(
  dependencies: ActivityDependencies,
): (input: ReadDecisionInput) => Promise<ReadDecision> {
  return (input) => {
    const { app, sessionId } = input;
    return attempt(() => read(dependencies, input), reportUnexpected(dependencies, { app, sessionId }));
  };
}

async function read(
  { store }: ActivityDependencies,
  { app, userId, sessionId, requestId }: ReadDecisionInput,
): Promise<ReadDecision> {
  const session = await store.findSession({ app, userId, sessionId });
  const row = session && (await store.findRequest(session.session, requestId));
  // Whoever can write to Temporal may ask, and what other requests are about is the approvers' affair.
  if (row === undefined || !isConfirmAgent(row.agent)) return { v: PROTOCOL_VERSION, by: [] };
  const { status, votes, reason, args, editedArgs = args, answerPayload = row.payload } = row;
  const shown = shownArguments(row, editedArgs);
  const decided = row.history.findLast(({ kind }) => kind === status)?.by;
  const voters = votes.filter(({ confirmed }) => confirmed === (status === 'approved')).map(({ by }) => by);
  return {
    v: PROTOCOL_VERSION,
    status,
    by: voters.length > 0 || decided === undefined ? voters : [decided],
    ...(reason === undefined ? {} : { reason }),
    ...(answerPayload === undefined ? {} : { payload: answerPayload }),
    ...(isRecord(shown) ? { args: shown } : {}),
  };
}
