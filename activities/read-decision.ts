import type { ReadDecision, ReadDecisionInput } from '../src/protocol/own-workflow.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import { attempt } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { reportUnexpected } from './logging.ts';

/** `holdfast.readDecision`: what became of a request, and who has decided. */
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
  if (row === undefined) return { v: PROTOCOL_VERSION, by: [] };
  const { status, votes, reason, args, editedArgs = args, answerPayload = row.payload } = row;
  const decided = row.history.findLast(({ kind }) => kind === status)?.by;
  const voters = votes.filter(({ confirmed }) => confirmed === (status === 'approved')).map(({ by }) => by);
  return {
    v: PROTOCOL_VERSION,
    status,
    by: voters.length > 0 || decided === undefined ? voters : [decided],
    ...(reason === undefined ? {} : { reason }),
    ...(answerPayload === undefined ? {} : { payload: answerPayload }),
    args: editedArgs,
  };
}
