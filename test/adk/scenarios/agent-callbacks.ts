import type { Context } from '../../../src/index.ts';
import { agentOf, askWeather, weatherOf } from '../cast.ts';
import { endedBy, KEPT, MERGED, withEvents } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { text } from '../scripted-llm.ts';

const said = (words: string) => ({ role: 'model', parts: [{ text: words }] });

/** Callbacks before and behind an agent. */
export const AGENT_CALLBACKS: readonly Scenario[] = [
  {
    name: 'an agent that a callback answers for',
    script: [[text('open')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        beforeAgentCallback: (context) => {
          if (context.state.get('guarded')) return undefined;
          context.state.set('guarded', true);
          return said('closed today');
        },
        afterAgentCallback: () => said('never at first'),
      }),
    }),
    turns: ['Hi', 'Hi again'],
  },
  {
    name: 'what callbacks of an agent are told',
    script: [[askWeather()], [text('Hello.')]],
    state: { who: 'Ada' },
    build: (library, model, name, note) => {
      const told = (when: string) => (context: Context) => {
        note(
          when,
          context.agentName === name,
          context.userContent,
          context.state.toRecord(),
          context.functionCallId,
        );
        note(
          context.invocationContext.session.events.map(({ author, content }) => [author === name, content]),
        );
        return undefined;
      };
      return {
        agent: agentOf(library, name, model, {
          tools: [weatherOf(library)],
          beforeAgentCallback: told('before'),
          afterAgentCallback: told('after'),
        }),
      };
    },
    turns: ['Hi'],
  },
  {
    name: 'state before an agent and words behind it',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        instruction: 'You know {greeting}.',
        beforeAgentCallback: [
          (context) => {
            context.state.set('greeting', 'hei');
            return undefined;
          },
        ],
        afterAgentCallback: (context) => said(`${context.state.get('greeting')}, and goodbye`),
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'state behind an agent',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        outputKey: 'said',
        afterAgentCallback: (context) => {
          context.state.set('twice', `${context.state.get('said')} ${context.state.get('said')}`);
          return undefined;
        },
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'lists of callbacks of an agent',
    script: [[text('Hello.')], [text('Hello again.')]],
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        beforeAgentCallback: [
          async () => {
            note('first');
            return await Promise.resolve(undefined);
          },
          (context) => {
            note('second', context.state.get('a'));
            context.state.set('a', 1);
            return null as never;
          },
          (context) => {
            note('third', context.state.get('a'));
            return undefined;
          },
        ],
        afterAgentCallback: [
          (context) => {
            context.state.set('b', 2);
            return undefined;
          },
          () => said('the first words'),
          () => said('never'),
        ],
      }),
    }),
    turns: ['Hi', 'again'],
    differs: MERGED,
  },
  {
    name: 'words behind an agent are what it is told later',
    script: [[text('One.')], [text('Two.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { afterAgentCallback: () => said('PS.') }),
    }),
    turns: ['Hi', 'again'],
    differs: MERGED,
  },
  {
    name: 'words before an agent of another role',
    script: [[text('Two.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeAgentCallback: (context) =>
          context.userContent?.parts?.[0]?.text === 'Hi'
            ? {
                role: 'user',
                parts: [{ text: 'as a user' }, { inlineData: { mimeType: 'text/plain', data: 'aGk=' } }],
              }
            : undefined,
      }),
    }),
    turns: ['Hi', 'again'],
  },
  {
    name: 'words before an agent without a role',
    script: [[text('Two.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeAgentCallback: (context) =>
          context.userContent?.parts?.[0]?.text === 'Hi' ? { parts: [{ text: 'nobody' }] } : undefined,
      }),
    }),
    turns: ['Hi', 'again'],
    differs: {
      because: 'Content without a role gets that of its author; the contents of ADK leave it out.',
      plays: {
        build: (library, model, name) => ({
          agent: agentOf(library, name, model, {
            beforeAgentCallback: (context) =>
              context.userContent?.parts?.[0]?.text === 'Hi' ? said('nobody') : undefined,
          }),
        }),
      },
    },
  },
  {
    name: 'actions without state of callbacks of an agent',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeAgentCallback: (context) => {
          context.actions.escalate = true;
          return undefined;
        },
        afterAgentCallback: (context) => {
          context.actions.stateDelta.direct = 1;
          return undefined;
        },
      }),
    }),
    turns: ['Hi'],
    differs: {
      because: 'Actions of callbacks around an agent are kept; ADK keeps them only beside state.',
      adk: (came) =>
        withEvents(came, (events) => [
          { author: 'actions_without_state_of_callbacks_of_an_agent', actions: { escalate: true } },
          ...events,
        ]),
    },
  },
  {
    name: 'an invocation that a callback of an agent ends without words',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeAgentCallback: (context) => {
          context.invocationContext.endInvocation = true;
          context.state.set('ended', true);
          return undefined;
        },
        afterAgentCallback: () => said('never'),
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a callback before an agent that throws',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        beforeAgentCallback: () => {
          throw new Error('no such tenant');
        },
      }),
    }),
    turns: ['Hi'],
    differs: {
      because: KEPT,
      adk: (came) =>
        endedBy(came, /^no such tenant$/, {
          author: 'a_callback_before_an_agent_that_throws',
          errorCode: 'HOLDFAST_CALLBACK_FAILED',
          errorMessage:
            'beforeAgentCallback of agent "a_callback_before_an_agent_that_throws" failed: no such tenant',
          actions: {},
        }),
    },
  },
  {
    name: 'a callback behind an agent that throws',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        afterAgentCallback: () => {
          throw new Error('no such tenant');
        },
      }),
    }),
    turns: ['Hi'],
    differs: {
      because: KEPT,
      adk: (came) =>
        endedBy(came, /^no such tenant$/, {
          author: 'a_callback_behind_an_agent_that_throws',
          errorCode: 'HOLDFAST_CALLBACK_FAILED',
          errorMessage:
            'afterAgentCallback of agent "a_callback_behind_an_agent_that_throws" failed: no such tenant',
          actions: {},
        }),
    },
  },
];
