import { agentOf, askWeather, pluginOf, weatherOf } from '../cast.ts';
import { afterThrow, endedBy, KEPT, replaced } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { text } from '../scripted-llm.ts';

/** Plugins whose hooks throw. */
export const PLUGIN_FAILURES: readonly Scenario[] = [
  ...(['beforeModelCallback', 'afterModelCallback'] as const).map(
    (hook): Scenario => ({
      name: `a plugin that throws in ${hook}`,
      script: [[text('Hello.')]],
      build: (library, model, name) => ({
        agent: agentOf(library, name, model),
        plugins: [pluginOf(library, 'broken', { [hook]: fails })],
      }),
      turns: ['Hi'],
      differs: {
        because:
          'Errors of callbacks and plugins have a code, and name the failing one; ADK has `UNKNOWN_ERROR`.',
        adk: (came) => replaced(came, 'UNKNOWN_ERROR', 'HOLDFAST_PLUGIN_FAILED'),
      },
    }),
  ),
  ...(['onUserMessageCallback', 'beforeRunCallback'] as const).map(
    (hook): Scenario => ({
      name: `a plugin that throws in ${hook}`,
      script: [[text('Hello.')]],
      build: (library, model, name) => ({
        agent: agentOf(library, name, model),
        plugins: [pluginOf(library, 'broken', { [hook]: fails })],
      }),
      turns: ['Hi'],
      differs: {
        because: KEPT,
        adk: (came) => {
          const errorMessage = `Error in plugin 'broken' during '${hook}' callback: Error: no luck`;
          const author = `a_plugin_that_throws_in_${hook}`;
          const event = { author, errorCode: 'HOLDFAST_PLUGIN_FAILED', errorMessage, actions: {} };
          const ended = endedBy(came, new RegExp(`during '${hook}' callback: Error: no luck$`), event);
          if (hook === 'beforeRunCallback') return ended;
          const content = { role: 'user', parts: [{ text: 'Hi' }] };
          return { ...ended, messages: [{ ...event, author: 'user', content }] };
        },
      },
    }),
  ),
  ...(['beforeToolCallback', 'afterToolCallback'] as const).map(
    (hook): Scenario => ({
      name: `a plugin that throws in ${hook}`,
      script: [[askWeather()], [text('done')]],
      build: (library, model, name) => ({
        agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
        plugins: [pluginOf(library, 'broken', { [hook]: fails })],
      }),
      turns: ['weather?'],
      differs: {
        because:
          'A callback or plugin that throws around a tool is the failure of that call, which the model is told of; in ADK it ends the turn.',
        plays: {
          build: (library, model, name) => ({
            agent: agentOf(library, name, model, {
              tools: [
                weatherOf(library, () => ({
                  error: `Error in plugin 'broken' during '${hook}' callback: Error: no luck`,
                })),
              ],
            }),
          }),
        },
      },
    }),
  ),
  {
    name: 'a plugin that throws behind the run',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model),
      plugins: [pluginOf(library, 'broken', { afterRunCallback: fails })],
    }),
    turns: ['Hi'],
    differs: {
      because: 'A plugin that throws after a run is logged, and the turn stays answered; ADK throws.',
      adk: (came) => afterThrow(came, /during 'afterRunCallback' callback: Error: no luck$/),
    },
  },
  {
    name: 'a plugin that throws in onEventCallback',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model),
      plugins: [pluginOf(library, 'broken', { onEventCallback: fails })],
    }),
    turns: ['Hi'],
    differs: {
      because: KEPT,
      adk: (came) =>
        endedBy(came, /during 'onEventCallback' callback: Error: no luck$/, {
          author: 'a_plugin_that_throws_in_onEventCallback',
          errorCode: 'HOLDFAST_PLUGIN_FAILED',
          errorMessage: "Error in plugin 'broken' during 'onEventCallback' callback: Error: no luck",
          actions: {},
        }),
    },
  },
];

async function fails(): Promise<never> {
  throw new Error('no luck');
}
