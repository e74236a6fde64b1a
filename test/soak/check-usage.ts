import type { TurnUsage } from '../../src/contract/sessions.ts';
import type { SessionEvidence, SoakEvidence } from './evidence.ts';
import { messagesOf } from './plan.ts';
import { Findings, type Violation } from './violation.ts';

/** Model calls, in figures. */
export interface ModelFigures {
  /** Model steps in transcripts. */
  steps: number;
  /** Requests that the model answered beyond those. */
  extraCalls: number;
  /** Attempts that ended without a word, as the turns report them. */
  unknownCalls: number;
}

/** What turns say they used is what was used, or at least that. */
export function checkUsage(evidence: SoakEvidence): { figures: ModelFigures; violations: Violation[] } {
  const figures: ModelFigures = { steps: 0, extraCalls: 0, unknownCalls: 0 };
  const violations = evidence.sessions.flatMap((session) => {
    const found = new Findings(session.played.scenario.sessionId);
    const sums = { modelCalls: 0, totalTokens: 0, unknownCalls: 0 };
    for (const { turn } of messagesOf(session.played.scenario)) {
      const usage = checkTurn(session, turn.messageId, evidence, figures, found);
      sums.modelCalls += usage?.modelCalls ?? 0;
      sums.totalTokens += usage?.totalTokens ?? 0;
      sums.unknownCalls += usage?.unknownCalls ?? 0;
    }
    const { modelCalls, totalTokens, unknownCalls = 0 } = session.usage;
    found.expectEqual(
      { modelCalls, totalTokens, unknownCalls },
      sums,
      'a session has used what its turns have used',
      'usage of the session',
    );
    return found.violations;
  });
  return { figures, violations };
}

function checkTurn(
  { played, events, invocations }: SessionEvidence,
  messageId: string,
  { model, outages }: SoakEvidence,
  figures: ModelFigures,
  found: Findings,
): TurnUsage | undefined {
  const recorded = invocations.get(messageId);
  const usage = recorded?.outcome?.usage;
  if (recorded === undefined || usage === undefined) return undefined;
  const own = events.filter(({ event }) => event.invocationId === recorded.invocationId);
  const steps = own.filter(({ kind }) => kind === 'model');
  const answered = model.answered(messageId);
  const unknown = usage.unknownCalls ?? 0;
  figures.steps += steps.length;
  figures.extraCalls += answered - steps.length;
  figures.unknownCalls += unknown;
  const tokens = steps.reduce((sum, { event }) => sum + (event.usageMetadata?.totalTokenCount ?? 0), 0);
  found.expectEqual(usage.totalTokens, tokens, 'tokens are counted once', `tokens of ${messageId}`);
  const failedByModel = recorded.status === 'failed' ? 1 : 0;
  found.expectEqual(
    usage.modelCalls,
    steps.length + unknown + failedByModel,
    'model calls are those recorded and those unknown',
    `model calls of ${messageId}`,
  );
  // With the attempt that has opened it a later step may be forgotten, where the database server is killed.
  const forgotten = outages.isDown(['store'], played.from, played.to) ? outages.count('store') : 0;
  found.expect(
    answered <= usage.modelCalls + forgotten,
    'no model call is left out',
    () => `${messageId}: the model answered ${answered} times, the turn counts ${usage.modelCalls}`,
  );
  const calm = !outages.touch(played.from, played.to) && recorded.status !== 'interrupted';
  found.expect(
    !calm || (unknown === 0 && answered === steps.length),
    'nothing is unknown or asked twice where nothing was killed',
    () => `${messageId}: ${unknown} unknown, ${answered} answers for ${steps.length} steps`,
  );
  return usage;
}
