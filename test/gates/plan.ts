import { callKeyOf, invocationIdOf } from '../../src/protocol/identity.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { type Dooms, MOMENTS, type Moment } from '../setup/doom.ts';
import { GATED_APP, GATED_TOOLS, type GatedTool, type Payment } from '../setup/gated-apps.ts';
import { type SeededRandom, seededRandom } from '../setup/soak-random.ts';

/** Share of calls at which a worker dies; each death meets all sessions. */
const DOOMED = 0.3;

export interface PlannedPayment {
  tool: GatedTool;
  args: Payment;
  callKey: string;
}

/** A message that says what its model does. */
export interface GatedTurn {
  messageId: string;
  invocationId: string;
  /** Calls of each step before the final one. */
  steps: PlannedPayment[][];
}

/** What ends a scenario's first turn before its time, or does not. */
const BREAKS = ['none', 'interrupt', 'cancel', 'resend', 'replace'] as const;

export interface GatedScenario {
  names: SessionNames;
  turns: GatedTurn[];
  /** They are sent at once, and wait for each other in the session. */
  together: boolean;
  /**
   * `interrupt`: the turn is interrupted; `cancel`: so is the workflow; `resend`, `replace`: the workflow is terminated, then the
   * same message is sent again, or another one.
   */
  breaks: (typeof BREAKS)[number];
  /** Sent behind a turn that was terminated. */
  following: GatedTurn;
  /** So many acts come before what breaks it. */
  breakAfter: number;
  /** Where a worker dies, by call key. */
  dooms: Dooms;
}

/** Turns with gated calls, and what goes wrong with them; the same for the same seed. */
export function gatedScenarios(seed: number, count: number): GatedScenario[] {
  const random = seededRandom(`gates ${seed}`);
  const breaks: GatedScenario['breaks'][] = [];
  const moments: Moment[] = [];
  return Array.from({ length: count }, (_, index) => {
    if (breaks.length === 0) breaks.push(...random.shuffled(BREAKS));
    const names = { app: GATED_APP, userId: 'ada', sessionId: `s${index + 1}` };
    const turns = Array.from({ length: random.between(1, 2) }, (_one, n) =>
      turnOf(random, names, `m${n + 1}`),
    );
    const following = turnOf(random, names, 'following');
    const calls = [...turns, following].flatMap(({ steps }) => steps.flat());
    const dooms: Record<string, Moment> = {};
    for (const { callKey, tool } of calls) {
      if (moments.length === 0) moments.push(...random.shuffled(MOMENTS));

      if (!random.chance(DOOMED)) continue;
      const at = moments.findIndex((moment) => canReach(tool, moment));
      for (const moment of moments.splice(at, at === -1 ? 0 : 1)) dooms[callKey] = moment;
    }
    return {
      names,
      turns,
      following,
      dooms,
      together: random.chance(0.5),
      breaks: breaks.pop() ?? 'none',
      breakAfter: random.between(0, 6),
    };
  });
}

export function doomsOf(scenarios: readonly GatedScenario[]): Dooms {
  return Object.assign({}, ...scenarios.map(({ dooms }) => dooms));
}

function canReach(tool: GatedTool, moment: Moment): boolean {
  if (tool === 'look') return moment === 'effect' || moment.endsWith('settle');
  if (moment.endsWith('suspend')) return tool === 'pay_inside';
  if (moment.endsWith('ask')) return tool !== 'pay_inside';
  if (moment.endsWith('vote')) return tool === 'pay_quorum' || tool === 'pay_edited';
  return true;
}

function turnOf(random: SeededRandom, names: SessionNames, messageId: string): GatedTurn {
  const invocationId = invocationIdOf(names.app, names.userId, names.sessionId, messageId);
  let n = 0;
  const steps = Array.from({ length: random.between(1, 2) }, (_step, step) =>
    Array.from({ length: random.between(1, 3) }, (_call, index) => {
      n += 1;
      return {
        tool: random.pick(GATED_TOOLS),
        args: { n, amount: random.between(1, 100) },
        callKey: callKeyOf(invocationId, step + 1, index),
      };
    }),
  );
  return { messageId, invocationId, steps };
}
