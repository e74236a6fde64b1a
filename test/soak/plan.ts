import type { SoakTool } from '../setup/soak-agents.ts';
import { type SeededRandom, seededRandom } from '../setup/soak-random.ts';

/** One call that the model asks for. */
export interface PlannedSoakCall {
  tool: SoakTool;
  n: number;
  /** Milliseconds before and after the tool's effect. */
  before: number;
  after: number;
  /** Characters of its arguments and of its result. */
  send: number;
  give: number;
}

/** What the model of a turn does; its message says it, so that the model is deterministic by its contents. */
export interface SoakTurn {
  messageId: string;
  /** Lists of calls, one for each step before the final one. */
  steps: PlannedSoakCall[][];
  /** The model fails so often before it answers in this step, counted from 0. */
  outage?: { step: number; status: 429 | 503; times: number };
}

/** A message to a session, as it is sent. */
export interface SoakMessage {
  turn: SoakTurn;
  policy?: 'interrupt';
  /** Sent by two clients at once. */
  twice: boolean;
  /** Milliseconds between the message before and this one. */
  pause: number;
}

/**
 * What happens to a session. `apart`: one message after the other is answered. `queued`: the first one is being answered
 * while the others come. `cancelled`, `terminated`: so is the workflow, while it answers the first one.
 */
export type ScenarioKind = 'apart' | 'queued' | 'cancelled' | 'terminated';

export interface Scenario {
  kind: ScenarioKind;
  sessionId: string;
  /** What its turns are made of, for the reader of a report. */
  shape: string;
  messages: SoakMessage[];
  /** Sent when the workflow was cancelled or terminated. */
  following?: SoakMessage;
  /** Milliseconds from the first model call until the workflow is cancelled or terminated. */
  stopAfter: number;
  /** Who sent the queued messages learns that they wait, and never asks again. */
  quiet: boolean;
}

/** Whether the scenario is played in the app with callbacks and a plugin. */
export function isHooked({ sessionId }: Pick<Scenario, 'sessionId'>): boolean {
  return sessionId.endsWith('-hooked');
}

/** Every message of a scenario. */
export function messagesOf({ messages, following }: Scenario): SoakMessage[] {
  return following === undefined ? messages : [...messages, following];
}

const ENDS = 3;

/** A model that fails this often fails the turn: as often as a failure is tried again. */
const MODEL_GIVES_UP = 3;

/** Whether the model of a turn fails for ever. */
export function failsForEver({ outage }: SoakTurn): boolean {
  return outage?.status === 503 && outage.times >= MODEL_GIVES_UP;
}

type Recipe = (make: Maker) => Omit<Scenario, 'sessionId' | 'shape' | 'stopAfter' | 'quiet'>;

const RECIPES: Record<string, Recipe> = {
  plain: (make) => apart([make.turn([]), make.turn([])]),
  sequential: (make) =>
    apart([make.turn(make.steps(make.random.between(5, 9), 1, ['note', 'charge', 'inline_note']))]),
  parallel: (make) =>
    apart([make.turn(make.steps(2, make.random.between(8, 16), ['note', 'charge', 'inline_note', 'flaky']))]),
  large: (make) => apart([make.turn(make.largeSteps())]),
  erring: (make) => apart([make.turn([...make.steps(2, 3, ['flaky', 'broken', 'note'])]), make.turn([])]),
  guarded: (make) => apart([make.turn(make.steps(3, 3, ['charge']))]),
  alone: (make) => apart([make.turn(make.steps(3, 4, ['alone', 'note', 'alone']))]),
  hooked: (make) =>
    apart([make.turn(make.steps(3, 1, ['stream', 'charge', 'flaky', 'note'])), make.turn([])]),
  local: (make) => apart([make.turn(make.steps(4, 4, ['inline_note']))]),
  waiting: (make) =>
    apart([
      make.turn(make.steps(3, 1, ['note']), { step: 2, status: 429, times: 2 }),
      make.turn([], { step: 0, status: 503, times: 2 }),
    ]),
  failing: (make) =>
    queued(
      [
        make.turn(make.steps(1, 2, ['note', 'charge']), {
          step: 1,
          status: 503,
          times: Number.MAX_SAFE_INTEGER,
        }),
        make.turn(make.steps(1, 1, ['note'])),
      ],
      make.random,
    ),
  queued: (make) =>
    queued([make.turn(make.slowSteps()), ...make.shortTurns(make.random.between(2, 5))], make.random),
  interrupting: (make) => {
    const scenario = queued(
      [make.turn(make.slowSteps()), ...make.shortTurns(make.random.between(2, 3))],
      make.random,
    );
    const last = scenario.messages.at(-1);
    if (last !== undefined)
      Object.assign(last, { policy: 'interrupt', pause: make.random.between(0, 2_000) });
    return scenario;
  },
  cancelled: (make) => stopped('cancelled', make),
  terminated: (make) => stopped('terminated', make),
};

