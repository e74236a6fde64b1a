import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { createTestEnvironment } from '../../src/testing/index.ts';

/** A program that is killed in the middle of its tests. */
const agent = new LlmAgent({ name: 'desk', model: 'gemini-2.5-flash' });
await createTestEnvironment({ agents: [agent] });
console.log('open');
