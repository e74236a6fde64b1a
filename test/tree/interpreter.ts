import { agentsOf, type CallPlan, type TalkerPlan, type TreePlan } from './tree-plan.ts';

/** What an agent's model is shown, in words that don't depend on how it is asked. */
export interface Shown {
  agent: string;
  /** Parts of the contents, in order. Those that were said at the same time are a group. */
  sees: readonly Seen[];
  /** The agent's own instruction, with the state in it. */
  instruction: string;
  /** Names of the agents that it may hand the turn on to. */
  targets: readonly string[];
}

/** `endOf`: whatever was the last of what was said at the same time, in the order of each who spoke. */
export type Seen = string | { lanes: readonly (readonly Seen[])[] } | { endOf: readonly string[] };

/** One part of an event. */
type Part = { text: string } | { name: string; args: object } | { name: string; response: object };

interface Said {
  author: string;
  branch: string | undefined;
  parts: Part[];
}

/** Lanes have gone on at the same time. */
type Entry = Said | Lanes;
interface Lanes {
  lanes: Entry[][];
}

/** What is said in it comes behind all that was said above it, as far as those in it know. */
interface Room {
  above: Room | undefined;
  entries: Entry[];
}

/** Where an agent runs. */
interface Place {
  room: Room;
  branch: string | undefined;
}

interface Ended {
  escalated: boolean;
}

/** Where ADK differs on purpose. */
export interface Rules {
  /** Whoever escalates ends all loops that it stands in. */
  escalatesThroughLoops?: boolean;
  /** A call that ends an agent is its answer, which is empty. */
  keepsNothing?: boolean;
}

/** What has happened, in a tree and in those of agents that are tools. */
export interface Tally {
  shown: Shown[];
  /** How often each agent's model was asked. */
  said: Map<string, number>;
  /** How often another agent was run. */
  runs: number;
  /** How often a turn was not handed on, because the rules don't name the agent. */
  refusals: number;
  /** It depends on who was the last of those that have gone on at the same time. */
  isOpen: boolean;
}

/**
 * The rules of trees of agents, in memory and one step after another: who acts, what each one sees, what becomes of the state. Of
 * all that makes them durable it knows nothing. Rules: sections 1.3 and 3 of the reference for ADK.
 */
export class Interpreter {
  readonly #root: TreePlan;
  readonly #rules: Rules;
  readonly #transcript: Room = { above: undefined, entries: [] };
  readonly #state: Map<string, unknown>;
  readonly #tally: Tally;

