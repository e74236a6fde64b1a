import type { ResolvedPriceTable } from '../app/price-table.ts';
import type { TurnUsage } from '../contract/sessions.ts';
import { PROTOCOL_VERSION } from '../contract/version.ts';
import { isCompactedEvent } from '../events/compacted-event.ts';
import { textOf } from '../events/content.ts';
import { createEventActions, type EventActions } from '../events/event-actions.ts';
import type { AgentPlan, AgentRef } from '../protocol/agent-run.ts';
import { digestOf } from '../protocol/canonical-json.ts';
import { stepKeyOf } from '../protocol/identity.ts';
import { defined } from '../protocol/json.ts';
import type { AppTerms, RunTerms, ToolEdit } from '../protocol/run-terms.ts';
import type { InvocationOutcome, TurnError } from '../protocol/turn.ts';
import type { NewRequest } from '../store/approvals/approval-store.ts';
import type { CommitStep, NewEvent } from '../store/turns/step-store.ts';
import type { CallPlan } from './plan-calls.ts';
import { carry, cutToBytes } from './size-rule.ts';
import { addUsage, NO_USAGE } from './step-usage.ts';

/** Messages of a turn's end go into the history, in bytes. */
const LONGEST_MESSAGE = 2_000;
const LONGEST_CODE = 200;

export interface AskedStep {
  app?: string;
  session: string;
  invocationId: string;
  runKey: string;
  step: number;
  agent: string;
  /** Root of the agent's tree. */
  root?: string;
  /** The way to that tree from the turn's own. */
  within?: AgentRef['within'];
  /** Branch of events without a branch of their own. */
  branch?: string;
  model: string;
  /** The limits of the agent's run; `timeLeft` in milliseconds. */
  terms?: RunTerms & { timeLeft?: number };
  /** The limits of its app. */
  appTerms?: AppTerms;
  /** The usage of earlier steps of the invocation. */
  usage: TurnUsage;
  prices: ResolvedPriceTable;
}

/** The events and effects of a step, before plugins have seen its events and before the end of its turn is written. */
export interface StepDraft {
  asked: AskedStep;
  /** In order: those of callbacks and processors, then the model's. */
  events: NewEvent[];
  usage: TurnUsage;
  /** The calls that it asks for; its turn ends without. */
  plan?: CallPlan & {
    maxParallelCalls: number;
    chain?: true | undefined;
    /** Tool edits of the run, where this step has changed them. */
    toolEdits?: readonly ToolEdit[] | undefined;
    /** User code has ended the invocation: the calls run, and no model is asked about them. */
    ends?: boolean;
    /** The requests to people before calls run. */
    requests?: readonly NewRequest[];
  };
  /** The agents that a workflow agent has run before it is asked again. */
  agents?: AgentPlan;
  /** For a workflow agent that has finished: its answer, and the step that gave it. */
  answer?: { text: string; runKey: string; step: number };
  /** Why the turn has failed. */
  error?: TurnError;
  /** User code has ended the turn before its agent had come to its own end, or before its run had begun. */
  cut?: 'agent' | 'run';
}

/** The rows that a model's answer, or its failure, adds to the store. */
export type StepResponse = Pick<
  CommitStep,
  | 'agent'
  | 'artifacts'
  | 'calls'
  | 'ending'
  | 'ends'
  | 'events'
  | 'outcome'
  | 'requests'
  | 'rows'
  | 'toolEdits'
  | 'usage'
>;

/** Whether the run has another step. */
export function hasNextStep({ plan, agents }: Pick<StepDraft, 'plan' | 'agents'>): boolean {
  return plan !== undefined || agents !== undefined;
}

/** The end of a turn that asks no model, which may have been said by user code. */
export function draftOfEnd(asked: AskedStep, events: NewEvent[] = [], usage = NO_USAGE): StepDraft {
  return { asked, events, usage };
}

/**
 * The end of a turn whose model, or whose agent, can't go on: an error event, kept.
 *
 * @param kept what the step has said and done until then.
 */
export function draftFromError(
  asked: AskedStep,
  error: { code: string; message: string },
  kept: { usage?: TurnUsage; events?: NewEvent[]; actions?: EventActions } = {},
): StepDraft {
  const told = shortened(error);
  const { usage = NO_USAGE, events = [], actions = createEventActions() } = kept;
  return { asked, events: [...events, errorEvent(asked, told, actions)], usage, error: told };
}

