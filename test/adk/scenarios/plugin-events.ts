import type { Event } from '../../../src/index.ts';
import { agentOf, askWeather, pluginOf, weatherOf } from '../cast.ts';
import type { Library, Scenario } from '../scenario.ts';
import { type ScriptedLlm, text } from '../scripted-llm.ts';

const said = (words: string) => ({ role: 'model', parts: [{ text: words }] });

const seenBy = (library: Library, change: (event: Event) => Event | undefined) =>
  pluginOf(library, 'seen', { onEventCallback: async ({ event }) => change(event) });

const asking = (library: Library, name: string, model: ScriptedLlm) =>
  agentOf(library, name, model, { tools: [weatherOf(library)] });

/** Plugins that replace events. */
export const PLUGIN_EVENTS: readonly Scenario[] = [
  {
    name: 'metadata that a plugin puts on each event',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: asking(library, name, model),
      plugins: [seenBy(library, (event) => ({ ...event, customMetadata: { seen: true } }))],
    }),
    turns: ['weather?'],
  },
  {
    name: 'an event that a plugin changes in place',
    script: [[text('secret 1234')], [text('Two.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model),
      plugins: [
        seenBy(library, (event) => {
          event.content?.parts?.push({ text: '!' });
          return undefined;
        }),
      ],
    }),
    turns: ['Hi', 'again'],
  },
  {
    name: 'words that a plugin replaces',
    script: [[text('secret 1234')], [text('Two.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { outputKey: 'said' }),
      plugins: [seenBy(library, (event) => ({ ...event, content: said('****') }))],
    }),
    turns: ['Hi', 'again'],
  },
  {
    name: 'a response that a plugin replaces in its event',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: asking(library, name, model),
      plugins: [
        seenBy(library, (event) => ({
          ...event,
          content: {
            ...event.content,
            parts: (event.content?.parts ?? []).map((part) =>
              part.functionResponse === undefined
                ? part
                : { functionResponse: { ...part.functionResponse, response: { hidden: true } } },
            ),
          },
        })),
      ],
    }),
    turns: ['weather?'],
  },
  {
    name: 'state that a plugin puts on events',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => ({
      agent: asking(library, name, model),
      plugins: [
        seenBy(library, (event) => ({
          ...event,
          actions: {
            ...event.actions,
            stateDelta: { ...event.actions.stateDelta, last: event.content?.role },
          },
        })),
      ],
    }),
    turns: ['weather?'],
  },
  {
    name: 'an author that a plugin replaces',
    script: [[text('One.')], [text('Two.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model),
      plugins: [seenBy(library, (event) => ({ ...event, author: 'somebody' }))],
    }),
    turns: ['Hi', 'again'],
  },
  {
    name: 'an error that a plugin words',
    script: [new Error('overloaded')],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model),
      plugins: [
        seenBy(library, (event) => ({ ...event, errorCode: 'BUSY', errorMessage: 'Try again later.' })),
      ],
    }),
    turns: ['Hi'],
  },
  {
    name: 'words of callbacks that a plugin replaces',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeAgentCallback: ({ state }) => {
          state.set('x', 1);
          return undefined;
        },
        afterAgentCallback: () => said('PS.'),
      }),
      plugins: [seenBy(library, (event) => ({ ...event, customMetadata: { had: event.content?.parts } }))],
    }),
    turns: ['Hi'],
  },
  {
    name: 'the first plugin that replaces an event',
    script: [[text('Hello.')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model),
      plugins: ['one', 'two', 'three'].map((plugin) =>
        pluginOf(library, plugin, {
          onEventCallback: async ({ event }) => {
            note(plugin, event.content);
            return plugin === 'two' ? { ...event, content: said('two') } : undefined;
          },
        }),
      ),
    }),
    turns: ['Hi'],
  },
  {
    name: 'what a plugin sees of the session with an event',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)], outputKey: 'said' }),
      plugins: [
        pluginOf(library, 'sees', {
          onEventCallback: async ({ event, invocationContext: { session, userContent } }) => {
            note(event.content, event.actions.stateDelta, session.events.length, userContent);
            return undefined;
          },
        }),
      ],
    }),
    turns: ['weather?'],
  },
];
