import { AgentTool, App, EXIT_LOOP, LlmAgent, LoopAgent, ParallelAgent, SequentialAgent } from 'holdfast';
import { z } from 'zod';
import { publishReport } from './publish-report.ts';
import { reviewDraft } from './review-draft.ts';
import { searchNotes } from './search-notes.ts';

export { researchScript as geminiScript } from './script.ts';

const model = 'gemini-2.5-flash';

/** Sees nothing of the conversation: it is asked one thing, in a session of its own. */
const factChecker = new LlmAgent({
  name: 'fact_checker',
  model,
  description: 'Checks one claim against the notes, and says what holds.',
  instruction: `Look for what the claim is about by search_notes. A press release proves nothing: look for counts, statements, surveys.
Answer in one line: "holds", "wrong" or "unknown", a colon, and what the notes say, with the source, like [counts.md:4].`,
  inputSchema: z.object({ claim: z.string().min(1) }),
  tools: [searchNotes],
});

const RESEARCH = `Use search_notes, with a few words. Answer in at most three lines. Each is one fact, in your own words, that ends
with its source in brackets, like [budget.md:3].`;

const money = new LlmAgent({
  name: 'money',
  model,
  description: 'Finds out what it costs, and who pays.',
  instruction: `You find out what the question is about costs, and who pays. ${RESEARCH}`,
  tools: [searchNotes],
  outputKey: 'money',
});

const riders = new LlmAgent({
  name: 'riders',
  model,
  description: 'Finds out how many people ride, and how well.',
  instruction: `You find out how many people ride, and how well. ${RESEARCH}
Have each claim of a press release checked by fact_checker, all at once, and give what it says instead.`,
  tools: [searchNotes, new AgentTool({ agent: factChecker, attempts: 2, budget: { modelCalls: 6 } })],
  outputKey: 'riders',
});

const voices = new LlmAgent({
  name: 'voices',
  model,
  description: 'Finds out what people say.',
  instruction: `You find out what people say, in surveys and letters. ${RESEARCH}`,
  tools: [searchNotes],
  outputKey: 'voices',
});

const drafter = new LlmAgent({
  name: 'drafter',
  model,
  description: 'Writes the draft, and mends it.',
  instruction: `Answer the question in at most 90 words, one statement a line, by these findings alone:
{money}
{riders}
{voices}
Each line with a figure ends with its source in brackets. Where the critic has found something, mend that, and change nothing else.`,
  outputKey: 'draft',
});

const critic = new LlmAgent({
  name: 'critic',
  model,
  description: 'Finds what is wrong with the draft.',
  instruction: `Give the draft to review_draft as it is. Say what it finds, in one line. Where it finds nothing, call exit_loop.
The draft:
{draft}`,
  tools: [reviewDraft, EXIT_LOOP],
});

const writer = new LlmAgent({
  name: 'writer',
  model,
  description: 'Publishes the report.',
  instruction: `Publish the draft by publish_report, its lines as they are, with a title. People decide whether it is published.
Say in a sentence where it stands; where it was rejected say why, and don't try again.
The draft:
{draft}`,
  tools: [publishReport],
});

export const app = new App({
  name: 'research',
  rootAgent: new SequentialAgent({
    name: 'briefing',
    description: 'Answers a question by what the notes say, and publishes the answer.',
    subAgents: [
      new ParallelAgent({ name: 'research', subAgents: [money, riders, voices] }),
      new LoopAgent({ name: 'revision', subAgents: [drafter, critic], maxIterations: 5 }),
      writer,
    ],
  }),
  durable: { budgets: { turn: { modelCalls: 60, time: '3 days' } } },
});
