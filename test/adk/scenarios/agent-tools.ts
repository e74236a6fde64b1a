import { z } from 'zod';
import { agentOf, toolOf } from '../cast.ts';
import type { ComparableEvent } from '../comparable.ts';
import { replaced, withEvents } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

const ask = (request = 'why?') => calls(['helper', { request }]);

/** Agents that are tools. */
export const AGENT_TOOLS: readonly Scenario[] = [
  {
    name: 'an agent that is a tool',
    script: [[ask()], [text('Because.')], [text('So it is.')]],
    build: (library, model, name) => {
      const helper = agentOf(library, 'helper', model, { description: 'knows why', outputKey: 'why' });
      const tools = [new library.AgentTool({ agent: helper })];
      return { agent: agentOf(library, name, model, { tools, instruction: 'Known: {why?}.' }) };
    },
    turns: ['why?'],
    state: { topic: 'stars' },
  },
  {
    name: 'an agent that is a tool sees its caller’s state',
    script: [[ask()], [calls(['note'])], [text('Noted.')], [text('Done.')]],
    build: (library, model, name) => {
      const note = toolOf(library, 'note', (_args, { state }) => {
        state.set('noted', `${state.get('topic')}!`);
        return { noted: true };
      });
      const helper = agentOf(library, 'helper', model, { instruction: 'Of {topic}.', tools: [note] });
      const tools = [new library.AgentTool({ agent: helper })];
      return { agent: agentOf(library, name, model, { tools, instruction: 'Known: {noted?}.' }) };
    },
    turns: ['go'],
    state: { topic: 'stars' },
  },
  {
    name: 'agents that are tools of one another save an artifact twice',
    script: [
      [ask()],
      [calls(['save'])],
      [calls(['deeper', { request: 'more' }])],
      [calls(['save'])],
      [text('Saved.')],
      [text('Both.')],
      [text('Done.')],
    ],
    build: (library, model, name) => {
      const save = toolOf(library, 'save', async (_args, context) => ({
        version: await context.saveArtifact('dug.txt', { text: 'a bone' }),
      }));
      const deeper = agentOf(library, 'deeper', model, { tools: [save] });
      const tools = [save, new library.AgentTool({ agent: deeper })];
      const helper = agentOf(library, 'helper', model, { tools });
      return { agent: agentOf(library, name, model, { tools: [new library.AgentTool({ agent: helper })] }) };
    },
    turns: ['dig'],
  },
  {
    name: 'an agent that is a tool and has schemas',
    script: [[calls(['helper', { topic: 'love' }])], [text('{"books":["Emma"]}')], [text('Read Emma.')]],
    build: (library, model, name) => {
      const helper = agentOf(library, 'helper', model, {
        inputSchema: z.object({ topic: z.string() }),
        outputSchema: z.object({ books: z.array(z.string()) }),
      });
      return { agent: agentOf(library, name, model, { tools: [new library.AgentTool({ agent: helper })] }) };
    },
    turns: ['what to read?'],
  },
  {
    name: 'an agent that is a tool has the last word',
    script: [[ask()], [text('Because.')]],
    build: (library, model, name) => {
      const agent = agentOf(library, 'helper', model);
      const tools = [new library.AgentTool({ agent, skipSummarization: true })];
      return { agent: agentOf(library, name, model, { tools }) };
    },
    turns: ['why?'],
    differs: {
      because:
        '`skipSummarization` of an `AgentTool` counts; ADK takes it and asks for a summary all the same.',
      plays: { script: [[ask()], [text('Because.')], [text('A summary.')]] },
      adk: (came) => ({
        ...withEvents(came, ([called, answered]) => [
          called as ComparableEvent,
          { ...(answered as ComparableEvent), actions: { skipSummarization: true } },
        ]),
        requests: came.requests.slice(0, 2),
      }),
    },
  },
  {
    name: 'an agent that is a tool and is asked again',
    script: [[ask('a')], [text('One.')], [ask('b')], [text('Two.')], [text('Done.')]],
    build: (library, model, name) => {
      const tools = [new library.AgentTool({ agent: agentOf(library, 'helper', model) })];
      return { agent: agentOf(library, name, model, { tools }) };
    },
    turns: ['go'],
    differs: {
      because:
        'An agent that is a tool begins each call afresh; in ADK it sees the calls before it, of the same session (adk-js #294).',
      adk: (came) => ({
        ...came,
        requests: came.requests.map((request, index) =>
          index === 3 ? { ...request, contents: request.contents.slice(-1) } : request,
        ),
      }),
    },
  },
  {
    name: 'an agent that is a tool and fails',
    script: [[ask()], new Error('overloaded'), [text('Sorry.')]],
    build: (library, model, name) => {
      const tools = [new library.AgentTool({ agent: agentOf(library, 'helper', model) })];
      return { agent: agentOf(library, name, model, { tools }) };
    },
    turns: ['go'],
    differs: {
      because:
        'The error of an agent that is a tool is told to its caller; ADK tells the caller an empty result.',
      adk: (came) =>
        replaced(
          came,
          '"response":{"result":""}',
          '"response":{"error":"error from sub-agent \\"helper\\" (code: \\"HOLDFAST_MODEL_UNKNOWN\\", message: \\"The model call failed: overloaded\\")"}',
        ),
    },
  },
  {
    name: 'agents that are a tool run agents',
    script: [[ask()], [text('One.')], [text('Two.')], [text('Done.')]],
    build: (library, model, name) => {
      const subAgents = ['first', 'second'].map((each) => agentOf(library, each, model));
      const helper = new library.SequentialAgent({ name: 'helper', description: 'works', subAgents });
      return { agent: agentOf(library, name, model, { tools: [new library.AgentTool({ agent: helper })] }) };
    },
    turns: ['go'],
  },
];
