import { checkToolsets, deploy } from '../../../worker/deploy.ts';
import { loadAgents } from '../load-agents.ts';
import { type Finding, failed, ok, type Surroundings, warn } from './finding.ts';

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
        warned.push(warn('agents', `toolset ${toolset} of agent ${agent}: ${reason}`, advice));
      },
    });
    return [...warned, ok('agents', `${agents.map(({ name }) => name).join(', ')} of ${file}`)];
  } catch (error) {
    return [...warned, failed('agents', error, `mend it in ${file}, or in what it names`)];
  }
}