/** Scenarios without end: each round has all of them, in an order of its own. */
export function* scenarios(seed: number): Generator<Scenario, never> {
  const random = seededRandom(`plan ${seed}`);
  for (let number = 1; ; ) {
    for (const shape of random.shuffled(Object.keys(RECIPES))) {
      const sessionId = `s${number++}-${shape}`;
      const recipe = RECIPES[shape];
      if (recipe === undefined) throw new Error(`there is no recipe for ${shape}`);
      const scenario = recipe(new Maker(random, sessionId));
      yield { ...scenario, sessionId, shape, stopAfter: random.between(0, 1_500), quiet: random.chance(0.5) };
    }
  }
}

class Maker {
  readonly random: SeededRandom;
  readonly #sessionId: string;
  #turns = 0;
  #calls = 0;

  constructor(random: SeededRandom, sessionId: string) {
    this.random = random;
    this.#sessionId = sessionId;
  }

  turn(steps: PlannedSoakCall[][], outage?: SoakTurn['outage']): SoakTurn {
    this.#turns += 1;
    this.#calls = 0;
    return { messageId: `${this.#sessionId}.m${this.#turns}`, steps, ...(outage ? { outage } : {}) };
  }

  steps(count: number, calls: number, tools: readonly SoakTool[]): PlannedSoakCall[][] {
    return Array.from({ length: count }, () =>
      Array.from({ length: calls }, () => this.#call(this.random.pick(tools))),
    );
  }

  slowSteps(): PlannedSoakCall[][] {
    return Array.from({ length: this.random.between(4, 6) }, () => [
      { ...this.#call('note'), before: this.random.between(100, 400), after: this.random.between(100, 400) },
      this.#call(this.random.pick(['charge', 'alone', 'inline_note'])),
    ]);
  }

  largeSteps(): PlannedSoakCall[][] {
    const size = () => this.random.between(40, 100) * 1024;
    return Array.from({ length: 3 }, () => [
      { ...this.#call('note'), send: size(), give: size() },
      { ...this.#call('charge'), send: size() },
      { ...this.#call('inline_note'), give: size() },
    ]);
  }

  shortTurns(count: number): SoakTurn[] {
    return Array.from({ length: count }, () =>
      this.turn(
        this.steps(this.random.between(0, 2), this.random.between(1, 3), ['note', 'alone', 'charge']),
      ),
    );
  }

  #call(tool: SoakTool): PlannedSoakCall {
    const { random } = this;
    return {
      tool,
      n: ++this.#calls,
      before: random.between(0, 40),
      after: random.between(0, 40),
      send: random.between(0, 200),
      give: random.between(0, 200),
    };
  }
}

function apart(turns: SoakTurn[]): ReturnType<Recipe> {
  return { kind: 'apart', messages: turns.map((turn) => ({ turn, twice: true, pause: 0 })) };
}

function queued(turns: SoakTurn[], random: SeededRandom): ReturnType<Recipe> {
  const messages = turns.map((turn, index) => ({
    turn,
    twice: index === 0 || random.chance(0.4),
    pause: random.between(0, 300),
  }));
  return { kind: 'queued', messages };
}

function stopped(kind: 'cancelled' | 'terminated', make: Maker): ReturnType<Recipe> {
  const { messages } = queued(
    [make.turn(make.slowSteps()), ...make.shortTurns(make.random.between(0, ENDS - 1))],
    make.random,
  );
  const following = make.turn(make.steps(1, 2, ['note', 'alone']));
  return { kind, messages, following: { turn: following, twice: true, pause: 0 } };
}
