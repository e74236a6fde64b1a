import { isDeepStrictEqual } from 'node:util';
import { SubAgentFailed } from '../../src/agents/agent-tool.ts';
import { runOfImpl } from '../../src/agents/base-agent.ts';
import { HoldfastError } from '../../src/contract/error.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { createEvent, type Event } from '../../src/events/event.ts';
import { visibleEvents } from '../../src/flows/event-visibility.ts';
import { applyStateDelta } from '../../src/flows/step-context.ts';
import { type Transcript, TranscriptLog } from '../../src/flows/transcript.ts';
import { defined, isRecord } from '../../src/protocol/json.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import { type AgentView, type ContextInit, InvocationContext } from '../../src/tools/invocation-context.ts';
import type { StepParts } from '../model/step-parts.ts';

/** A run of a sub-agent that has ended, or is about to begin: its events come after this seq. */
interface ScriptedPart {
  name: string;
  /** The transcript's last seq when it was asked for. */
  after: number;
  /** How many events of its own the script had yielded by then. */
  own: number;
  /** The same when the step ended that it was asked for in: they are in the transcript. */
  said: number;
  /** `temp:` state that it has changed, which no event keeps. */
  temp?: Readonly<Record<string, unknown>>;
  /** Why it is thrown at the script. */
  failed?: string;
}

/** The memory of a ported agent between its steps: JSON. */
export interface RememberedScript {
  /** The step that it began in. */
  began: number;
  /** Those that have run: at the next step, all that it has asked for. */
  parts: readonly ScriptedPart[];
}

/** The result of its script in one step. */
export interface ScriptedNext {
  /** Its own, yielded after those of earlier steps. */
  events: Event[];
  /** The sub-agent that it runs next, and how many events of its own it had yielded when it asked for it; undefined at its end. */
  run?: { name: string; own: number };
  /** How many events of its own it has yielded by now. */
  said: number;
}

/** A ported agent does something else than it did before: what it runs, how it ends, how much it says. */
const DIVERGED = {
  running: (place: number, recorded: string, now: string) =>
    `runs "${now}" as its sub-agent number ${place}, and has run "${recorded}" there before`,
  ending: (place: number, recorded: string) =>
    `ends, and has run "${recorded}" as its sub-agent number ${place} before`,
  saying: (place: number, recorded: number, now: number) =>
    `yields ${now} events of its own before its sub-agent number ${place}, and has yielded ${recorded} there before`,
};

function hasDiverged(agent: string, what: string): HoldfastError {
  const remedy =
    'it must decide the same each time, so let it decide by the state or by events of its context';
  return new HoldfastError('HOLDFAST_CUSTOM_AGENT_DIVERGED', `agent "${agent}" ${what}: ${remedy}`);
}

/**
 * A ported agent in one of its steps: its `runAsyncImpl` runs from its start, with the session as it was then, and is given the
 * recorded events of the sub-agents that have run, in the order in which it asked for them. Where it asks for one more, that is what
 * it does next.
 */
export class ScriptedRun {
  readonly #step: StepParts;
  readonly #began: number;
  readonly #parts: readonly ScriptedPart[];
  readonly #view: ScriptedView;

