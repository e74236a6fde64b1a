import type { BaseAgent } from '../../src/agents/base-agent.ts';
import { finalTextOf } from '../../src/flows/final-text.ts';
import { draftOfEnd, type StepDraft } from '../../src/flows/step-draft.ts';
import type { PlannedAgent, RanAgent } from '../../src/protocol/agent-run.ts';
import type { TurnError } from '../../src/protocol/turn.ts';
import type { NewEvent } from '../../src/store/turns/step-store.ts';
import type { StepParts } from '../model/step-parts.ts';

/** A workflow agent has come to its end: its answer is the last one that was given meanwhile. */
export function endOfAgents(step: StepParts, before: NewEvent[]): StepDraft {
  const answer = lastAnswer(step);
  return { ...draftOfEnd(step.asked, before), ...(answer === undefined ? {} : { answer }) };
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
    ...(root === undefined ? {} : { root }),
    ...(within === undefined ? {} : { within }),
    ...(branch === undefined ? {} : { branch }),
  };
}

/** Of the last event with a text, among those that were written since the run began, on its branch and those below. */
function lastAnswer({ input, opened, transcript }: StepParts): StepDraft['answer'] {
  const last = transcript.behind(opened.from - 1).findLast(({ kind, event }) => {
    const isBelow =
      input.branch === undefined ||
      event.branch === input.branch ||
      event.branch?.startsWith(`${input.branch}.`);
    return (
      (kind === 'model' || kind === 'callback') &&
      event.invocationId === input.invocationId &&
      isBelow &&
      finalTextOf(event.content) !== ''
    );
  });
  if (last === undefined) return undefined;
  const { runKey, step, event } = last;
  return { text: finalTextOf(event.content), runKey, step };
}
