import { type Content, type Event, getFunctionCalls } from '../../../src/index.ts';
import type { Came } from '../comparable.ts';
import { merged, mergedContents } from '../differences.ts';
import type { Scenario, Turn } from '../scenario.ts';
import { calls, parts, piece, type ScriptedCall, text } from '../scripted-llm.ts';
import { actingOf, EVENT } from './acting.ts';
import { type Plan, plansOf, type Step, type ToolName, type TurnPlan } from './plan.ts';

/** Agents that differ by their seed in all that they do. */
export function randomScenarios(seed: number, count: number): Scenario[] {
  return plansOf(seed, count).map((plan, index) => ({
    name: `random agent ${index + 1} of seed ${seed}`,
    script: plan.script.map((each) => scripted(each, plan)),
    build: (library, model, name, note) => actingOf(library, model, name, note, plan),
    turns: plan.turns.map(turnOf),
    keepsTalk: true,
    ...(plan.isStream ? { runConfig: { streamingMode: 'sse' } } : {}),
  }));
}

/** Plugins are shown the events of a step together, when they are about to be stored. */
export function withEventsLast(came: Came): Came {
  const isOfEvent = (note: unknown) => Array.isArray(note) && note[0] === EVENT;
  return {
    ...came,
    notes: [...came.notes.filter((note) => !isOfEvent(note)), ...came.notes.filter(isOfEvent)],
  };
}

/** ADK's outcome with what differs in each conversation. */
export function asHoldfastHasIt(came: Came): Came {
  const errors = came.events.map((events) =>
    events.map((event) =>
      event.errorCode === 'UNKNOWN_ERROR'
        ? {
            ...event,
            errorCode: 'HOLDFAST_MODEL_UNKNOWN',
            errorMessage: `The model call failed: ${event.errorMessage}`,
          }
        : event,
    ),
  );
  const told = withEventsLast(came);
  return merged({ ...told, notes: told.notes.map(mergedIn), events: errors });
}

/** Contents that a callback was shown. */
function mergedIn(note: unknown): unknown {
  if (!Array.isArray(note)) return note;
  const isContents = note.length > 0 && note.every((each) => each?.role !== undefined);
  return isContents ? mergedContents(note) : note.map(mergedIn);
}

function scripted(each: Step, { isStream }: Plan): ScriptedCall {
  if (each === 'fails') return new Error('overloaded');
  if ('call' in each) {
    const asked = calls(
      ...each.call.map((name, n): [string, Record<string, unknown>] => [name, argsOf(name, n)]),
    );
    if (!each.words) return [asked];
    return [parts({ text: 'Let me see.' }, ...(asked.content?.parts ?? []))];
  }
  const whole = each.thought ? parts({ text: 'hm', thought: true }, { text: each.say }) : text(each.say);
  const half = Math.floor(each.say.length / 2);
  const pieces = [each.say.slice(0, half), each.say.slice(half)].map((words) => piece(words));
  return isStream ? [...(each.thought ? [piece('hm', true)] : []), ...pieces, whole] : [whole];
}

function argsOf(name: ToolName, n: number): Record<string, unknown> {
  return name === 'echo' ? { n, words: ['a', null] } : {};
}

function turnOf(given: TurnPlan): Turn {
  if (given === 'answers') return { message: answer };
  const { say, delta } = given;
  return { message: say, ...(delta === undefined ? {} : { stateDelta: { m: delta, 'user:n': delta } }) };
}

/** Of the latest call of the tool that waits; words where there is none. */
function answer(events: readonly Event[]): Content {
  const waiting = events.flatMap((event) => getFunctionCalls(event)).findLast(({ name }) => name === 'waits');
  if (waiting?.id === undefined) return { role: 'user', parts: [{ text: 'Well?' }] };
  const functionResponse = { id: waiting.id, name: 'waits', response: { status: 'done' } };
  return { role: 'user', parts: [{ functionResponse }] };
}