  /**
   * @param ahead what its callbacks have said before it began; of the step that it begins in.
   * @param ended how the one that ran last has ended.
   */
  constructor(
    step: StepParts,
    beginning: ScriptBeginning,
    ahead: readonly DraftEvent[],
    remembered: RememberedScript | undefined,
    ended: readonly { name: string; failed?: string }[],
  ) {
    const { began, parts } = remembered ?? { began: step.input.step, parts: [] };
    const failed = ended.at(-1)?.failed;
    const last = parts.at(-1);
    this.#parts =
      last === undefined
        ? parts
        : [
            ...parts.slice(0, -1),
            {
              ...last,
              temp: temporaryStateAfter(step.context.init.state, beginning, parts),
              ...defined({ failed }),
            },
          ];
    this.#began = began;
    this.#step = step;
    const events =
      remembered === undefined ? ahead.map((event) => createEvent(event)) : this.#aheadOf(beginning);
    const place = this.#ownPlace();
    this.#view = new ScriptedView(
      beginning,
      step.transcript,
      events.map((event) => ({ ...place, event })),
    );
  }

  /** @throws HOLDFAST_CUSTOM_AGENT_DIVERGED, and errors of the script. */
  async next(): Promise<ScriptedNext> {
    const { agent, context, live } = this.#step;
    const asked = Promise.withResolvers<NonNullable<ScriptedNext['run']>>();
    const recorded = new WeakMap<Event, EventPlace>();
    const ownPlace = this.#ownPlace();
    const events: Event[] = [];
    const stored = this.#ownEvents();
    const said = this.#parts.at(-1)?.said ?? 0;
    let count = 0;
    let own = 0;
    /** The recorded one that the script was given last. */
    let given: StoredEvent | undefined;
    let diverged: HoldfastError | undefined;
    const diverges = (how: HoldfastError) => {
      diverged ??= how;
      return diverged;
    };
    const runSubAgent = async function* (this: ScriptedRun, subAgent: AgentView) {
      const place = count;
      count += 1;
      const part = this.#parts[place];
      if (part === undefined) {
        asked.resolve({ name: subAgent.name, own });
        await new Promise<never>(() => undefined);
        return;
      }
      const { name } = subAgent;
      if (part.name !== name) {
        throw diverges(hasDiverged(agent.name, DIVERGED.running(place + 1, part.name, name)));
      }
      if (part.own !== own)
        throw diverges(hasDiverged(agent.name, DIVERGED.saying(place + 1, part.own, own)));
      const run = this.#eventsOf(place);
      try {
        for (const stored of run) {
          recorded.set(stored.event, stored);
          given = stored;
          yield stored.event;
          // A script may keep it to itself.
          this.#view.sees(stored.event, stored);
        }
      } finally {
        // The agent has run to its end, also for a script that stops reading its events.
        for (const stored of run) this.#view.sees(stored.event, stored);
        this.#view.keeps(part.temp ?? {});
      }
      if (part.failed !== undefined) throw new SubAgentFailed('HOLDFAST_SUB_AGENT_FAILED', part.failed);
    };
    const script = runOfImpl(
      agent,
      this.#view.context({ ...context.init, runSubAgent: runSubAgent.bind(this) }),
    );
    for (;;) {
      const step = await Promise.race([script.next(), asked.promise.then((run) => ({ run }))]);
      if (diverged !== undefined) throw diverged;
      if ('run' in step) return { events, said: own, run: step.run };
      const missed = this.#parts[count];
      if (step.done && missed !== undefined) {
        throw hasDiverged(agent.name, DIVERGED.ending(count + 1, missed.name));
      }
      if (step.done) return { events, said: own };
      // As in ADK a partial event is told, and no session has it; a script that runs again tells it no second time.
      if (isRecord(step.value) && step.value.partial === true) {
        if (count === this.#parts.length) live.add(agent.name, step.value);
        continue;
      }
      const place = recorded.get(step.value);
      if (place !== undefined) {
        this.#view.sees(step.value, place);
        continue;
      }
      // Its own events come after those that it was given.
      if (given !== undefined) this.#view.sees(given.event, given);
      this.#view.sees(stored[own] ?? step.value, ownPlace);
      own += 1;
      if (own > said) events.push(step.value);
    }
  }

  remembered(seq: number, { run, said }: ScriptedNext): RememberedScript {
    const parts = run === undefined ? this.#parts : [...this.#parts, { ...run, after: seq, said }];
    return { began: this.#began, parts };
  }

  #ownPlace(): EventPlace {
    return { kind: 'callback', runKey: this.#step.input.runKey, step: this.#began };
  }

  /** The stored events of its callbacks from before it began. */
  #aheadOf({ seq, ahead }: ScriptBeginning): Event[] {
    const { input, transcript } = this.#step;
    return transcript
      .eventsAfter(seq)
      .filter(
        ({ runKey, kind, step }) => runKey === input.runKey && kind === 'callback' && step === this.#began,
      )
      .slice(0, ahead)
      .map(({ event }) => event);
  }

  /** The script's own events of earlier steps, as they are stored: the last ones of each step, after those of callbacks. */
  #ownEvents(): (Event | undefined)[] {
    const { input, transcript } = this.#step;
    const own = transcript
      .eventsAfter(this.#parts[0]?.after ?? transcript.seq)
      .filter(({ runKey, kind }) => runKey === input.runKey && kind === 'callback');
    return this.#parts.flatMap(({ said }, index) => {
      const count = said - (this.#parts[index - 1]?.said ?? 0);
      const ofStep = own.filter(({ step }) => step === this.#began + index);
      return Array.from({ length: count }, (_, nth) => ofStep.at(nth - count)?.event);
    });
  }

  /** Events of the agent that ran at this place, and of all agents that it has run itself. */
  #eventsOf(place: number): StoredEvent[] {
    const { input, transcript } = this.#step;
    const after = this.#parts[place]?.after ?? 0;
    const until = this.#parts[place + 1]?.after ?? transcript.seq;
    const isBelow = (branch: string | undefined) =>
      input.branch === undefined ||
      branch === input.branch ||
      branch?.startsWith(`${input.branch}.`) === true;
    return transcript
      .eventsAfter(after)
      .filter(
        ({ seq, runKey, event }) =>
          seq <= until &&
          runKey !== input.runKey &&
          event.invocationId === input.invocationId &&
          isBelow(event.branch),
      )
      .map((stored) => ({ ...stored, event: { ...stored.event } }));
  }
}

