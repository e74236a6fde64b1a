import type { CreateEventParams } from '../../../src/index.ts';
import { agentOf, askWeather, weatherOf } from '../cast.ts';
import { MERGED } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { text } from '../scripted-llm.ts';

const event = (author: string, words: string, more: Partial<CreateEventParams> = {}): CreateEventParams => ({
  author,
  invocationId: 'before',
  content: { role: author === 'user' ? 'user' : 'model', parts: [{ text: words }] },
  ...more,
});

/** Sessions that others have begun. */
export const HISTORY: readonly Scenario[] = [
  {
    name: 'what other agents said',
    script: [[text('One.')], [askWeather()], [text('Two.')]],
    history: [
      event('user', 'Hello?'),
      event('greeter', 'Hello, I am the greeter.'),
      event('', 'nobody'),
      event('greeter', 'Two parts.', {
        content: { role: 'model', parts: [{ text: 'Two' }, { text: 'parts.' }] },
      }),
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['Hi', 'weather?'],
  },
  {
    name: 'what other agents said to an agent without history',
    script: [[text('One.')], [text('Two.')]],
    history: [event('user', 'Hello?'), event('greeter', 'Hello, I am the greeter.')],
    build: (library, model, name) => ({ agent: agentOf(library, name, model, { includeContents: 'none' }) }),
    turns: ['Hi', 'again'],
  },
  {
    name: 'state that a history has written',
    script: [[text('One.')]],
    history: [
      event('user', 'Hello?', { actions: { stateDelta: { x: 1, 'user:y': [2], 'temp:z': 3 } } }),
      { author: 'tool', invocationId: 'before', actions: { stateDelta: { x: 2 } } },
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { instruction: '{x} {user:y} {temp:z?}' }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'what this agent said before',
    script: [[text('One.')]],
    history: [
      event('user', 'Hello?'),
      event('what_this_agent_said_before', 'First.'),
      event('what_this_agent_said_before', 'Second.'),
    ],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: ['Hi'],
    differs: MERGED,
  },
];
