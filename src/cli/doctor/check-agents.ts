import { checkToolsets, deploy } from '../../../worker/deploy.ts';
import { loadAgents } from '../load-agents.ts';
import { type Finding, findingsAbout, type Surroundings } from './finding.ts';

const { failed, ok, warn } = findingsAbout('agents');

/** Whether a worker would start with the agents of a file. */
export async function checkAgents({ agents: file }: Surroundings): Promise<Finding[]> {
  if (file === undefined) return [];
  const warned: Finding[] = [];
  try {
    const { agents, apps } = await loadAgents(file);
    await checkToolsets(deploy({ agents, apps }), {
      warn: (_, attributes = {}) => {
        const { agent, toolset, reason } = attributes;
        const advice = 'turns ask it again; see whether its server is there, and its document is right';
        warned.push(...warn(`toolset ${toolset} of agent ${agent}: ${reason}`, advice));
      },
    });
    return [...warned, ...ok(`${agents.map(({ name }) => name).join(', ')} of ${file}`)];
  } catch (error) {
    return [...warned, ...failed(error, `mend it in ${file}, or in what it names`)];
  }
}
