import type { HookCount } from '../setup/soak-agents.ts';
import { callsOfTranscript } from './check-transcript.ts';
import type { SessionEvidence, SoakEvidence } from './evidence.ts';
import { isHooked, messagesOf } from './plan.ts';
import { Findings, type Violation } from './violation.ts';

/** What callbacks and plugins count is counted once, however often they were asked, and they hear of each call. */
export function checkHooks(
  session: SessionEvidence,
  { effects, outages }: Pick<SoakEvidence, 'effects' | 'outages'>,
): Violation[] {
  const { played, events, state } = session;
  const { scenario } = played;
  const found = new Findings(scenario.sessionId);
  if (!isHooked(scenario)) return [];
  const turns = messagesOf(scenario).length;
  const steps = events.filter(({ kind }) => kind === 'model').length;
  const calls = callsOfTranscript(session);
  const counts: Record<HookCount, number> = {
    begun: turns,
    ended: turns,
    asked: steps,
    answered: steps,
    called: calls.length,
    completed: calls.length,
  };
  for (const [what, count] of Object.entries(counts)) {
    found.expectEqual(state[what], count, 'what user code counts is counted once', `${what} in the session`);
  }
  for (const { seq, kind, event } of events) {
    if (kind === 'message') continue;
    found.expectEqual(event.customMetadata, { seen: true }, 'plugins see each event', `event ${seq}`);
  }
  for (const { callKey } of calls) {
    const heard = effects.filter((effect) => effect.kind === 'heard' && effect.callKey === callKey);
    found.expect(heard.length > 0, 'plugins hear of each call', () => callKey);
    for (const [index, { at }] of heard.entries()) {
      const before = heard[index - 1];
      if (before === undefined) continue;
      found.expect(
        outages.touch(before.at, at),
        'plugins hear of a call again only behind a kill',
        () => `${callKey}: ${before.at} and ${at}`,
      );
    }
  }
  return found.violations;
}
