import { CallbackFailed } from '../../src/agents/callbacks.ts';
import { type CustomAgent, isCustomAgent } from '../../src/agents/custom-agent.ts';
import { MOST_SUB_AGENTS } from '../../src/agents/workflow-agents.ts';
import { hasCode } from '../../src/contract/error.ts';
import { draftOf } from '../../src/flows/draft-event.ts';
import { draftFromError, draftOfEnd, type StepDraft } from '../../src/flows/step-draft.ts';
import type { AgentPlan } from '../../src/protocol/agent-run.ts';
import { stepKeyOf } from '../../src/protocol/identity.ts';
import { isRecord } from '../../src/protocol/json.ts';
import type { TurnError } from '../../src/protocol/turn.ts';
import { excerpt } from '../../src/protocol/visible-text.ts';
import { kindOf } from '../../src/schema/kind-of.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import type { NewEvent } from '../../src/store/turns/step-store.ts';
import { eventOfCallback } from '../model/step-beginning.ts';
import { failedUserCode } from '../model/step-failures.ts';
import type { StepParts } from '../model/step-parts.ts';
import {
  type RememberedScript,
  type ScriptBeginning,
  type ScriptedNext,
  ScriptedRun,
  scriptBeginning,
} from './scripted-run.ts';
import { endOfAgents, failureOf, plannedAgent } from './workflow-agents.ts';

/** Under which the ledger row of a step keeps what its agent has said to do next. */
const NEXT = 'next';

/** JSON bytes of an agent's memory from one step to the next. */
const MOST_STATE = 256 * 1024;

/** Characters of the code and of the message of an error that an agent ends with. */
const LONGEST_CODE = 100;
const LONGEST_MESSAGE = 4_000;

/** How many agents that are given together run at a time. */
const MOST_PARALLEL = 32;

/** The next agents that an agent has asked for, as the ledger keeps them. */
interface RecordedNext {
  events: DraftEvent[];
  /** Names; none: it has come to its end. */
  run: string[];
  /** Its end is a failure. */
  error?: TurnError;
  together?: boolean;
  /** The value that the next step gives back to the agent. */
  state?: unknown;
  /** Start of a ported agent, in the step that it began in. */
  beginning?: ScriptBeginning;
}

/**
 * The step of an agent that says itself what runs next. Its answer counts for all attempts of the step.
 *
 * @param before the step's events until then.
 */
export async function draftFromCustomAgent(step: StepParts, before: NewEvent[]): Promise<StepDraft> {
  let next: RecordedNext;
  try {
    next = await recordedNext(step, before);
  } catch (error) {
    return draftFromError(step.asked, await failedUserCode(step, error), { events: before });
  }
  for (const { actions } of next.events) step.context.keep(actions);
  const events = [...before, ...next.events.map((event): NewEvent => ({ kind: 'callback', event }))];
  if (next.error !== undefined) return draftFromError(step.asked, next.error, { events });
  if (next.run.length === 0) return endOfAgents(step, events);
  return { ...draftOfEnd(step.asked, events), agents: planOf(step, next) };
}

function planOf(step: StepParts, { run, together = false }: RecordedNext): AgentPlan {
  const agents = run.map((name) => {
    const subAgent = step.agent.findSubAgent(name);
    if (subAgent === undefined) throw new Error(`no sub-agent ${name}`);
    return plannedAgent(step, subAgent, together);
  });
  // The agent decides whether a failure ends it.
  if (together) return { order: 'parallel', agents, maxParallel: MOST_PARALLEL, continueOnError: true };
  return { order: 'sequence', agents, maxParallel: 1 };
}

async function recordedNext(step: StepParts, before: readonly NewEvent[]): Promise<RecordedNext> {
  const { asked, dependencies, opened } = step;
  const known = opened.once[NEXT] as RecordedNext | undefined;
  if (known !== undefined) return known;
  step.time.renew();
  const { agent } = step;
  const remembered = await rememberedBy(step);
  const value = isCustomAgent(agent)
    ? await askedNext(step, agent, remembered)
    : await scriptedNext(
        step,
        remembered,
        before.map(({ event }) => event),
      );
  const { session } = opened;
  const callKey = stepKeyOf(asked.runKey, asked.step);
  return (await dependencies.store.turns.recordOnce({ session, callKey, key: NEXT, value })) as RecordedNext;
}

/** Its result of the step before; undefined in its first step. */
async function rememberedBy({ asked, begins, dependencies, opened }: StepParts): Promise<unknown> {
  if (begins.enters) return undefined;
  const callKey = stepKeyOf(asked.runKey, asked.step - 1);
  const once = await dependencies.store.turns.readOnce({ session: opened.session, callKey });
  return (once[NEXT] as RecordedNext | undefined)?.state;
}

