import { isLlmAgent } from '../../src/agents/is-llm-agent.ts';
import { modelOutputOf } from '../../src/flows/model-output.ts';
import type { UserCode } from '../user-code.ts';

/**
 * The value of an answer, of an agent that answers by a schema; undefined where it isn't what the schema asks for.
 *
 * @throws what has the attempt end.
 */
export async function outputOf(
  code: UserCode,
  text: string | undefined,
  failed: (error: unknown) => void,
): Promise<{ value: unknown } | undefined> {
  const { agent } = code;
  if (!isLlmAgent(agent) || agent.outputSchema === undefined || text === undefined || text.trim() === '')
    return undefined;
  try {
    const { output, problem } = await code.callback('outputSchema', () => modelOutputOf(agent, text));
    if (problem !== undefined) failed(new Error(`the answer does not match outputSchema: ${problem}`));
    return output;
  } catch (error) {
    failed(error);
    return undefined;
  }
}
