import { callKeyOf, invocationIdOf } from '../../src/protocol/identity.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { Dooms } from '../setup/doom.ts';
import { JOB_APP, JOB_MOMENTS, JOB_TOOLS, type JobMoment, type JobToolName } from '../setup/job-apps.ts';
import { type SeededRandom, seededRandom } from '../setup/soak-random.ts';
import type { PlannedOrder } from './model.ts';

/** Share of calls at which a worker dies; each death meets all sessions. */
const DOOMED = 0.3;

/** What ends a scenario's first turn before its time, or does not. */
const BREAKS = ['none', 'interrupt', 'cancel', 'resend', 'replace'] as const;

export interface PlannedCall extends PlannedOrder {
  callKey: string;
}

/** A message that says what its model orders. */
export interface OrderingTurn {
  messageId: string;
  invocationId: string;
  /** Calls of each step before the final one. */
  steps: PlannedCall[][];
}

export interface JobScenario {
  names: SessionNames;
  turns: OrderingTurn[];
  /**
   * `interrupt`: the first turn is interrupted; `cancel`: so is the workflow; `resend`, `replace`: the workflow is terminated, then
   * the same message is sent again, or another one.
   */
  breaks: (typeof BREAKS)[number];
  /** Sent in the place of a turn that was terminated. */
  following: OrderingTurn;
  /** Sent when all has ended: its model is told what has become of everything. */
  closing: OrderingTurn;
  /** So many acts come before what breaks it. */
  breakAfter: number;
  /** Where a worker dies, by call key. */
  dooms: Dooms<JobMoment>;
}

/** Turns with long-running calls, and what goes wrong with them; the same for the same seed. */
export function jobScenarios(seed: number, count: number): JobScenario[] {
  const random = seededRandom(`jobs ${seed}`);
  const breaks: JobScenario['breaks'][] = [];
  const moments: JobMoment[] = [];
  return Array.from({ length: count }, (_, index) => {
    if (breaks.length === 0) breaks.push(...random.shuffled(BREAKS));
    const names = { app: JOB_APP, userId: 'ada', sessionId: `s${index + 1}` };
    let n = 0;
    const next = () => {
      n += 1;
      return n;
    };
    const turns = Array.from({ length: random.between(1, 2) }, (_one, nth) =>
      turnOf(random, names, `m${nth + 1}`, next),
    );
    const following = turnOf(random, names, 'following', next);
    const dooms: Record<string, JobMoment> = {};
    for (const { callKey, name, args } of [...turns, following].flatMap(({ steps }) => steps.flat())) {
      if (moments.length === 0) moments.push(...random.shuffled(JOB_MOMENTS));
      if (!random.chance(DOOMED)) continue;
      const at = moments.findIndex((moment) => canReach(name, args.goesOn === true, moment));
      for (const moment of moments.splice(at, at === -1 ? 0 : 1)) dooms[callKey] = moment;
    }
    const closing = { ...turnNames(names, 'closing'), steps: [] };
    const breaksBy = breaks.pop() ?? 'none';
    return { names, turns, following, closing, dooms, breaks: breaksBy, breakAfter: random.between(0, 8) };
  });
}

export function doomsOf(scenarios: readonly JobScenario[]): Dooms<JobMoment> {
  return Object.assign({}, ...scenarios.map(({ dooms }) => dooms));
}

function isInProcess(name: JobToolName): boolean {
  return name.startsWith('build');
}

function canReach(name: JobToolName, goesOn: boolean, moment: JobMoment): boolean {
  if (moment.endsWith('poll')) return name === 'watch';
  if (moment.endsWith('detach') || moment.endsWith('deliver')) return goesOn;
  if (moment.endsWith('park')) return !goesOn && !isInProcess(name);
  if (moment.endsWith('wait')) return !isInProcess(name);
  return true;
}

function turnNames({ app, userId, sessionId }: SessionNames, messageId: string) {
  return { messageId, invocationId: invocationIdOf(app, userId, sessionId, messageId) };
}

function turnOf(
  random: SeededRandom,
  names: SessionNames,
  messageId: string,
  next: () => number,
): OrderingTurn {
  const turn = turnNames(names, messageId);
  const steps = Array.from({ length: random.between(1, 2) }, (_step, step) =>
    Array.from({ length: random.between(1, 3) }, (_call, index) => {
      const name = random.pick(JOB_TOOLS);
      const goesOn = !isInProcess(name) && random.chance(0.4);
      const holds = !isInProcess(name) && random.chance(0.2);
      return {
        name,
        args: { n: next(), ...(goesOn ? { goesOn } : {}), ...(holds ? { holds } : {}) },
        callKey: callKeyOf(turn.invocationId, step + 1, index),
      };
    }),
  );
  return { ...turn, steps };
}
