import type { BaseAgent } from '../src/agents/base-agent.ts';
import { agentToRun } from '../src/flows/agent-to-run.ts';
import type { Transcript } from '../src/flows/transcript.ts';
import type { ActingAgent, CallModelInput } from '../src/protocol/step.ts';
import type { OpenedStep } from '../src/store/store.ts';
import { agentOf, type Deployment, rootAgentOf, treeOf } from './deployment.ts';

type OpenStep = Extract<OpenedStep, { kind: 'open' }>;

/** Who acts in a step. */
export interface Actors {
  agent: BaseAgent;
  /** Root of the tree that it is in. */
  root: string;
  /** Those that have handed the turn on, the first one first. */
  handedOnBy: readonly BaseAgent[];
}

/**
 * Who acts: whom the workflow names, whom the message is for, or whoever of the tree has to go on with the session.
 *
 * @throws NotDeployedHere
 */
export function actorsOf(
  deployment: Deployment,
  input: CallModelInput,
  { asked, names }: Pick<OpenStep, 'asked' | 'names'>,
  transcript: Transcript,
): Actors {
  const name = input.agent ?? asked.agent;
  const rootName = input.root ?? input.rootAgent ?? asked.rootAgent ?? rootAgentOf(deployment, names.app);
  if (name === undefined) {
    const tree = treeOf(deployment, { root: rootName });
    return { agent: agentToRun(tree, transcript.events()), root: tree.name, handedOnBy: [] };
  }
  const place: ActingAgent = input.root === undefined ? {} : { root: rootName };
  const within = input.within === undefined ? {} : { within: input.within };
  const agent = agentOf(deployment, { name, ...place, ...within }, rootName);
  const handedOnBy = (input.handedOnBy ?? []).map((each) =>
    agentOf(deployment, { name: each, ...place, ...within }, rootName),
  );
  const root = input.within === undefined ? agent.rootAgent.name : rootName;
  return { agent, root, handedOnBy };
}

/** Who acts, where the workflow says it: in every step but the first of a turn. */
export function actorsOfRun(
  deployment: Deployment,
  { agent: name = '', root, within }: CallModelInput,
): Pick<Actors, 'agent'> {
  const place = { ...(root === undefined ? {} : { root }), ...(within === undefined ? {} : { within }) };
  return { agent: agentOf(deployment, { name, ...place }) };
}
