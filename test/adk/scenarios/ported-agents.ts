import type { BaseAgent, BaseAgentConfig, Event, InvocationContext } from '../../../src/index.ts';
import { agentOf } from '../cast.ts';
import type { Library, Scenario } from '../scenario.ts';
import { byAgent, text } from '../scripted-llm.ts';

type Script = (context: InvocationContext) => AsyncGenerator<Event, void, void>;

/** An agent with a `runAsyncImpl` of its own. */
function portedAgent(
  library: Library,
  name: string,
  subAgents: BaseAgent[],
  script: Script,
  config: Pick<BaseAgentConfig, 'beforeAgentCallback'> = {},
): BaseAgent {
  class Ported extends library.BaseAgent {
    protected override runAsyncImpl(context: InvocationContext) {
      return script(context);
    }
    // biome-ignore lint/correctness/useYield: nothing is live
    protected override async *runLiveImpl(): AsyncGenerator<Event, void, void> {
      throw new Error('not live');
    }
  }
  return new Ported({ ...config, name, subAgents });
}

/** Agents whose own code runs others: ADK runs it once, Holdfast from its start in each step. */
export const PORTED_AGENTS: readonly Scenario[] = [
  {
    name: 'own code that goes by the state of the session',
    script: byAgent({
      writer: [text('One.'), text('Two.'), text('Three.')],
      critic: [text('no'), text('ok'), text('ok')],
      publisher: [text('Published.'), text('Published again.')],
    }),
    build: (library, model, name) => {
      const writer = agentOf(library, 'writer', model, { outputKey: 'draft' });
      const critic = agentOf(library, 'critic', model, { outputKey: 'verdict' });
      const publisher = agentOf(library, 'publisher', model);
      return {
        agent: portedAgent(library, name, [writer, critic, publisher], async function* (context) {
          for (let round = 1; round <= 3; round += 1) {
            if (round > 1 || context.session.state.draft === undefined) yield* writer.runAsync(context);
            yield* critic.runAsync(context);
            if (context.session.state.verdict === 'ok') break;
          }
          yield* publisher.runAsync(context);
        }),
      };
    },
    turns: ['write', 'and again'],
  },
  {
    name: 'own code that says what it has seen',
    script: byAgent({ helper: [text('Helped.'), text('Helped again.')] }),
    build: (library, model, name) => {
      const helper = agentOf(library, 'helper', model, { outputKey: 'help' });
      const says = (context: InvocationContext, what: string) => {
        const { events, state } = context.session;
        return library.createEvent({
          invocationId: context.invocationId,
          author: name,
          content: {
            role: 'model',
            parts: [{ text: `${what}: ${events.length} events, ${state.phase}, ${state.help}` }],
          },
          actions: library.createEventActions({ stateDelta: { phase: what } }),
        });
      };
      return {
        agent: portedAgent(library, name, [helper], async function* (context) {
          yield says(context, 'first');
          yield says(context, 'second');
          for await (const event of helper.runAsync(context)) {
            const before = context.session.events.length;
            yield event;
            yield says(context, `after ${before}`);
          }
          yield says(context, 'last');
        }),
      };
    },
    turns: ['go', 'and again'],
  },
  {
    name: 'own code behind a callback that writes state',
    script: byAgent({ helper: [text('Helped.'), text('Helped again.')] }),
    build: (library, model, name) => {
      const helper = agentOf(library, 'helper', model);
      const counts = ({ session: { events, state } }: InvocationContext) =>
        library.createEvent({
          author: name,
          content: { role: 'model', parts: [{ text: `${events.length} events, ${state.begun} begun` }] },
        });
      return {
        agent: portedAgent(
          library,
          name,
          [helper],
          async function* (context) {
            yield counts(context);
            yield* helper.runAsync(context);
            yield counts(context);
          },
          {
            beforeAgentCallback: ({ state }) => {
              state.set('begun', Number(state.get('begun') ?? 0) + 1);
              return undefined;
            },
          },
        ),
      };
    },
    turns: ['go', 'and again'],
  },
  {
    name: 'own code that ends early',
    script: byAgent({ first: [text('One.')], second: [text('Two.')] }),
    build: (library, model, name) => {
      const first = agentOf(library, 'first', model, { outputKey: 'said' });
      const second = agentOf(library, 'second', model);
      return {
        agent: portedAgent(library, name, [first, second], async function* (context) {
          for (const agent of [first, second]) {
            if (context.session.state.said !== undefined) return;
            yield* agent.runAsync(context);
          }
        }),
      };
    },
    turns: ['go'],
  },
];
