import type { BasePlugin, Context } from '../../../src/index.ts';
import { agentOf, askWeather, pluginOf, toolOf, weatherOf } from '../cast.ts';
import { modelFailed } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

/** Hooks that answer nothing. */
type Hooks = Partial<Omit<BasePlugin, 'name'>>;

const said = (words: string, role = 'model') => ({ role, parts: [{ text: words }] });

/** Hooks of plugins, and their order against callbacks. */
export const PLUGINS: readonly Scenario[] = [
  {
    name: 'the order of all hooks and callbacks',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name, note) => {
      const watch = (plugin: string) =>
        pluginOf(library, plugin, {
          onUserMessageCallback: async ({ userMessage }) => void note(plugin, 'message', userMessage),
          beforeRunCallback: async () => void note(plugin, 'before run'),
          beforeModelCallback: async () => void note(plugin, 'before model'),
          afterModelCallback: async ({ llmResponse }) => void note(plugin, 'after model', llmResponse),
          beforeToolCallback: async ({ tool, toolArgs }) =>
            void note(plugin, 'before tool', tool.name, toolArgs),
          afterToolCallback: async ({ tool, result }) => void note(plugin, 'after tool', tool.name, result),
          beforeToolSelection: async ({ tools }) => void note(plugin, 'selection', Object.keys(tools)),
          onEventCallback: async ({ event }) => void note(plugin, 'event', event.author === name),
          afterRunCallback: async () => void note(plugin, 'after run'),
        } as Hooks);
      return {
        agent: agentOf(library, name, model, {
          tools: [
            weatherOf(library, () => {
              note('tool');
              return { celsius: 3 };
            }),
          ],
          beforeAgentCallback: () => void note('before agent'),
          afterAgentCallback: () => void note('after agent'),
          beforeModelCallback: () => void note('before model'),
          afterModelCallback: () => void note('after model'),
          beforeToolCallback: () => void note('before tool'),
          afterToolCallback: () => void note('after tool'),
        }),
        plugins: [watch('one'), watch('two')],
      };
    },
    turns: ['weather?'],
  },
  {
    name: 'plugins around an agent',
    script: [[text('Hello.')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model),
      plugins: [
        pluginOf(library, 'around', {
          beforeAgentCallback: async ({ agent }) => void note('before', agent.name === name),
          afterAgentCallback: async () => void note('after'),
        } as Hooks),
      ],
    }),
    turns: ['Hi'],
    differs: {
      because: 'Plugins are asked before and after an agent; ADK never asks them.',
      adk: (came) => ({ ...came, notes: [['before', true], ['after']] }),
    },
  },
  {
    name: 'a message that a plugin replaces',
    script: [[text('One.')], [text('Two.')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        instruction: ({ userContent }) => {
          note('instruction', userContent);
          return 'Be brief.';
        },
      }),
      plugins: [
        pluginOf(library, 'first', {
          onUserMessageCallback: async ({ userMessage, invocationContext }) => {
            note(userMessage, invocationContext.session.events.length, invocationContext.session.state.x);
            const [first] = userMessage.parts ?? [];
            return { ...userMessage, parts: [{ ...first, text: `${first?.text} (checked)` }] };
          },
        }),
        pluginOf(library, 'second', { onUserMessageCallback: async () => said('never', 'user') }),
      ],
    }),
    turns: [{ message: 'Hi', stateDelta: { x: 1 } }, 'again'],
    differs: {
      because:
        'A message that a plugin replaces is the `userContent`, too; in ADK that stays the sent message.',
      adk: (came) => ({
        ...came,
        notes: came.notes.map((note) =>
          JSON.stringify(note).startsWith('["instruction"')
            ? JSON.parse(JSON.stringify(note).replace(/"text":"(\w+)"/, '"text":"$1 (checked)"'))
            : note,
        ),
      }),
    },
  },
  {
    name: 'a message that a plugin changes in place',
    script: [[text('One.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model),
      plugins: [
        pluginOf(library, 'first', {
          onUserMessageCallback: async ({ userMessage }) => {
            userMessage.parts?.push({ text: 'and more' });
            return undefined;
          },
        }),
      ],
    }),
    turns: ['Hi'],
  },
  {
    name: 'a plugin that answers before the run',
    script: [[text('open')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, { beforeAgentCallback: () => void note('never at first') }),
      plugins: [
        pluginOf(library, 'closed', {
          beforeRunCallback: async ({ invocationContext: { userContent, session } }) => {
            note(userContent, session.events.length, session.state);
            return userContent?.parts?.[0]?.text === 'Hi' ? said('closed') : undefined;
          },
          onEventCallback: async ({ event }) => void note('event', event.content),
          afterRunCallback: async () => void note('after run'),
        } as Hooks),
      ],
    }),
    turns: ['Hi', 'again'],
    differs: {
      because: 'Plugins see every event that is stored; ADK keeps an answer before the run from them.',
      adk: (came) => ({ ...came, notes: came.notes.toSpliced(1, 0, ['event', said('closed')]) }),
    },
  },
  {
    name: 'what the end of a run sees',
    script: [[text('Hello.')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        afterAgentCallback: () => said('PS.'),
      }),
      plugins: [
        pluginOf(library, 'end', {
          afterRunCallback: async ({ invocationContext: { session } }) =>
            void note(
              session.state,
              session.events.map(({ content }) => content),
            ),
        }),
      ],
    }),
    turns: ['Hi'],
  },
  {
    name: 'answers of plugins around the model',
    script: [[text('of the model')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        beforeModelCallback: () => text('never'),
        afterModelCallback: () => text('never'),
      }),
      plugins: [
        pluginOf(library, 'one', {
          beforeModelCallback: async ({ callbackContext, llmRequest }) => {
            callbackContext.state.set('by', 'one');
            return llmRequest.contents.length === 1 ? text('from one') : undefined;
          },
        }),
        pluginOf(library, 'two', { beforeModelCallback: async () => text('never') }),
      ],
    }),
    turns: ['Hi'],
  },
  {
    name: 'answers of plugins behind the model',
    script: [[text('of the model')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { afterModelCallback: () => text('never') }),
      plugins: [
        pluginOf(library, 'one', {
          afterModelCallback: async ({ callbackContext }) => {
            callbackContext.state.set('by', 'one');
            return undefined;
          },
        }),
        pluginOf(library, 'two', {
          afterModelCallback: async ({ llmResponse }) => ({ ...llmResponse, customMetadata: { by: 'two' } }),
        }),
      ],
    }),
    turns: ['Hi'],
  },
  {
    name: 'answers of plugins around a tool',
    script: [[calls(['one'], ['two'])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: ['one', 'two'].map((tool) => toolOf(library, tool, () => ({ ran: tool }))),
        beforeToolCallback: () => ({ never: 'before' }),
        afterToolCallback: () => ({ never: 'after' }),
      }),
      plugins: [
        pluginOf(library, 'watch', {
          beforeToolCallback: async ({ tool, toolContext }) => {
            toolContext.state.set(`saw-${tool.name}`, true);
            return tool.name === 'one' ? { instead: 1 } : { other: 2 };
          },
          afterToolCallback: async ({ result }) => ({ ...result, watched: true }),
        }),
      ],
    }),
    turns: ['go'],
  },
  {
    name: 'a tool error that a plugin answers',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [
          weatherOf(library, () => {
            throw new Error('down');
          }),
        ],
        afterToolCallback: ({ response }) => ({ after: response }),
      }),
      plugins: [
        pluginOf(library, 'recover', {
          onToolErrorCallback: async ({ tool, toolArgs, error }) => {
            note(tool.name, toolArgs, error.message);
            return { recovered: error.message };
          },
        }),
      ],
    }),
    turns: ['weather?'],
  },
  {
    name: 'a tool error that no plugin answers',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [
          weatherOf(library, () => {
            throw new Error('down');
          }),
        ],
      }),
      plugins: ['one', 'two'].map((plugin) =>
        pluginOf(library, plugin, {
          onToolErrorCallback: async ({ toolContext }) => {
            note(plugin);
            toolContext.state.set(`by-${plugin}`, true);
            return undefined;
          },
        }),
      ),
    }),
    turns: ['weather?'],
  },
  {
    name: 'a model error that a plugin answers',
    script: [new Error('overloaded')],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, { outputKey: 'said' }),
      plugins: [
        pluginOf(library, 'recover', {
          onModelErrorCallback: async ({ error, llmRequest }) => {
            note(error.message, llmRequest.contents);
            return text('I am busy.');
          },
        }),
      ],
    }),
    turns: ['Hi'],
    differs: {
      because:
        'A plugin’s answer for a failed model is the model’s answer; ADK yields it as no event, and throws.',
      plays: { script: [[text('I am busy.')]] },
      adk: (came) => ({ ...came, notes: [['overloaded', [said('Hi', 'user')]]] }),
    },
  },
  {
    name: 'a model error that no plugin answers',
    script: [new Error('overloaded'), [text('Hello.')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, { afterAgentCallback: () => said('PS.') }),
      plugins: [
        pluginOf(library, 'watch', {
          onModelErrorCallback: async ({ error }) => void note(error.message),
          afterRunCallback: async () => void note('after run'),
        } as Hooks),
      ],
    }),
    turns: ['Hi', 'again'],
    differs: {
      because:
        'Errors of models have the codes of their classes; ADK has `UNKNOWN_ERROR`, or the code in a message that is JSON.',
      adk: (came) => modelFailed(came, 'overloaded'),
    },
  },
  {
    name: 'tools that a plugin selects',
    script: [[calls(['two'])], [text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: ['one', 'two', 'three'].map((tool) => toolOf(library, tool, () => tool)),
      }),
      plugins: [
        pluginOf(library, 'select', {
          beforeToolSelection: async ({ tools, callbackContext }) => {
            const { one: _one, ...rest } = tools;
            return callbackContext.state.get('all') ? undefined : rest;
          },
        }),
      ],
    }),
    turns: ['go'],
  },
  {
    name: 'a plugin that selects no tools',
    script: [[text('done')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [toolOf(library, 'one', () => 1)] }),
      plugins: [pluginOf(library, 'select', { beforeToolSelection: async () => ({}) })],
    }),
    turns: ['go'],
  },
  {
    name: 'state that plugins write in all hooks',
    script: [[askWeather()], [text('done')]],
    build: (library, model, name) => {
      const count = (context: Context, hook: string) => {
        context.state.set(hook, Number(context.state.get(hook) ?? 0) + 1);
        return undefined;
      };
      return {
        agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
        plugins: [
          pluginOf(library, 'count', {
            beforeModelCallback: async ({ callbackContext }) => count(callbackContext, 'before model'),
            afterModelCallback: async ({ callbackContext }) => count(callbackContext, 'after model'),
            beforeToolCallback: async ({ toolContext }) => count(toolContext, 'before tool'),
            afterToolCallback: async ({ toolContext }) => count(toolContext, 'after tool'),
          }),
        ],
      };
    },
    turns: ['weather?'],
  },
];
