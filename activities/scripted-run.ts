import type { BaseAgent } from '../src/agents/base-agent.ts';
import { runOfImpl } from '../src/agents/base-agent.ts';
import type { Event } from '../src/events/event.ts';
import { InvocationContext } from '../src/tools/invocation-context.ts';
import type { StepParts } from './step-parts.ts';

/** A run of a sub-agent that has ended, or is about to begin: its events lie behind this seq. */
interface ScriptedPart {
  name: string;
  /** The transcript's last seq when it was asked for. */
  after: number;
  /** Why it is thrown at the script. */
  failed?: string;
}

/** What a ported agent remembers from step to step: JSON. */
interface Remembered {
  parts: ScriptedPart[];
  /** How many events of its own it has yielded: these are in the transcript. */
  own: number;
}

/** What its script comes to in a step. */
export interface ScriptedNext {
  /** Its own, yielded behind those of earlier steps. */
  events: Event[];
  /** The sub-agent that it runs next; undefined at its end. */
  run?: string;
  /** How many events of its own it has yielded by now. */
  own: number;
}

/** A ported agent runs another sub-agent than it did before. */
export class CustomAgentDiverged extends Error {
  readonly code = 'HOLDFAST_CUSTOM_AGENT_DIVERGED';
  override readonly name = 'CustomAgentDiverged';
  readonly retryable = false;

  constructor(agent: string, place: number, recorded: string, now: string) {
    super(
      `agent "${agent}" runs "${now}" as its sub-agent number ${place}, and has run "${recorded}" there before: what it decides by ` +
        'must be the same each time, so take it from the state or from events',
    );
  }
}

/** A sub-agent of a ported agent has failed. */
class SubAgentFailed extends Error {
  readonly code = 'HOLDFAST_SUB_AGENT_FAILED';
  override readonly name = 'SubAgentFailed';
  readonly retryable = false;
}

/**
 * A ported agent in one of its steps: its `runAsyncImpl` runs from its start, and is given the recorded events of the sub-agents that
 * have run, in the order in which it asked for them. Where it asks for one more, that is what it does next.
 */
export class ScriptedRun {
  readonly #step: StepParts;
  readonly #parts: readonly ScriptedPart[];
  readonly #own: number;

  /** @param ended how the one that ran last has ended. */
  constructor(step: StepParts, remembered: unknown, ended: readonly { name: string; failed?: string }[]) {
    const { parts, own } = (remembered ?? { parts: [], own: 0 }) as Remembered;
    const failed = ended.at(-1)?.failed;
    const last = parts.at(-1);
    this.#parts =
      last === undefined || failed === undefined ? parts : [...parts.slice(0, -1), { ...last, failed }];
    this.#own = own;
    this.#step = step;
  }

  /** @throws CustomAgentDiverged, and what the script throws. */
  async next(): Promise<ScriptedNext> {
    const asked = Promise.withResolvers<BaseAgent>();
    const recorded = new WeakSet<Event>();
    let count = 0;
    let diverged: CustomAgentDiverged | undefined;
    const runSubAgent = async function* (this: ScriptedRun, subAgent: BaseAgent) {
      const place = count;
      count += 1;
      const part = this.#parts[place];
      if (part === undefined) {
        asked.resolve(subAgent);
        await new Promise<never>(() => undefined);
        return;
      }
      if (part.name !== subAgent.name) {
        diverged = new CustomAgentDiverged(this.#step.agent.name, place + 1, part.name, subAgent.name);
        throw diverged;
      }
      for (const event of this.#eventsOf(place)) {
        recorded.add(event);
        yield event;
      }
      if (part.failed !== undefined) throw new SubAgentFailed(part.failed);
    };
    const { agent, context } = this.#step;
    const init = { ...context.init, runSubAgent: runSubAgent.bind(this) };
    delete init.invocation;
    const script = runOfImpl(agent, new InvocationContext(init));
    const events: Event[] = [];
    let own = 0;
    for (;;) {
      const step = await Promise.race([script.next(), asked.promise.then((agent) => ({ agent }))]);
      if (diverged !== undefined) throw diverged;
      if ('agent' in step) return { events, own, run: step.agent.name };
      if (step.done) return { events, own };
      if (recorded.has(step.value)) continue;
      own += 1;
      if (own > this.#own) events.push(step.value);
    }
  }

  /** For the next step. */
  remembered(seq: number, { run, own }: ScriptedNext): Remembered {
    return { parts: run === undefined ? [...this.#parts] : [...this.#parts, { name: run, after: seq }], own };
  }

  /** Of the one that ran at this place, and of all that it has run itself. */
  #eventsOf(place: number): Event[] {
    const { input, transcript } = this.#step;
    const after = this.#parts[place]?.after ?? 0;
    const until = this.#parts[place + 1]?.after ?? transcript.seq;
    const isBelow = (branch: string | undefined) =>
      input.branch === undefined ||
      branch === input.branch ||
      branch?.startsWith(`${input.branch}.`) === true;
    return transcript
      .behind(after)
      .filter(
        ({ seq, runKey, event }) =>
          seq <= until &&
          runKey !== input.runKey &&
          event.invocationId === input.invocationId &&
          isBelow(event.branch),
      )
      .map(({ event }) => ({ ...event }));
  }
}
