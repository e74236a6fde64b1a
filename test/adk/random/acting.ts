import type {
  BasePlugin,
  BaseTool,
  Content,
  Context,
  LlmResponse,
  SingleAfterModelCallback,
  SingleAfterToolCallback,
  SingleBeforeModelCallback,
  SingleBeforeToolCallback,
  State,
} from '../../../src/index.ts';
import { agentOf, pluginOf, toolOf } from '../cast.ts';
import type { Acting, Library, Note } from '../scenario.ts';
import { type ScriptedLlm, text } from '../scripted-llm.ts';
import type { Act, AgentHook, Plan, PluginHook } from './plan.ts';

/** Notes of events begin with it. */
export const EVENT = 'event';

/** The agent of a plan, and its plugins. */
export function actingOf(
  library: Library,
  model: ScriptedLlm,
  name: string,
  note: Note,
  given: Plan,
): Acting {
  const heard = (what: string, context: { state: State }, { key, every }: Act) => {
    note(what, context.state.toRecord());
    const count = Number(context.state.get(key) ?? 0) + 1;
    context.state.set(key, count);
    return every > 0 && count % every === 0;
  };
  return {
    agent: agentOf(library, name, model, {
      instruction: given.instruction,
      includeContents: given.includeContents,
      ...(given.outputKey === undefined ? {} : { outputKey: given.outputKey }),
      tools: toolsOf(library, note),
      ...callbacksOf(given.callbacks, note, heard),
    }),
    plugins: given.plugins.map((hooks, index) =>
      pluginOf(library, `plugin-${index}`, pluginHooksOf(hooks, `plugin-${index}`, note, heard)),
    ),
  };
}

type Heard = (what: string, context: { state: State }, act: Act) => boolean;

const said = (words: string): Content => ({ role: 'model', parts: [{ text: words }] });

/** What a call that fails has written isn't kept, and its callbacks see no response on ADK. */
const isFailing = ({ name }: BaseTool) => name === 'breaks';

function callbacksOf(given: Plan['callbacks'], note: Note, heard: Heard) {
  const each = <T>(name: AgentHook, made: (act: Act, what: string) => T): T[] =>
    (given[name] ?? []).map((of, index) => made(of, `${name} ${index}`));
  return {
    beforeAgentCallback: each('agent before', (of, what) => (context: Context) => {
      return heard(what, context, of) ? said('closed') : undefined;
    }),
    afterAgentCallback: each('agent after', (of, what) => (context: Context) => {
      return heard(what, context, of) ? said('PS.') : undefined;
    }),
    beforeModelCallback: each('model before', (of, what) => ({ context, request }: BeforeModel) => {
      note(request.contents, request.config?.systemInstruction);
      return heard(what, context, of) ? text('not asked') : undefined;
    }),
    afterModelCallback: each('model after', (of, what) => ({ context, response }: AfterModel) => {
      note(response);
      return heard(what, context, of) ? replaced(response) : undefined;
    }),
    beforeToolCallback: each('tool before', (of, what) => ({ tool, args, context }: BeforeTool) => {
      if (isFailing(tool)) return undefined;
      note(tool.name, args);
      return heard(what, context, of) ? { instead: what } : undefined;
    }),
    afterToolCallback: each('tool after', (of, what) => ({ tool, context, response }: AfterTool) => {
      if (isFailing(tool)) return undefined;
      note(tool.name, response);
      return heard(what, context, of) ? { ...response, after: what } : undefined;
    }),
  };
}

type ParamsOf<T> = T extends (params: infer P) => unknown ? P : never;
type BeforeModel = ParamsOf<SingleBeforeModelCallback>;
type AfterModel = ParamsOf<SingleAfterModelCallback>;
type BeforeTool = ParamsOf<SingleBeforeToolCallback>;
type AfterTool = ParamsOf<SingleAfterToolCallback>;

/** Calls stay. */
function replaced(response: LlmResponse): LlmResponse | undefined {
  if (response.content?.parts?.some(({ functionCall }) => functionCall !== undefined)) return undefined;
  return { ...response, content: said('replaced') };
}

