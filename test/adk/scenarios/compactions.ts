import type { Event } from '../../../src/index.ts';
import { agentOf } from '../cast.ts';
import type { Library, Scenario } from '../scenario.ts';
import { calls, nextMillisecond, text } from '../scripted-llm.ts';

/** Says which texts it has summarised. ADK exports no function that makes such an event. */
const summarizerOf = ({ createEvent, stringifyContent }: Library) => ({
  summarize: async (events: Event[]) => {
    const [first, last] = [events[0], events.at(-1)];
    const compactedContent = `Summary of: ${events.map((event) => stringifyContent(event)).join(' | ')}`;
    const times = { startTime: first?.timestamp ?? 0, endTime: last?.timestamp ?? 0 };
    return { ...createEvent({ author: 'system' }), isCompacted: true as const, ...times, compactedContent };
  },
});

/** Parts the message from the answer, whose time ADK takes before it asks the model. */
function timePlugin({ BasePlugin }: Library) {
  class TimePlugin extends BasePlugin {
    override async beforeRunCallback() {
      await nextMillisecond();
      return undefined;
    }
    override async beforeModelCallback() {
      await nextMillisecond();
      return undefined;
    }
  }
  return new TimePlugin('time');
}

const said = (words: string, promptTokenCount: number) =>
  text(words, { usageMetadata: { promptTokenCount, totalTokenCount: promptTokenCount } });

const MESSAGES = ['first', 'second', 'third', 'fourth', 'fifth'];

function compacting(
  name: string,
  compactor: (library: Library) => object,
  tokens: readonly number[],
  more: Partial<Scenario> = {},
): Scenario {
  return {
    name,
    script: tokens.map((count, index) => [said(`answer ${index + 1}`, count)]),
    build: (library, model, agent) => ({
      agent: agentOf(library, agent, model, { contextCompactors: [compactor(library)] as never }),
      plugins: [timePlugin(library)],
    }),
    turns: MESSAGES.slice(0, tokens.length),
    isTimed: true,
    ...more,
  };
}

/** Compacted contexts, as models see them. */
export const COMPACTIONS: readonly Scenario[] = [
  compacting(
    'a context that is summarised by its tokens',
    (library) =>
      new library.TokenBasedContextCompactor({
        tokenThreshold: 100,
        eventRetentionSize: 2,
        summarizer: summarizerOf(library),
      }),
    [10, 500, 20, 500, 20],
  ),
  compacting(
    'a context below its threshold',
    (library) =>
      new library.TokenBasedContextCompactor({
        tokenThreshold: 1_000,
        eventRetentionSize: 2,
        summarizer: summarizerOf(library),
      }),
    [10, 500, 20],
  ),
  compacting(
    'a context whose oldest events are left out',
    (library) => new library.TruncatingContextCompactor({ threshold: 3 }),
    [10, 10, 10, 10],
  ),
  compacting(
    'a context whose summary is carried on',
    (library) =>
      new library.AnchoredContextCompactor({
        tokenThreshold: 5,
        eventRetentionSize: 2,
        summarizer: summarizerOf(library),
      }),
    [40, 40, 40, 40, 40],
  ),
  compacting(
    'a context that the model has summarised',
    (library) => new library.AgentControlledContextCompactor({ summarizer: summarizerOf(library) }),
    [],
    {
      script: [
        [text('one')],
        [calls(['consolidate_context', { detail: 'all done' }])],
        [text('two')],
        [text('three')],
      ],
      build: (library, model, agent) => ({
        agent: agentOf(library, agent, model, {
          tools: [new library.ConsolidateContextTool()],
          contextCompactors: [
            new library.AgentControlledContextCompactor({ summarizer: summarizerOf(library) }),
          ] as never,
        }),
        plugins: [timePlugin(library)],
      }),
      turns: ['first', 'second', 'third'],
    },
  ),
];
