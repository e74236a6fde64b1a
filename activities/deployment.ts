import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { NotDeployedHere } from './not-deployed-here.ts';

/** The agents that a worker runs. */
export interface Deployment {
  /** Answers where neither the turn nor the session names an agent. */
  rootAgent: string;
  agents: ReadonlyMap<string, LlmAgent>;
}

export function agentOf({ agents }: Deployment, name: string): LlmAgent {
  const agent = agents.get(name);
  if (agent === undefined) throw new NotDeployedHere('agent', name, [...agents.keys()]);
  return agent;
}