function pluginHooksOf(
  given: Partial<Record<PluginHook, Act>>,
  plugin: string,
  note: Note,
  heard: Heard,
): Partial<Omit<BasePlugin, 'name'>> {
  const hooks: [PluginHook, (of: Act) => Partial<Omit<BasePlugin, 'name'>>][] = [
    [
      'message',
      ({ every }) => ({
        onUserMessageCallback: async ({ userMessage }) => {
          note(plugin, userMessage);
          // Words beside an answer that a later one replaces are lost on ADK.
          const isAnswer = userMessage.parts?.some(({ functionResponse }) => functionResponse !== undefined);
          if (every === 0 || isAnswer) return undefined;
          return { ...userMessage, parts: [...(userMessage.parts ?? []), { text: `(${plugin})` }] };
        },
      }),
    ],
    [
      'run before',
      ({ key, every }) => ({
        beforeRunCallback: async ({ invocationContext: { session } }) => {
          note(plugin, 'run before', session.state);
          return every > 0 && Number(session.state[key] ?? 0) % every === 1 ? said('no run') : undefined;
        },
      }),
    ],
    [
      'run after',
      () => ({
        afterRunCallback: async ({ invocationContext: { session } }) => {
          note(plugin, 'run after', session.state);
        },
      }),
    ],
    [
      'event',
      ({ every }) => ({
        onEventCallback: async ({ event }) => {
          if (event.partial) return undefined;
          note(EVENT, plugin, event.content, event.actions.stateDelta);
          return every === 0 ? undefined : { ...event, customMetadata: { by: plugin } };
        },
      }),
    ],
    [
      'error',
      (of) => ({
        onToolErrorCallback: async ({ error, toolContext }) => {
          note(plugin, error.message);
          return heard(`${plugin} error`, toolContext, of) ? { recovered: plugin } : undefined;
        },
      }),
    ],
    [
      'model before',
      (of) => ({
        beforeModelCallback: async ({ callbackContext }) =>
          heard(`${plugin} model before`, callbackContext, of) ? text(`not asked by ${plugin}`) : undefined,
      }),
    ],
    [
      'model after',
      (of) => ({
        afterModelCallback: async ({ callbackContext, llmResponse }) =>
          heard(`${plugin} model after`, callbackContext, of) ? replaced(llmResponse) : undefined,
      }),
    ],
    [
      'tool before',
      (of) => ({
        beforeToolCallback: async ({ tool, toolContext }) =>
          !isFailing(tool) && heard(`${plugin} tool before`, toolContext, of)
            ? { instead: plugin }
            : undefined,
      }),
    ],
    [
      'tool after',
      (of) => ({
        afterToolCallback: async ({ tool, toolContext, result }) =>
          !isFailing(tool) && heard(`${plugin} tool after`, toolContext, of)
            ? { ...result, after: plugin }
            : undefined,
      }),
    ],
  ];
  return Object.assign(
    {},
    ...hooks.map(([name, made]) => (given[name] === undefined ? {} : made(given[name]))),
  );
}

function toolsOf(library: Library, note: Note): BaseTool[] {
  // Calls of one step see each other's state, as on ADK.
  const alone = { isConcurrencySafe: false };
  return [
    toolOf(
      library,
      'count',
      (_args, { state }) => {
        const n = Number(state.get('n') ?? 0) + 1;
        state.set('n', n);
        return { n };
      },
      alone,
    ),
    toolOf(
      library,
      'echo',
      (args, { state }) => {
        note('echo', args, state.toRecord());
        return { args };
      },
      alone,
    ),
    toolOf(
      library,
      'breaks',
      () => {
        throw new Error('broken');
      },
      alone,
    ),
    toolOf(
      library,
      'ends',
      (_args, { actions }) => {
        actions.skipSummarization = true;
        return { ended: true };
      },
      alone,
    ),
    toolOf(library, 'waits', () => ({ status: 'pending' }), { ...alone, isLongRunning: true }),
    toolOf(library, 'weather', () => ({ celsius: 3 }), alone),
  ];
}