export function errorEvent(
  { invocationId, agent }: Pick<AskedStep, 'invocationId' | 'agent'>,
  { code, message }: TurnError,
  actions: EventActions = createEventActions(),
): NewEvent {
  return {
    kind: 'error',
    event: { invocationId, author: agent, errorCode: code, errorMessage: message, actions },
  };
}

export function shortened({ code, message }: { code: string; message: string }): TurnError {
  return { code: cutToBytes(code, LONGEST_CODE), message: cutToBytes(message, LONGEST_MESSAGE) };
}

/** The answer of a turn that ends with these events: a callback may have written the last one. */
export function textOfEvents(events: readonly NewEvent[]): string | undefined {
  const said = events.filter(({ kind, event }) => kind !== 'error' && !isCompactedEvent(event));
  const texts = said.map(({ event }) => textOf(event.content));
  return (
    texts.findLast((text) => text !== '') ?? (said.some(({ kind }) => kind === 'model') ? '' : undefined)
  );
}

/** @param output the value that the answer is the JSON of, for an agent that answers by a schema. */
export function recordOf(draft: StepDraft, output?: { value: unknown }): StepResponse {
  const { asked, usage, plan, agents, error } = draft;
  const events = onBranch(asked.branch, draft.events);
  const { session, agent, model, root, within = [] } = asked;
  const total = addUsage(asked.usage, usage);
  const escalated = events.some(({ event }) => event.actions.escalate === true);
  const position = {
    ...{ v: PROTOCOL_VERSION, session, seq: 0, agent },
    ...defined({ root }),
    ...(escalated ? { escalated: true as const } : {}),
  };
  if (plan !== undefined) {
    const { calls, schedules, rows, all, maxParallelCalls, chain, toolEdits, ends, requests } = plan;
    return {
      agent,
      events,
      calls: all,
      rows,
      ...defined({ requests }),
      usage,
      ...defined({ toolEdits }),
      ...(ends === true ? { ends } : {}),
      outcome: {
        ...position,
        ...{ kind: 'calls', model, calls, schedules, maxParallelCalls, ...defined({ chain }), usage: total },
        // Only the agent that was asked about a call runs it unasked.
        ...(calls.some(({ prepared }) => prepared) ? { place: digestOf(within) } : {}),
      },
    };
  }
  if (agents !== undefined) {
    const outcome = { ...position, kind: 'agents' as const, plan: agents, usage: total };
    return { agent, events, calls: [], rows: [], usage, outcome };
  }
  const said = textOfEvents(events);
  // A workflow agent's answer is that of the last one that it has run, unless a callback after it has the last word.
  const { text = said, ...place } = said ? {} : (draft.answer ?? {});
  const ending: InvocationOutcome =
    error === undefined
      ? { status: 'completed', ...invocationAnswer({ ...asked, ...place }, text, output), usage: total }
      : { status: 'failed', error, usage: total };
  const outcome = {
    ...position,
    model,
    kind: error === undefined ? ('final' as const) : ('failed' as const),
    from: 0,
    outcome: ending,
  };
  return { agent, events, calls: [], rows: [], usage, outcome, ending };
}

export function onBranch(branch: string | undefined, events: NewEvent[]): NewEvent[] {
  if (branch === undefined) return events;
  return events.map(({ kind, event }) => ({ kind, event: { branch, ...event } }));
}

/** Text and value of an answer, by the size rule of results: the text is plain while it is small. */
export function invocationAnswer(
  { runKey, step }: Pick<AskedStep, 'runKey' | 'step'>,
  text: string | undefined,
  output: { value: unknown } | undefined,
): Pick<InvocationOutcome, 'text' | 'output'> {
  if (text === undefined) return {};
  const key = stepKeyOf(runKey, step);
  const carried = carry(key, text);
  if ('value' in carried) return { text: carried.value, ...defined({ output }) };
  // The content under the key is the text; the value is what it is the JSON of.
  return { text: carried.ref, ...(output === undefined ? {} : { output: { ref: carried.ref } }) };
}
