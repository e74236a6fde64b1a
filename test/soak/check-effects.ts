import { OWN_FAILURE } from '../setup/soak-agents.ts';
import type { SoakEffect } from '../setup/soak-effects.ts';
import { callsOfTranscript, type TranscriptCall } from './check-transcript.ts';
import type { SessionEvidence, SoakEvidence } from './evidence.ts';
import { Findings, type Violation } from './violation.ts';

/** What became of the effects, in figures. */
export interface EffectFigures {
  /** Calls that succeeded. */
  expected: number;
  lost: number;
  /** Effects that an attempt had again after one whose outcome nobody recorded. */
  repeated: number;
  /** Charges that were asked for again, under the same idempotency key, before their record. */
  chargesAskedAgain: number;
}

/** The ledger's clock has microseconds, ours milliseconds. */
const TICK = 2;

type Begun = Extract<SoakEffect, { kind: 'begun' }>;

/** Effects happened, belong to calls, and are repeated only where their record was lost. */
export function checkEffects(evidence: SoakEvidence): { figures: EffectFigures; violations: Violation[] } {
  const byCall = Map.groupBy(evidence.effects, ({ callKey }) => callKey);
  const figures: EffectFigures = { expected: 0, lost: 0, repeated: 0, chargesAskedAgain: 0 };
  const violations: Violation[] = [];
  const known = new Map<string, TranscriptCall>();
  for (const session of evidence.sessions) {
    const found = new Findings(session.played.scenario.sessionId);
    const calls = callsOfTranscript(session);
    for (const call of calls) {
      known.set(call.callKey, call);
      const effects = byCall.get(call.callKey) ?? [];
      checkOutcome(session, call, found);
      checkHappened(call, effects, evidence, figures, found);
      checkRepeats(session, effects, evidence, figures, found);
      checkOnce(session, call, effects, figures, found);
    }
    checkAlone(session, calls, byCall, found);
    violations.push(...found.violations);
  }
  const found = new Findings();
  for (const effect of evidence.effects) {
    const call = known.get(effect.callKey);
    const fits = effect.kind !== 'effect' || (effect.tool === call?.tool && effect.n === call.n);
    found.expect(call !== undefined && fits, 'every effect belongs to a call', () => JSON.stringify(effect));
  }
  for (const key of evidence.charges) {
    found.expect(known.get(key)?.tool === 'charge', 'every effect belongs to a call', () => `charge ${key}`);
  }
  return { figures, violations: [...violations, ...found.violations] };
}

/** Only a turn that was cut off has calls without the outcome that their tool gives. */
function checkOutcome({ invocations }: SessionEvidence, call: TranscriptCall, found: Findings): void {
  const { callKey, tool, messageId, error } = call;
  const cutOff = invocations.get(messageId)?.status === 'interrupted';
  if (error === undefined || cutOff) return;
  found.expect(
    tool === 'broken' && error.includes(OWN_FAILURE),
    'a call has its tool’s outcome',
    () => `${tool} ${callKey}: ${error}`,
  );
}

function checkHappened(
  { callKey, tool, success }: TranscriptCall,
  effects: readonly SoakEffect[],
  { charges }: SoakEvidence,
  figures: EffectFigures,
  found: Findings,
): void {
  if (success === undefined) return;
  figures.expected += 1;
  const happened = effects.some(({ kind, attempt }) => kind === 'effect' && attempt === success.attempt);
  const charged = tool !== 'charge' || charges.filter((key) => key === callKey).length === 1;
  if (!happened || !charged) figures.lost += 1;
  found.expect(happened, 'no effect is lost', () => `${tool} ${callKey}, attempt ${success.attempt}`);
  found.expect(charged, 'a charge is made once for its call', () => callKey);
}

