import type { BaseAgent } from '../src/agents/base-agent.ts';
import { isLlmAgent } from '../src/agents/is-llm-agent.ts';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { agentToRun } from '../src/flows/agent-to-run.ts';
import type { Transcript } from '../src/flows/transcript.ts';
import type { ActingAgent, AgentRef } from '../src/protocol/agent-run.ts';
import { CONFIRM_AGENT } from '../src/protocol/names.ts';
import type { CallModelInput } from '../src/protocol/step.ts';
import type { OpenedStep } from '../src/store/store.ts';
import { assertOfApp, isOfApp } from './app-of-agent.ts';
import { isConfirmAgent } from './approvals/confirm-agent.ts';
import { type Deployment, rootAgentOf } from './deployment.ts';
import { agentOf, type NamedAgent, treeOf } from './find-agent.ts';
import { NotDeployedHere } from './not-deployed-here.ts';

type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

/** Who acts in a step. */
export interface Actors {
  agent: BaseAgent;
  /** Root of the tree that it is in. */
  root: string;
  /** Those that have handed the turn on, the first one first. */
  handedOnBy: readonly BaseAgent[];
}

/** @throws NotDeployedHere */
export function agentNamed(deployment: Deployment, { agent: name, root, within }: NamedAgent): BaseAgent {
  return agentOf(deployment, refOf(name, { root, within }));
}

/**
 * The agent that has asked for a call: only those that ask a model do.
 *
 * @throws NotDeployedHere
 */
export function callerOf(deployment: Deployment, named: NamedAgent): LlmAgent {
  const agent = agentNamed(deployment, named);
  if (isLlmAgent(agent)) return agent;
  throw new NotDeployedHere('agent', named.agent, ['another agent of that name, which has no tools']);
}

/** Undefined where this worker has no such agent. */
export function knownCaller(deployment: Deployment, named: NamedAgent): LlmAgent | undefined {
  try {
    return callerOf(deployment, named);
  } catch (error) {
    if (error instanceof NotDeployedHere) return undefined;
    throw error;
  }
}

/** Those that have handed a turn on, the first one first. */
export function handedOnBy(
  deployment: Deployment,
  {
    handedOnBy: names = [],
    root,
    within,
  }: Pick<ActingAgent, 'root' | 'within'> & { handedOnBy?: readonly string[] },
): BaseAgent[] {
  return names.map((name) => agentOf(deployment, refOf(name, { root, within })));
}

/**
 * Who acts: whom the workflow names, whom the message is for, or whoever of the tree has to go on with the session.
 *
 * @throws NotDeployedHere, AgentOfAnotherApp
 */
export function actorsOf(
  deployment: Deployment,
  input: CallModelInput,
  { asked, names, lastAgent }: Pick<OpenStep, 'asked' | 'names' | 'lastAgent'>,
  transcript: Transcript,
): Actors {
  const name = input.agent ?? asked.agent;
  const named = input.rootAgent ?? asked.rootAgent;
  const tree = named ?? rootAgentOf(deployment, names.app);
  if (name === undefined) {
    const last = lastAgent === CONFIRM_AGENT ? answeredBefore(transcript) : lastAgent;
    const known = named ?? (last === undefined ? tree : rootOf(deployment, last, tree));
    // Another app's agent may have been asked for here before, in vain: the session goes on without it.
    const isGone = named === undefined && !isOfApp(deployment, names.app, { agent: known, root: known });
    const root = isGone ? tree : known;
    assertOfApp(deployment, names.app, { agent: root, root });
    return { agent: agentToRun(treeOf(deployment, root), transcript.events()), root, handedOnBy: [] };
  }
  const { within } = input;
  // The message of a turn may name any agent that serves its app: those of the app's own tree come first.
  const root = input.root ?? rootOf(deployment, name, tree);
  const place = { ...input, agent: name, root };
  assertOfApp(deployment, names.app, place);
  const agent = agentOf(deployment, refOf(name, { root, within }));
  return { agent, root, handedOnBy: handedOnBy(deployment, place) };
}

/** Who had the session before a workflow has asked people in it. */
function answeredBefore(transcript: Transcript): string | undefined {
  const said = transcript
    .events()
    .findLast(({ author, content }) => author !== CONFIRM_AGENT && content?.role === 'model');
  return said?.author;
}

/** Root of the tree that an agent is in which is named without one. @throws NotDeployedHere */
export function rootOf(deployment: Deployment, name: string, tree: string): string {
  if (isConfirmAgent(name)) return name;
  const first = deployment.roots.get(tree);
  if (first?.findAgent(name) !== undefined) return tree;
  return agentOf(deployment, { name }).rootAgent.name;
}

function refOf(
  name: string,
  { root, within }: { root?: string | undefined; within?: ActingAgent['within'] | undefined },
): AgentRef {
  return {
    name,
    ...(root === undefined ? {} : { root }),
    ...(within === undefined ? {} : { within }),
  };
}
