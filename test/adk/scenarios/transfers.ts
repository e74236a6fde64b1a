import { agentOf, toolOf } from '../cast.ts';
import { replaced, withEvents } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

const to = (agentName: string) => calls(['transfer_to_agent', { agentName }]);

/** Turns that are transferred. */
export const TRANSFERS: readonly Scenario[] = [
  {
    name: 'a turn is handed to a sub-agent and back',
    script: [
      [to('billing')],
      [text('Paid.')],
      [text('Anything else?')],
      [to('a_turn_is_handed_to_a_sub_agent_and_back')],
      [text('Back.')],
      [text('Still here.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        description: 'greets',
        globalInstruction: 'Be kind.',
        subAgents: [agentOf(library, 'billing', model, { description: 'knows bills', outputKey: 'bill' })],
      }),
    }),
    turns: ['my bill?', 'thanks', 'somebody else', 'hello?'],
  },
  {
    name: 'sub-agents without a model have that of the agent above',
    script: [[to('billing')], [to('steps')], [text('Refunded.')]],
    build: (library, model, name) => {
      const bare = (each: string, more: object = {}) =>
        new library.LlmAgent({ name: each, description: `knows ${each}`, ...more });
      const steps = new library.SequentialAgent({ name: 'steps', subAgents: [bare('refunds')] });
      const billing = bare('billing', { subAgents: [steps] });
      return { agent: agentOf(library, name, model, { subAgents: [billing] }) };
    },
    turns: ['my money!'],
  },
  {
    name: 'a turn goes to a peer and further down',
    script: [[to('sales')], [to('billing')], [to('refunds')], [text('Refunded.')], [text('Sure.')]],
    build: (library, model, name) => {
      const refunds = agentOf(library, 'refunds', model);
      const billing = agentOf(library, 'billing', model, { subAgents: [refunds] });
      const sales = agentOf(library, 'sales', model);
      return { agent: agentOf(library, name, model, { subAgents: [sales, billing] }) };
    },
    turns: ['my money!', 'really?'],
  },
  {
    name: 'agents that may not hand on',
    script: [[to('sales')], [text('Sold.')], [to('billing')], [text('Paid.')], [text('Hello.')]],
    build: (library, model, name) => {
      const sales = agentOf(library, 'sales', model, { disallowTransferToPeers: true });
      const billing = agentOf(library, 'billing', model, {
        disallowTransferToParent: true,
        disallowTransferToPeers: true,
      });
      return { agent: agentOf(library, name, model, { subAgents: [sales, billing] }) };
    },
    turns: ['buy', { message: 'and again', session: 'another' }, { message: 'hi', session: 'another' }],
  },
  {
    name: 'a turn is handed to agents that run others',
    script: [[to('steps')], [text('One.')], [text('Two.')], [text('Mine.')]],
    build: (library, model, name) => {
      const subAgents = ['first', 'second'].map((each) => agentOf(library, each, model));
      const steps = new library.SequentialAgent({ name: 'steps', description: 'works', subAgents });
      return { agent: agentOf(library, name, model, { subAgents: [steps] }) };
    },
    turns: ['go', 'and now?'],
  },
  {
    name: 'a transfer beside other calls',
    script: [
      [calls(['note', {}], ['transfer_to_agent', { agentName: 'billing' }], ['note', {}])],
      [text('Paid.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(
            library,
            'note',
            (_args, { state }) => {
              state.set('noted', Number(state.get('noted') ?? 0) + 1);
              return { noted: true };
            },
            { isConcurrencySafe: false },
          ),
        ],
        subAgents: [agentOf(library, 'billing', model, { instruction: 'Notes: {noted}.' })],
      }),
    }),
    turns: ['go'],
  },
  {
    name: 'a transfer beside exit loop',
    script: [[calls(['exit_loop'], ['transfer_to_agent', { agentName: 'billing' }])], [text('Paid.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [library.EXIT_LOOP],
        subAgents: [agentOf(library, 'billing', model)],
      }),
    }),
    turns: ['go'],
  },
  {
    name: 'callbacks of agents that hand on',
    script: [[to('billing')], [text('Paid.')]],
    build: (library, model, name, note) => {
      const hooks = (of: string) => ({
        beforeAgentCallback: () => void note('before', of),
        afterAgentCallback: () => void note('after', of),
      });
      const billing = agentOf(library, 'billing', model, hooks('billing'));
      return { agent: agentOf(library, name, model, { ...hooks('root'), subAgents: [billing] }) };
    },
    turns: ['go'],
  },
  {
    name: 'a turn is transferred within a sequence',
    script: [[to('helper')], [text('Helped.')], [text('Last.')]],
    build: (library, model, name) => {
      const first = agentOf(library, 'first', model, { subAgents: [agentOf(library, 'helper', model)] });
      return {
        agent: new library.SequentialAgent({ name, subAgents: [first, agentOf(library, 'last', model)] }),
      };
    },
    turns: ['go'],
    differs: {
      because:
        'A model isn’t told of a parent to which its agent can’t transfer, one that asks no model; ADK names it to the model.',
      adk: (came) => ({
        ...came,
        requests: came.requests.map((request, index) => {
          if (index !== 0) return request;
          const systemInstruction = withoutParent(request.config.systemInstruction);
          return { ...request, config: { ...request.config, systemInstruction } };
        }),
      }),
    },
  },
  {
    name: 'an agent that there is not',
    script: [[to('nobody')], [text('Then I answer.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { subAgents: [agentOf(library, 'billing', model)] }),
    }),
    turns: ['go'],
    differs: {
      because:
        'An agent that transfers to a missing agent, or to a forbidden one, is told so by its call; ADK says that it ' +
        'is queued, and adds an error event, or transfers to any agent of the tree.',
      adk: (came) => {
        const events = withEvents(came, (all) => all.filter(({ errorCode }) => errorCode === undefined));
        const told = replaced(
          events,
          '"result":"Transfer queued"',
          '"error":"unknown agent \\"nobody\\"; agents are billing"',
        );
        return replaced(told, '{"transferToAgent":"nobody"}', '{}');
      },
    },
  },
];

function withoutParent(told: unknown): string {
  return String(told).replace(/\nYour parent agent is [\s\S]*?\nto your parent agent\.\n/, '');
}