function checkRepeats(
  { calls }: SessionEvidence,
  effects: readonly SoakEffect[],
  { outages }: SoakEvidence,
  figures: EffectFigures,
  found: Findings,
): void {
  const begun = effects.filter((effect): effect is Begun => effect.kind === 'begun');
  const happened = effects.filter(({ kind }) => kind === 'effect');
  figures.repeated += Math.max(0, happened.length - 1);
  for (const { callKey, attempt, asked } of begun) {
    const settledAt = calls.get(callKey)?.settledAt ?? Number.POSITIVE_INFINITY;
    found.expect(
      asked <= settledAt + TICK,
      'a settled call is not run again',
      () => `${callKey}: attempt ${attempt} asked at ${asked} and was let run, settled at ${settledAt}`,
    );
  }
  for (const [index, { callKey, attempt, at }] of begun.entries()) {
    const before = begun.slice(0, index).findLast((each) => each.attempt === attempt);
    // A database server that is killed may forget that a call of these tools has begun.
    found.expect(
      before === undefined || outages.touch(before.at, at),
      'attempts are counted',
      () => `${callKey}: two attempts ${attempt}, ${before?.at} and ${at}`,
    );
  }
  for (const [index, effect] of happened.entries()) {
    const before = happened[index - 1];
    if (before === undefined) continue;
    found.expect(
      outages.touch(before.at, effect.at),
      'an effect is repeated only behind a kill',
      () =>
        `${effect.callKey}: attempts ${before.attempt} and ${effect.attempt}, ${before.at} and ${effect.at}`,
    );
  }
}

function checkOnce(
  { calls }: SessionEvidence,
  { callKey, tool, success }: TranscriptCall,
  effects: readonly SoakEffect[],
  figures: EffectFigures,
  found: Findings,
): void {
  if (tool !== 'charge') return;
  const charged = effects.filter(({ kind }) => kind === 'charged');
  figures.chargesAskedAgain += Math.max(0, charged.length - 1);
  const recorded = effects.find(({ kind }) => kind === 'recorded');
  const kept = calls.get(callKey)?.once?.charge?.value as { attempt: number } | undefined;
  if (success !== undefined) {
    found.expectEqual(success.charge, kept, '`once` gives back what is recorded', `charge of ${callKey}`);
  }
  for (const { attempt, pid } of charged) {
    const begun = effects.find(
      (effect): effect is Begun =>
        effect.kind === 'begun' && effect.attempt === attempt && effect.pid === pid,
    );
    if (begun === undefined) continue;
    found.expect(
      recorded === undefined || begun.asked <= recorded.at,
      'what `once` has recorded is not done again',
      () => `${callKey}: attempt ${attempt} asked at ${begun.asked}, recorded at ${recorded?.at}`,
    );
    const other = charged.find((charge) => charge.attempt === kept?.attempt && charge.pid !== pid);
    found.expect(
      other === undefined || other.attempt > attempt,
      'what `once` has recorded is not done again',
      () =>
        `${callKey}: attempt ${attempt} has done what attempt ${kept?.attempt} of another process has recorded`,
    );
  }
}

/** Calls of a tool that isn't safe beside others see each other's writes, and begin when the one before has settled. */
function checkAlone(
  { calls, state }: SessionEvidence,
  transcript: readonly TranscriptCall[],
  byCall: ReadonlyMap<string, SoakEffect[]>,
  found: Findings,
): void {
  const counted = transcript.filter(({ tool, success }) => tool === 'alone' && success !== undefined);
  found.expectEqual(
    counted.map(({ success }) => success?.count),
    counted.map((_, index) => index + 1),
    'state counts each call once',
    'counts of the calls of `alone`',
  );
  found.expectEqual(state.count ?? 0, counted.length, 'state counts each call once', 'count in the session');
  for (const [index, { callKey, tool }] of transcript.entries()) {
    const before = transcript[index - 1];
    if (before === undefined || (tool !== 'alone' && before.tool !== 'alone')) continue;
    const begun = byCall.get(callKey)?.find((effect): effect is Begun => effect.kind === 'begun');
    const settledAt = calls.get(before.callKey)?.settledAt;
    if (begun === undefined || typeof settledAt !== 'number') continue;
    found.expect(
      begun.at + TICK >= settledAt,
      'an exclusive call runs alone',
      () => `${callKey} began at ${begun.at}, ${before.callKey} before it settled at ${settledAt}`,
    );
  }
}
