import { LlmAgent } from '../src/agents/llm-agent.ts';
import { createTestEnvironment, text } from '../src/testing/index.ts';
import { median } from './statistics.ts';

const ROUNDS = 5;

/** Waiting times of a test: before its first assertion, and for one turn after that. */
const opened: number[] = [];
const answered: number[] = [];
const closed: number[] = [];
for (let round = 0; round <= ROUNDS; round += 1) {
  const began = performance.now();
  const env = await createTestEnvironment({
    agents: [new LlmAgent({ name: 'echo', model: 'gemini-2.5-flash' })],
    script: () => text('hello'),
  });
  const open = performance.now();
  await env.run('hello');
  const answer = performance.now();
  await env.close();
  const end = performance.now();
  // The first one prepares the store and loads the code.
  if (round === 0) {
    process.stdout.write(`createTestEnvironment, the first time: ${ms(open - began)}\n`);
    continue;
  }
  opened.push(open - began);
  answered.push(answer - open);
  closed.push(end - answer);
}
process.stdout.write(
  `createTestEnvironment, median of ${ROUNDS}: open ${ms(median(opened))}, first turn ${ms(median(answered))}, close ${ms(median(closed))}\n`,
);

function ms(time: number): string {
  return `${Math.round(time)} ms`;
}
