import type { BaseAgent, BaseTool, Context } from '../../../src/index.ts';
import { agentOf, askWeather, toolOf, weatherOf } from '../cast.ts';
import { MERGED, modelFailed, replaced, withEvents } from '../differences.ts';
import type { Library, Scenario } from '../scenario.ts';
import { byAgent, calls, type ScriptedLlm, text } from '../scripted-llm.ts';

const PLACES = ['first', 'second', 'third'];

/** Agents that are asked, named by their place. */
const crew = (
  library: Library,
  model: ScriptedLlm,
  more: readonly Parameters<typeof agentOf>[3][],
): BaseAgent[] => more.map((each, index) => agentOf(library, PLACES[index] ?? '', model, each));

const escalating = (library: Library) =>
  toolOf(library, 'stop', (_args, { actions }) => {
    actions.escalate = true;
    return { stopped: true };
  });

function loopInLoop(
  library: Library,
  model: ScriptedLlm,
  { name, exit, rounds = 5 }: { name: string; exit: BaseTool; rounds?: number },
) {
  const [first, second] = crew(library, model, [{ tools: [exit] }, {}]) as [BaseAgent, BaseAgent];
  const inner = new library.LoopAgent({ name: 'inner', maxIterations: rounds, subAgents: [first] });
  return { agent: new library.LoopAgent({ name, maxIterations: 2, subAgents: [inner, second] }) };
}

