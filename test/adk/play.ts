import type { Content, CreateEventParams, Event, Session } from '../../src/index.ts';
import { type Came, comparableEvent, Ids, type PartialTexts, partialTextsOf, withIds } from './comparable.ts';
import { type Scenario, type Turn, turnOf } from './scenario.ts';
import type { SeenRequest } from './scripted-llm.ts';

/** The part of a Runner that both packages have, and that a scenario is played with. */
export interface Stage {
  runAsync(params: { sessionId: string } & Run): AsyncIterable<Event>;
  runEphemeral(params: Run): AsyncIterable<Event>;
  createSession(state: Record<string, unknown>): Promise<Session>;
  getSession(sessionId: string): Promise<Session | undefined>;
  appendEvent(session: Session, event: CreateEventParams): Promise<unknown>;
  /** Where partial text doesn't only come out of `runAsync`. */
  listen?(sessionId: string): Promise<() => Promise<PartialTexts>>;
}

interface Run {
  userId: string;
  newMessage: Content;
  stateDelta?: Record<string, unknown>;
  runConfig?: NonNullable<Turn['runConfig']>;
  customMetadata?: Record<string, unknown>;
}

export const USER = 'ada';

/** Plays a scenario turn by turn, as a program would that uses either package. */
export async function play(
  scenario: Scenario,
  stage: Stage,
  seen: { requests: readonly SeenRequest[]; notes: readonly unknown[] },
): Promise<Came> {
  const sessions = new Map<string, string>();
  const sessionOf = async ({ session = 'only' }: Turn): Promise<string> => {
    const known = sessions.get(session);
    if (known !== undefined) return known;
    const made = await stage.createSession({ ...scenario.state });
    for (const event of scenario.history ?? []) await stage.appendEvent(made, event);
    sessions.set(session, made.id);
    return made.id;
  };
  const ids = new Ids();
  const came: Came = {
    requests: [],
    events: [],
    partials: [],
    messages: [],
    states: [],
    notes: [],
    thrown: [],
  };
  for (const [index, given] of scenario.turns.entries()) {
    const turn = turnOf(given);
    const sessionId = scenario.ephemeral ? undefined : await sessionOf(turn);
    const isAnswer = typeof turn.message === 'function' && sessionId !== undefined;
    const before = isAnswer ? ((await stage.getSession(sessionId))?.events ?? []) : [];
    const heard = sessionId === undefined ? undefined : await stage.listen?.(sessionId);
    const run = runOf(scenario, turn, before);
    const events: Event[] = [];
    try {
      const running =
        sessionId === undefined ? stage.runEphemeral(run) : stage.runAsync({ ...run, sessionId });
      // What is yielded is the session's own on ADK, and changes there.
      for await (const event of running) events.push(structuredClone(event));
    } catch (error) {
      came.thrown.push({ turn: index + 1, message: error instanceof Error ? error.message : String(error) });
    }
    const partials = heard === undefined ? partialTextsOf(events) : await heard();
    // What a failed call had said so far doesn't count, and is told as far as it had come.
    const hasFailed = events.some(({ errorCode }) => errorCode !== undefined);
    came.partials.push(hasFailed ? { text: '', thoughts: '' } : partials);
    came.events.push(events.filter(({ partial }) => !partial).map((event) => comparableEvent(event, ids)));
  }
  for (const sessionId of sessions.values()) {
    const { events = [], state = {} } = (await stage.getSession(sessionId)) ?? {};
    const own = events.filter(({ author }) => author === 'user');
    came.messages.push(...own.map((event) => comparableEvent(event, ids)));
    came.states.push(state);
  }
  came.requests.push(...withIds([...seen.requests], ids));
  came.notes.push(...withIds([...seen.notes], ids));
  return came;
}

function runOf(scenario: Scenario, turn: Turn, before: readonly Event[]): Run {
  const { message, stateDelta, customMetadata } = turn;
  const runConfig = turn.runConfig ?? scenario.runConfig;
  return {
    userId: USER,
    newMessage: structuredClone(contentOf(message, before)),
    ...(stateDelta === undefined ? {} : { stateDelta }),
    ...(runConfig === undefined ? {} : { runConfig }),
    ...(customMetadata === undefined ? {} : { customMetadata }),
  };
}

function contentOf(message: Turn['message'], before: readonly Event[]): Content {
  if (typeof message === 'function') return message(before);
  return typeof message === 'string' ? { role: 'user', parts: [{ text: message }] } : message;
}