async function askedNext(step: StepParts, agent: CustomAgent, state: unknown): Promise<RecordedNext> {
  const { begins, code, context, input } = step;
  const ran = begins.enters ? [] : (input.ran ?? []);
  const own = context.apart();
  const answer: unknown = await code.callback('next', async () => await agent.next(own, state, ran));
  const acted = await eventOfCallback(code, 'next', own, undefined);
  const events = acted === undefined ? [] : [acted];
  if (isRecord(answer) && Array.isArray(answer.done)) {
    const done: unknown[] = answer.done;
    const said = await code.callback('next', async () =>
      done.map((event) => draftOf(event, context.invocation)),
    );
    return { events: [...events, ...said], run: [] };
  }
  if (isRecord(answer) && answer.error !== undefined)
    return { events, run: [], error: checkedError(agent, answer.error) };
  if (!isRecord(answer) || answer.run === undefined) {
    throw wrong(agent, `expected { run, state? }, { done } or { error }, got ${shapeOf(answer)}`);
  }
  const run: unknown[] = Array.isArray(answer.run) ? answer.run : [answer.run];
  if (run.length === 0) throw wrong(agent, 'run: expected at least one agent; to end, return { done: [] }');
  if (run.length > MOST_SUB_AGENTS) {
    throw wrong(agent, `run: expected at most ${MOST_SUB_AGENTS} agents, got ${run.length}`);
  }
  const names = run.map((each, index) =>
    memberName(agent, each, Array.isArray(answer.run) ? `run[${index}]` : 'run'),
  );
  // On one branch each agent would see the other's events.
  const again = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (again !== -1) throw wrong(agent, `run[${again}]: ${names[again]} is there already`);
  return {
    events,
    run: names,
    together: Array.isArray(answer.run),
    ...(answer.state === undefined ? {} : { state: checkedState(agent, answer.state) }),
  };
}

function memberName(agent: CustomAgent, given: unknown, field: string): string {
  const name = isRecord(given) ? given.name : undefined;
  if (typeof name === 'string' && agent.findSubAgent(name) === given) return name;
  const known = agent.subAgents.map((subAgent) => subAgent.name).join(', ') || 'none';
  throw wrong(agent, `${field}: expected one of its sub-agents (${known}), got ${shapeOf(given)}`);
}

function checkedState(agent: CustomAgent, state: unknown): unknown {
  const json = JSON.stringify(state);
  if (json === undefined) throw wrong(agent, `state: expected JSON, got ${kindOf(state)}`);
  const bytes = Buffer.byteLength(json);
  if (bytes <= MOST_STATE) return JSON.parse(json);
  throw wrong(
    agent,
    `state: ${bytes} bytes, at most ${MOST_STATE} are kept; put the rest into context.state`,
  );
}

function checkedError(agent: CustomAgent, error: unknown): TurnError {
  const { code, message } = isRecord(error) ? error : {};
  if (typeof code === 'string' && code !== '' && typeof message === 'string') {
    return { code: excerpt(code, LONGEST_CODE), message: excerpt(message, LONGEST_MESSAGE) };
  }
  throw wrong(agent, `error: expected { code, message }, got ${kindOf(error)}`);
}

function shapeOf(value: unknown): string {
  return isRecord(value) && typeof value.name === 'string' ? `${kindOf(value)} ${value.name}` : kindOf(value);
}

function wrong({ name }: CustomAgent, problem: string): CallbackFailed {
  return new CallbackFailed({ agent: name, callback: 'next', problem, retryable: false });
}

async function scriptedNext(
  step: StepParts,
  given: unknown,
  ahead: readonly DraftEvent[],
): Promise<RecordedNext> {
  const { begins, code, context, input, opened } = step;
  const remembered = given as RememberedScript | undefined;
  const beginning = await beginningOf(step, ahead, remembered);
  const ended = begins.enters ? [] : (input.ran ?? []).map(withFailure);
  const run = new ScriptedRun(step, beginning, ahead, remembered, ended);
  const next = await scripted(code, run);
  const own = context.invocation;
  const events = await code.callback('runAsyncImpl', async () =>
    next.events.map((each) => draftOf(each, own)),
  );
  if (next.run === undefined) return { events, run: [] };
  return {
    ...{ events, run: [next.run.name], state: run.remembered(opened.seq, next) },
    ...(remembered === undefined ? { beginning } : {}),
  };
}

async function beginningOf(
  { asked, context, dependencies, opened, transcript }: StepParts,
  ahead: readonly DraftEvent[],
  remembered: RememberedScript | undefined,
): Promise<ScriptBeginning> {
  if (remembered === undefined) return scriptBeginning(context.init, transcript, ahead);
  const callKey = stepKeyOf(asked.runKey, remembered.began);
  const once = await dependencies.store.turns.readOnce({ session: opened.session, callKey });
  const { beginning } = (once[NEXT] ?? {}) as Partial<RecordedNext>;
  return beginning ?? scriptBeginning(context.init, transcript, ahead);
}

/** @throws HOLDFAST_CUSTOM_AGENT_DIVERGED, CallbackFailed */
async function scripted(code: StepParts['code'], run: ScriptedRun): Promise<ScriptedNext> {
  try {
    return await code.callback('runAsyncImpl', () => run.next());
  } catch (error) {
    throw error instanceof CallbackFailed && hasCode(error.cause, 'HOLDFAST_CUSTOM_AGENT_DIVERGED')
      ? error.cause
      : error;
  }
}

function withFailure(ran: NonNullable<StepParts['input']['ran']>[number]) {
  return ran.status === 'completed' ? { name: ran.name } : { name: ran.name, failed: failureOf(ran).message };
}