/** Agents that run agents. */
export const TREES: readonly Scenario[] = [
  {
    name: 'one agent after another',
    script: [[text('A draft.')], [text('Mended.')], [text('A draft again.')], [text('Mended again.')]],
    build: (library, model, name) => ({
      agent: new library.SequentialAgent({
        name,
        subAgents: crew(library, model, [
          { outputKey: 'draft' },
          { instruction: 'Mend {draft}.', outputKey: 'text' },
        ]),
      }),
    }),
    turns: ['write', 'and again'],
  },
  {
    name: 'agents that have nobody to run',
    script: [[text('One.')], [text('Two.')]],
    build: (library, model, name) => {
      const [first, second] = crew(library, model, [{}, {}]) as [BaseAgent, BaseAgent];
      const empty = [
        new library.SequentialAgent({ name: 'sequence' }),
        new library.ParallelAgent({ name: 'beside', subAgents: [] }),
        new library.LoopAgent({ name: 'rounds', maxIterations: 2 }),
      ];
      return { agent: new library.SequentialAgent({ name, subAgents: [first, ...empty, second] }) };
    },
    turns: ['go'],
  },
  {
    name: 'what other agents have called is retold',
    script: [[askWeather()], [text('Three degrees.')], [askWeather()], [text('Still three.')]],
    build: (library, model, name) => ({
      agent: new library.SequentialAgent({
        name,
        subAgents: crew(library, model, [{ tools: [weatherOf(library)] }, { tools: [weatherOf(library)] }]),
      }),
    }),
    turns: ['weather?'],
  },
  {
    name: 'an agent without history behind another',
    script: [[text('One.')], [text('Two.')], [text('Three.')], [text('Four.')]],
    build: (library, model, name) => ({
      agent: new library.SequentialAgent({
        name,
        subAgents: crew(library, model, [{}, { includeContents: 'none' }]),
      }),
    }),
    turns: ['go', 'on'],
  },
  {
    name: 'callbacks of agents that run agents',
    script: [[text('One.')], [text('Two.')]],
    build: (library, model, name, note) => {
      const hooks = (of: string) => ({
        beforeAgentCallback: ({ state }: { state: { set(key: string, value: unknown): void } }) => {
          note('before', of);
          state.set(`before_${of}`, true);
          return undefined;
        },
        afterAgentCallback: () => {
          note('after', of);
          return { role: 'model', parts: [{ text: `${of} is done.` }] };
        },
      });
      const subAgents = crew(library, model, [hooks('first'), hooks('second')]);
      return { agent: new library.SequentialAgent({ name, subAgents, ...hooks('root') }) };
    },
    turns: ['go'],
  },
  {
    name: 'an agent in a sequence that is not run',
    script: [[text('Two.')]],
    build: (library, model, name) => ({
      agent: new library.SequentialAgent({
        name,
        subAgents: crew(library, model, [
          { beforeAgentCallback: () => ({ role: 'model', parts: [{ text: 'Closed.' }] }) },
          {},
        ]),
      }),
    }),
    turns: ['go'],
  },
  {
    name: 'a loop that an agent exits',
    script: [[text('One.')], [text('More.')], [text('Two.')], [calls(['exit_loop'])]],
    build: (library, model, name) => ({
      agent: new library.LoopAgent({
        name,
        maxIterations: 5,
        subAgents: crew(library, model, [{}, { tools: [library.EXIT_LOOP] }]),
      }),
    }),
    turns: ['go'],
  },
  {
    name: 'a loop as often as it may run',
    script: [[text('One.')], [text('Two.')], [text('Three.')]],
    build: (library, model, name) => ({
      agent: new library.LoopAgent({ name, maxIterations: 3, subAgents: crew(library, model, [{}]) }),
    }),
    turns: ['go'],
    differs: MERGED,
  },
  {
    name: 'a loop in a loop',
    script: [[calls(['exit_loop'])], [text('One.')], [calls(['exit_loop'])], [text('Two.')]],
    build: (library, model, name) => loopInLoop(library, model, { name, exit: library.EXIT_LOOP }),
    turns: ['go'],
    differs: {
      because: 'Escalating in a loop within a loop ends the inner one; ADK ends all of them.',
      plays: {
        build: (library, model, name) => {
          class Leaves extends library.ExitLoopTool {
            override async runAsync({ toolContext }: { toolContext: Context }): Promise<unknown> {
              toolContext.actions.skipSummarization = true;
              return '';
            }
          }
          return loopInLoop(library, model, { name, exit: new Leaves(), rounds: 1 });
        },
      },
      adk: (came) =>
        replaced(came, '{"skipSummarization":true}', '{"escalate":true,"skipSummarization":true}'),
    },
  },
  {
    name: 'an agent that escalates speaks to its end',
    script: [[calls(['stop'])], [text('I stop.')]],
    build: (library, model, name) => ({
      agent: new library.LoopAgent({
        name,
        maxIterations: 3,
        subAgents: [
          new library.SequentialAgent({
            name: 'steps',
            subAgents: crew(library, model, [{ tools: [escalating(library)] }]),
          }),
          agentOf(library, 'never', model),
        ],
      }),
    }),
    turns: ['go'],
  },
  {
    name: 'an agent behind one that escalates in a sequence of a loop',
    script: [[calls(['exit_loop'])], [text('I am asked all the same.')]],
    build: (library, model, name) => ({
      agent: new library.LoopAgent({
        name,
        maxIterations: 3,
        subAgents: [
          new library.SequentialAgent({
            name: 'steps',
            subAgents: crew(library, model, [{ tools: [library.EXIT_LOOP] }, {}]),
          }),
        ],
      }),
    }),
    turns: ['go'],
  },
  {
    name: 'agents at the same time',
    script: byAgent({
      first: [text('From the first.')],
      second: [text('From the second.')],
      third: [text('From the third.')],
    }),
    unordered: true,
    build: (library, model, name) => ({
      agent: new library.ParallelAgent({
        name,
        subAgents: [
          agentOf(library, 'first', model, { outputKey: 'one' }),
          new library.SequentialAgent({
            name: 'steps',
            subAgents: [
              agentOf(library, 'second', model, { outputKey: 'two' }),
              agentOf(library, 'third', model, { instruction: 'You know {two}.' }),
            ],
          }),
        ],
      }),
    }),
    turns: ['go'],
  },
  {
    name: 'agents at the same time below such agents',
    script: byAgent({ first: [text('One.')], second: [text('Two.')], third: [text('Three.')] }),
    unordered: true,
    build: (library, model, name) => {
      const [first, second, third] = crew(library, model, [{}, {}, {}]) as [BaseAgent, BaseAgent, BaseAgent];
      const inner = new library.ParallelAgent({ name: 'inner', subAgents: [second, third] });
      return { agent: new library.ParallelAgent({ name, subAgents: [first, inner] }) };
    },
    turns: ['go'],
  },
  {
    name: 'a model that fails in a sequence',
    script: [new Error('overloaded')],
    build: (library, model, name) => ({
      agent: new library.SequentialAgent({ name, subAgents: crew(library, model, [{}, {}]) }),
    }),
    turns: ['go'],
    differs: {
      because:
        'An agent that fails ends those that run it, and the turn, with `failed to run sub-agent "x": …` as in adk-go; ADK 2.0.0 ' +
        'goes on with the next agent.',
      adk: (came) => ({
        ...withEvents(modelFailed(came, 'overloaded'), (events) => [
          ...events.slice(0, 1),
          {
            author: 'a_model_that_fails_in_a_sequence',
            errorCode: 'HOLDFAST_MODEL_UNKNOWN',
            errorMessage: 'failed to run sub-agent "first": The model call failed: overloaded',
            actions: {},
          },
        ]),
        requests: came.requests.slice(0, 1),
      }),
    },
  },
];