  constructor(root: TreePlan, rules: Rules = {}, caller?: { state: Map<string, unknown>; tally: Tally }) {
    this.#root = root;
    this.#rules = rules;
    this.#state = new Map(caller?.state);
    this.#tally = caller?.tally ?? {
      shown: [],
      said: new Map(),
      runs: 0,
      refusals: 0,
      isOpen: false,
    };
  }

  get tally(): Tally {
    return this.#tally;
  }

  /** One turn. */
  send(text: string): void {
    this.#transcript.entries.push({ author: 'user', branch: undefined, parts: [{ text }] });
    this.#run(this.#next(), { room: this.#transcript, branch: undefined });
    for (const key of this.#state.keys()) if (key.startsWith('temp:')) this.#state.delete(key);
  }

  get state(): Record<string, unknown> {
    return Object.fromEntries(this.#state);
  }

  /** Whoever spoke last, if all above it are talkers that may be handed back to. */
  #next(): TreePlan {
    const authors = flat(this.#transcript.entries).map(({ author }) => author);
    for (const author of authors.toReversed()) {
      if (author === this.#root.name) return this.#root;
      const agent = agentsOf(this.#root).find(({ name }) => name === author);
      if (agent !== undefined && this.#isRoutable(agent)) return agent;
    }
    return this.#root;
  }

  #isRoutable(agent: TreePlan): boolean {
    if (agent.kind !== 'talker' || !agent.toParent) return false;
    const parent = this.#parentOf(agent);
    return parent === undefined ? agent === this.#root : this.#isRoutable(parent);
  }

  #parentOf(agent: TreePlan): TreePlan | undefined {
    return agentsOf(this.#root).find(({ children }) => children.includes(agent));
  }

  #targetsOf(agent: TalkerPlan): TreePlan[] {
    const parent = this.#parentOf(agent);
    if (parent?.kind !== 'talker') return [...agent.children];
    const peers = parent.children.filter((each) => each !== agent);
    return [...agent.children, ...(agent.toParent ? [parent] : []), ...(agent.toPeers ? peers : [])];
  }

  #run(agent: TreePlan, place: Place): Ended {
    switch (agent.kind) {
      case 'talker':
        return this.#talk(agent, place);
      case 'sequence': {
        const ended = agent.children.map((child) => this.#runBelow(child, place));
        return { escalated: ended.some(({ escalated }) => escalated) };
      }
      case 'loop': {
        const { escalatesThroughLoops = false } = this.#rules;
        for (let round = 1; round <= agent.rounds; round += 1) {
          for (const child of agent.children) {
            // Whoever escalates ends the loop that it stands in, and no other.
            if (this.#runBelow(child, place).escalated) return { escalated: escalatesThroughLoops };
          }
        }
        return { escalated: false };
      }
      case 'parallel': {
        const lanes: Entry[][] = [];
        const ended = agent.children.map((child) => {
          const room: Room = { above: place.room, entries: [] };
          lanes.push(room.entries);
          const own = `${agent.name}.${child.name}`;
          return this.#runBelow(child, {
            room,
            branch: place.branch === undefined ? own : `${place.branch}.${own}`,
          });
        });
        place.room.entries.push({ lanes });
        return { escalated: ended.some(({ escalated }) => escalated) };
      }
    }
  }

  #runBelow(agent: TreePlan, place: Place): Ended {
    this.#tally.runs += 1;
    return this.#run(agent, place);
  }

  #talk(first: TalkerPlan, place: Place): Ended {
    const { room, branch } = place;
    let acting = first;
    let escalated = false;
    for (;;) {
      const { name, keeps } = acting;
      const targets = this.#targetsOf(acting);
      this.#tally.shown.push(this.#shownTo(acting, place, targets));
      const at = this.#tally.said.get(name) ?? 0;
      this.#tally.said.set(name, at + 1);
      const line = acting.script[at] ?? { say: 'done' };
      if ('say' in line) {
        const text = `${line.say} from ${name}, ${at}`;
        room.entries.push({ author: name, branch, parts: [{ text }] });
        if (keeps) this.#state.set(keptBy(name), text);
        return { escalated };
      }
      const { calls } = line;
      room.entries.push({
        author: name,
        branch,
        parts: calls.map((call) => ({ name: nameOf(call), args: argsOf(call) })),
      });
      let to: TreePlan | undefined;
      let isOver = false;
      /** What is written by calls is there once all of them have ended. */
      const written = new Map<string, unknown>();
      const responses = calls.map((call): Part => {
        if (call.call === 'exit_loop') {
          escalated = true;
          isOver = true;
          return { name: call.call, response: { result: '' } };
        }
        if (call.call === 'write') {
          written.set(writtenBy(name, call.scope), call.value);
          return { name: call.call, response: { written: call.value } };
        }
        if (call.call === 'ask') return { name: call.helper, response: this.#ask(acting, call, written) };
        to = targets.find((target) => target.name === call.to);
        if (to === undefined) this.#tally.refusals += 1;
        return {
          name: call.call,
          response: to === undefined ? { error: '' } : { result: 'Transfer queued' },
        };
      });
      room.entries.push({ author: name, branch, parts: responses });
      for (const [key, value] of written) this.#state.set(key, value);
      if (isOver && keeps && this.#rules.keepsNothing) this.#state.set(keptBy(name), '');
      if (to !== undefined) {
        if (to.kind !== 'talker') {
          const ended = this.#run(to, place);
          return { escalated: escalated || ended.escalated };
        }
        acting = to;
      } else if (isOver) {
        return { escalated };
      }
    }
  }

  /** Runs an agent that is a tool in a session of its own, which begins with the state of its caller. */
  #ask(
    { helpers }: TalkerPlan,
    { helper, request }: Extract<CallPlan, { call: 'ask' }>,
    written: Map<string, unknown>,
  ): object {
    const root = helpers.find(({ name }) => name === helper);
    if (root === undefined) throw new Error(`no helper ${helper}`);
    this.#tally.runs += 1;
    const before = new Map(this.#state);
    const session = new Interpreter(root, this.#rules, { state: before, tally: this.#tally });
    session.send(request);
    for (const [key, value] of session.#state) if (before.get(key) !== value) written.set(key, value);
    return session.#answer;
  }

  /** The last of what was said, where it is a text. */
  get #answer(): object {
    let last = this.#transcript.entries.at(-1);
    while (last !== undefined && 'lanes' in last) {
      const lanes = last.lanes.filter((lane) => lane.length > 0);
      if (lanes.length > 1) this.#tally.isOpen = true;
      last = lanes[0]?.at(-1);
    }
    const text = last?.parts.find((part) => 'text' in part)?.text;
    return text === undefined ? {} : { result: text };
  }

  #shownTo(agent: TalkerPlan, { room, branch }: Place, targets: readonly TreePlan[]): Shown {
    const visible = seenFrom(room, branch);
    return {
      agent: agent.name,
      sees: agent.include === 'none' ? sincePivot(visible, agent.name) : told(visible, agent.name),
      instruction: instructionOf(agent, this.#state),
      targets: targets.map(({ name }) => name),
    };
  }
}

export const keptBy = (name: string) => `kept_${name}`;
export const writtenBy = (name: string, scope: string) => `${scope}by_${name}`;

/** What a talker's instruction says; with a state, what becomes of it. */
export function instructionOf({ reads }: TalkerPlan, state?: ReadonlyMap<string, unknown>): string {
  const keys = reads.flatMap((name) => [
    keptBy(name),
    ...['', 'temp:', 'user:'].map((scope) => writtenBy(name, scope)),
  ]);
  const known = keys.map((key) => (state === undefined ? `{${key}?}` : String(state.get(key) ?? '')));
  return `KNOWN<${known.join('|')}>`;
}

/** Of the tool. */
export function nameOf(call: CallPlan): string {
  return call.call === 'ask' ? call.helper : call.call;
}

export function argsOf(call: CallPlan): Record<string, unknown> {
  switch (call.call) {
    case 'write':
      return { scope: call.scope, value: call.value };
    case 'exit_loop':
      return {};
    case 'transfer_to_agent':
      return { agentName: call.to };
    case 'ask':
      return { request: call.request };
  }
}

function flat(entries: readonly Entry[]): Said[] {
  return entries.flatMap((entry) => ('lanes' in entry ? entry.lanes.flatMap(flat) : [entry]));
}

/** An agent sees the events of its own branch, of those above it, and of none; one without a branch sees them all. */
function seenFrom(room: Room, branch: string | undefined): Entry[] {
  const above = room.above === undefined ? [] : seenFrom(room.above, branch);
  return [...above, ...seen(room.entries, branch)];
}

function seen(entries: readonly Entry[], branch: string | undefined): Entry[] {
  return entries.flatMap((entry): Entry[] => {
    if ('lanes' in entry) {
      const lanes = entry.lanes.map((lane) => seen(lane, branch)).filter((lane) => lane.length > 0);
      return lanes.length > 1 ? [{ lanes }] : lanes.flat();
    }
    const isSeen =
      branch === undefined ||
      entry.branch === undefined ||
      entry.branch === branch ||
      branch.startsWith(`${entry.branch}.`);
    return isSeen ? [entry] : [];
  });
}

/** What came since the latest message, or since another agent spoke; answers to its calls stand with them. */
function sincePivot(entries: readonly Entry[], agent: string): Seen[] {
  const at = entries.findLastIndex((entry) => 'lanes' in entry || entry.author !== agent);
  const pivot = entries[at];
  if (pivot === undefined) return told(entries, agent);
  if ('lanes' in pivot) {
    const endOf = flat([pivot]).flatMap((said) => toldParts(said, agent));
    return [{ endOf }, ...told(entries.slice(at + 1), agent)];
  }
  const isAnswer = pivot.parts.some((part) => 'response' in part);
  return told(entries.slice(isAnswer ? at - 1 : at), agent);
}

function told(entries: readonly Entry[], agent: string): Seen[] {
  return entries.flatMap((entry): Seen[] =>
    'lanes' in entry ? [{ lanes: entry.lanes.map((lane) => told(lane, agent)) }] : toldParts(entry, agent),
  );
}

function toldParts({ parts, author }: Said, agent: string): string[] {
  return parts.map((part) => toldPart(part, author, agent));
}

function toldPart(part: Part, author: string, agent: string): string {
  if (author === 'user') return `user: ${'text' in part ? part.text : ''}`;
  const isOwn = author === agent;
  if ('text' in part) return isOwn ? `own: ${part.text}` : `[${author}] said: ${part.text}`;
  if ('args' in part) {
    const args = JSON.stringify(part.args);
    return isOwn
      ? `own call: ${part.name} ${args}`
      : `[${author}] called tool \`${part.name}\` with parameters: ${args}`;
  }
  const response = JSON.stringify(part.response);
  return isOwn
    ? `own response: ${part.name} ${response}`
    : `[${author}] tool \`${part.name}\` returned result: ${response}`;
}
