import type * as holdfast from '../../src/index.ts';
import type { Content, CreateEventParams, Event, RunConfig } from '../../src/index.ts';
import type { Came } from './comparable.ts';
import type { ScriptedCall, ScriptedLlm } from './scripted-llm.ts';

/** What both packages export, in the types of ours. */
export type Library = typeof holdfast;

/** Writes down what user code was told; both sides must have been told the same. */
export type Note = (...what: unknown[]) => void;

export interface Acting {
  agent: holdfast.BaseAgent;
  plugins?: holdfast.BasePlugin[];
}

export interface Turn {
  /** @param events of the session so far. */
  message: string | Content | ((events: readonly Event[]) => Content);
  stateDelta?: Record<string, unknown>;
  runConfig?: RunConfig;
  customMetadata?: Record<string, unknown>;
  /** Which of the user's sessions; those of one name are one. */
  session?: string;
}

export interface Scenario {
  /** A sentence. */
  name: string;
  script: readonly ScriptedCall[];
  /** @param name of the agent: agents of one worker have different ones. */
  build(library: Library, model: ScriptedLlm, name: string, note: Note): Acting;
  /** Messages, one after another. */
  turns: readonly (string | Turn)[];
  /** Of each session when it is made. */
  state?: Record<string, unknown>;
  /** Events that each session begins with. */
  history?: readonly CreateEventParams[];
  runConfig?: RunConfig;
  /** Each turn in a session of its own that is deleted behind it. */
  ephemeral?: true;
  /** Agents speak at the same time: nobody knows in which order. */
  unordered?: true;
  /** On ADK only: what was said between a call and its late response is kept, as Holdfast does. */
  keepsTalk?: true;
  differs?: Difference;
  /** ADK tells events apart by their milliseconds: the model answers in a later one than it was asked in. */
  isTimed?: true;
  /** Said in an earlier session, which is in the memory; without it there is no memory service. */
  remembered?: readonly (readonly [author: string, text: string])[];
}

/** A deliberate difference, and how Holdfast's outcome comes of ADK's. */
export interface Difference {
  /** A sentence that stands by itself: docs/adk-exports.md lists it. */
  because: string;
  /** What ADK plays otherwise, so that it comes to what Holdfast does. */
  plays?: Partial<Scenario>;
  /** What is changed in ADK's outcome before the two are compared. */
  adk?(came: Came): Came;
}

/** Name of a scenario's agent, and of its app. */
export function agentNameOf({ name }: Scenario): string {
  return name.replace(/[^a-zA-Z0-9]+/g, '_').replace(/^_+|_+$/g, '');
}

export function turnOf(given: string | Turn): Turn {
  return typeof given === 'string' ? { message: given } : given;
}

/** The earlier session of a scenario, as both libraries add it to their memory. */
export function rememberedSession(
  library: Library,
  { remembered = [] }: Scenario,
  appName: string,
  userId: string,
) {
  const events = remembered.map(([author, text], index) =>
    library.createEvent({
      author,
      content: { role: author === 'user' ? 'user' : 'model', parts: [{ text }] },
      timestamp: 1_700_000_000_000 + index * 1_000,
    }),
  );
  return library.createSession({ id: 'earlier', appName, userId, events } as never);
}