/** `temp:` state that differs from what the parts before the last one left. */
function temporaryStateAfter(
  state: Readonly<Record<string, unknown>>,
  beginning: ScriptBeginning,
  parts: readonly ScriptedPart[],
): Record<string, unknown> {
  const before: Record<string, unknown> = Object.assign(
    {},
    beginning.state,
    ...parts.map(({ temp }) => temp),
  );
  const changed = Object.entries(state).filter(
    ([key, value]) => key.startsWith('temp:') && !isDeepStrictEqual(value, before[key]),
  );
  return Object.fromEntries(changed);
}

/** The session when a ported agent began: JSON. */
export interface ScriptBeginning {
  state: Readonly<Record<string, unknown>>;
  /** Number of the transcript's last event. */
  seq: number;
  /** How many events its callbacks had said after that one. */
  ahead: number;
}

/** The author of an event, and its part in the step. */
type EventPlace = Pick<StoredEvent, 'kind' | 'runKey' | 'step'>;

export function scriptBeginning(
  init: ContextInit,
  { seq }: Transcript,
  ahead: readonly unknown[],
): ScriptBeginning {
  return { state: new InvocationContext(init).session.state, seq, ahead: ahead.length };
}

/**
 * A session as a ported agent sees it at the current place of its script: as it was when the agent began, with the events that the
 * script has been given since and has yielded itself. Semantics: the runner of `@google/adk` 2.0.0, which appends an agent's event
 * before the agent goes on.
 */
class ScriptedView {
  readonly #beginning: ScriptBeginning;
  readonly #transcript: Transcript;
  readonly #state: Record<string, unknown>;
  readonly #since: (EventPlace & { event: Event })[] = [];
  readonly #seen = new WeakSet<Event>();
  /** For as many events since the beginning. */
  #now: { transcript: Transcript; since: number } | undefined;

  /** @param ahead what its callbacks have said before it began; its state is that of the beginning. */
  constructor(
    beginning: ScriptBeginning,
    transcript: Transcript,
    ahead: readonly (EventPlace & { event: Event })[],
  ) {
    this.#beginning = beginning;
    this.#transcript = transcript;
    this.#state = structuredClone(beginning.state);
    this.#since.push(...ahead);
  }

  /** The script has been given it, or has yielded it. */
  sees(event: Event, { kind, runKey, step }: EventPlace): void {
    // Other yields of a script are refused where its events are read.
    if (!isRecord(event) || this.#seen.has(event)) return;
    this.#seen.add(event);
    this.#since.push({ kind, runKey, step, event });
    this.keeps(event.actions?.stateDelta ?? {});
  }

  /** State that the script sees from now on. */
  keeps(stateDelta: Readonly<Record<string, unknown>>): void {
    applyStateDelta(this.#state, stateDelta);
  }

  context(init: ContextInit): InvocationContext {
    const { invocation: _shared, eventActions: _written, transcript, ...rest } = init;
    const view = {
      events: () => this.#events(),
      contents: (perspective: Parameters<Transcript['contents']>[0]) => this.#here().contents(perspective),
      toolCalls: () => this.#here().toolCalls(init.invocationId),
    };
    return new InvocationContext({
      ...rest,
      state: this.#state,
      ...(transcript === undefined ? {} : { transcript: view }),
    });
  }

  #before(): readonly StoredEvent[] {
    return this.#transcript.eventsAfter(0).slice(0, this.#beginning.seq);
  }

  #events(): readonly Event[] {
    const since = this.#since.map(({ event }) => event);
    return Object.freeze([...visibleEvents(this.#before()).map(({ event }) => event), ...since]);
  }

  #here(): Transcript {
    if (this.#now?.since === this.#since.length) return this.#now.transcript;
    const log = new TranscriptLog();
    const { seq } = this.#beginning;
    // A log freezes its events, and these are still the script's.
    const since = this.#since.map((placed, index) => structuredClone({ ...placed, seq: seq + 1 + index }));
    log.append([...this.#before(), ...since]);
    this.#now = { transcript: log.at(log.seq), since: since.length };
    return this.#now.transcript;
  }
}
