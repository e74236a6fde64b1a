import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { isLlmAgent } from '../../src/agents/llm-agent.ts';
import { isLoopAgent, isParallelAgent, isSequentialAgent } from '../../src/agents/workflow-agents.ts';
import { textOf } from '../../src/events/content.ts';
import { draftFromError, draftOfEnd, type StepDraft } from '../../src/flows/step-draft.ts';
import type { AgentPlan, PlannedAgent, RanAgent } from '../../src/protocol/agent-run.ts';
import { defined } from '../../src/protocol/json.ts';
import type { TurnError } from '../../src/protocol/turn.ts';
import type { NewEvent } from '../../src/store/turns/step-store.ts';
import type { StepParts } from '../model/step-parts.ts';

/** Names on a path: deeper trees are more likely to be endless than meant. */
const DEEPEST = 16;

/**
 * The draft of a workflow agent's step: the agents that it has run, or its end after them.
 *
 * @param before the step's events until then.
 * @returns undefined for an agent that says itself what runs.
 */
export function draftFromPlan(step: StepParts, before: NewEvent[]): StepDraft | undefined {
  const { agent, asked, input } = step;
  const plan = planOf(step, agent);
  if (plan === undefined) return undefined;
  if (plan.agents.length === 0) return endOfAgents(step, before);
  const ran = input.enters === true ? undefined : input.ran;
  if (ran === undefined) return { ...draftOfEnd(asked, before), agents: plan };
  const failed = plan.continueOnError ? undefined : ran.find(({ status }) => status !== 'completed');
  if (failed !== undefined) return draftFromError(asked, failureOf(failed), { events: before });
  return endOfAgents(step, before);
}

/** The error of an agent that is too deep below its root, or that would run others too deep there. */
export function depthError({ agent, input: { path = [] } }: StepParts): TurnError | undefined {
  const deepest = isLlmAgent(agent) ? DEEPEST : DEEPEST - 1;
  if (path.length <= deepest) return undefined;
  return {
    code: 'HOLDFAST_TREE_TOO_DEEP',
    message: `agent ${JSON.stringify(agent.name)} is the ${path.length}th of its path, and at most ${DEEPEST} run below one another`,
  };
}

function planOf(step: StepParts, agent: BaseAgent): AgentPlan | undefined {
  const agents = (isBeside: boolean) =>
    agent.subAgents.map((subAgent) => plannedAgent(step, subAgent, isBeside));
  if (isSequentialAgent(agent)) return { order: 'sequence', agents: agents(false), maxParallel: 1 };
  if (isLoopAgent(agent)) {
    const { maxIterations } = agent;
    const limit = maxIterations === undefined ? {} : { maxIterations };
    return { order: 'loop', agents: agents(false), maxParallel: 1, ...limit };
  }
  if (!isParallelAgent(agent)) return undefined;
  const { continueOnError, maxParallel } = agent;
  return {
    order: 'parallel',
    agents: agents(true),
    maxParallel,
    ...(continueOnError ? { continueOnError: true as const } : {}),
  };
}

/** A workflow agent has come to its end: its answer is the last one that was given meanwhile. */
export function endOfAgents(step: StepParts, before: NewEvent[]): StepDraft {
  const answer = lastAnswer(step);
  return { ...draftOfEnd(step.asked, before), ...defined({ answer }) };
}

/** Texts: `failed to run sub-agent` of adk-go. */
export function failureOf({ name, status, error }: RanAgent): TurnError {
  const { code, message } = error ?? { code: 'SUB_AGENT_FAILED', message: `it was ${status}` };
  return { code, message: `failed to run sub-agent ${JSON.stringify(name)}: ${message}` };
}

/** A sub-agent as the workflow runs it: on the branch of its parent, unless it runs beside others. */
export function plannedAgent(
  { agent, asked: { root }, input }: Pick<StepParts, 'agent' | 'asked' | 'input'>,
  { name }: BaseAgent,
  isBeside = false,
): PlannedAgent {
  const { within } = input;
  const branch = isBeside
    ? [...(input.branch === undefined ? [] : [input.branch]), agent.name, name].join('.')
    : input.branch;
  return {
    name,
    ...defined({ root, within, branch }),
  };
}

/** The last text of an event since the run began, on its branch and those below. */
function lastAnswer({ input, opened, transcript }: StepParts): StepDraft['answer'] {
  const last = transcript.eventsAfter(opened.from - 1).findLast(({ kind, event }) => {
    const isBelow =
      input.branch === undefined ||
      event.branch === input.branch ||
      event.branch?.startsWith(`${input.branch}.`);
    return (
      (kind === 'model' || kind === 'callback') &&
      event.invocationId === input.invocationId &&
      isBelow &&
      textOf(event.content) !== ''
    );
  });
  if (last === undefined) return undefined;
  const { runKey, step, event } = last;
  return { text: textOf(event.content), runKey, step };
}
