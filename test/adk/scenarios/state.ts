import { agentOf, toolOf } from '../cast.ts';
import { endedBy, KEPT, replaced } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { calls, text } from '../scripted-llm.ts';

/** Instructions, and the state that fills them in. */
export const STATE: readonly Scenario[] = [
  {
    name: 'placeholders',
    script: [[text('ok')], [text('ok')]],
    state: {
      plain: 'x',
      nothing: null,
      list: [1, { a: 2 }],
      'user:name': 'Ada',
      'app:shop': 'Fjell',
      zero: 0,
    },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        instruction:
          '{plain} {nothing} {list} {user:name} {app:shop} {zero} {missing?} {{plain}} {a-b} {x:y} { plain } {no',
      }),
    }),
    turns: ['Hi', { message: 'again', stateDelta: { plain: 'y', more: 1 } }],
  },
  {
    name: 'odd placeholders',
    script: [[text('ok')]],
    state: {
      flag: false,
      empty: '',
      nested: { deep: { er: [] } },
      text: 'a {plain} b',
      'user:x': 1,
      _under: 'u',
      $d: 'd',
    },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        instruction:
          '{flag}|{empty}|{nested}|{text}|{user:x}|{user:y?}|{_under}|{$d}|{}|{ }|{1a}|{nested.deep}|{{{flag}}}|{fl\nag}',
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a placeholder of what all objects have',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { instruction: '<{constructor?}>' }),
    }),
    turns: ['Hi'],
    differs: {
      because:
        'Only own properties are values of a template; ADK fills in `{constructor?}` from the prototype.',
      adk: (came) => replaced(came, '<function Object() { [native code] }>', '<>'),
    },
  },
  {
    name: 'a placeholder without a value',
    script: [],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { instruction: 'You help {who}.' }),
    }),
    turns: ['Hi'],
    differs: {
      because: KEPT,
      adk: (came) =>
        endedBy(came, /^Context variable not found: `who`\.$/, {
          author: 'a_placeholder_without_a_value',
          errorCode: 'HOLDFAST_TEMPLATE_VALUE',
          errorMessage:
            'Context variable not found: `who`. Set it in the state, or write {who?} in the instruction.',
          actions: {},
        }),
    },
  },
  {
    name: 'an instruction that is a function',
    script: [[text('ok')]],
    state: { who: 'Ada' },
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        instruction: (context) => {
          note(
            context.agentName === name,
            context.userContent,
            context.state.get('who'),
            context.state.has('x'),
          );
          return `You help ${context.state.get('who')}; {who} stays.`;
        },
        globalInstruction: 'Speak to {who}.',
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'instructions that are functions, one of them slow',
    script: [[text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        globalInstruction: async () => await Promise.resolve('Speak {softly}.'),
        instruction: async () => await Promise.resolve(''),
      }),
    }),
    turns: ['Hi'],
    differs: {
      because: 'An instruction that is empty adds nothing; ADK adds two line ends.',
      adk: (came) => replaced(came, 'softly}.\\n\\n', 'softly}.'),
    },
  },
  {
    name: 'an instruction that throws',
    script: [],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        instruction: () => {
          throw new Error('no such customer');
        },
      }),
    }),
    turns: ['Hi'],
    differs: {
      because: KEPT,
      adk: (came) =>
        endedBy(came, /^no such customer$/, {
          author: 'an_instruction_that_throws',
          errorCode: 'HOLDFAST_INSTRUCTION_FAILED',
          errorMessage: 'the instruction of agent an_instruction_that_throws failed: no such customer',
          actions: {},
        }),
    },
  },
  {
    name: 'state of a user and of an app in two sessions',
    script: [[calls(['write'])], [text('one')], [text('two')], [text('three')]],
    state: { here: 'new' },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        instruction: '{here} {user:name?} {app:motto?} {temp:scratch?}',
        tools: [
          toolOf(library, 'write', (_args, context) => {
            context.state.set('here', 'written');
            context.state.set('user:name', 'Ada');
            context.state.set('app:motto', { text: 'onward' });
            context.state.set('temp:scratch', 'gone');
            return 'written';
          }),
        ],
      }),
    }),
    turns: [
      { message: 'Hi', session: 'first' },
      { message: 'Hi', session: 'second' },
      {
        message: 'Hi',
        session: 'first',
        stateDelta: { 'user:name': 'Bob', 'temp:scratch': 'of the message' },
      },
    ],
    differs: {
      because: '`temp:` state of a message counts until its turn ends; ADK drops it.',
      adk: (came) =>
        replaced(came, 'Bob {\\"text\\":\\"onward\\"} "', 'Bob {\\"text\\":\\"onward\\"} of the message"'),
    },
  },
  {
    name: 'ways to write and read the state',
    script: [[calls(['use'])], [text('ok')], [calls(['use'])], [text('ok')]],
    state: { known: { n: 1 }, 'user:list': [1] },
    build: (library, model, name, note) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'use', (_args, { state }) => {
            note(
              state.get('known'),
              state.get('missing'),
              state.get('missing', 'default'),
              state.has('known'),
            );
            note(state.has('missing'), state.hasDelta());
            state.update({ known: { n: 2 }, more: [null, 'x'] });
            state.set('user:list', [1, 2]);
            state.set('falsy', 0);
            note(state.get('known'), state.get('more'), state.get('falsy', 5), state.hasDelta());
            note(state.toRecord());
            return 'done';
          }),
        ],
      }),
    }),
    turns: ['Hi', 'again'],
  },
  {
    name: 'state that a message sets and a tool reads',
    script: [[calls(['use'])], [text('ok')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        tools: [
          toolOf(library, 'use', (_args, { state }) => ({
            got: state.get('given'),
            mine: state.get('user:given'),
          })),
        ],
      }),
    }),
    turns: [{ message: 'Hi', stateDelta: { given: { a: [1] }, 'user:given': 'u', 'temp:given': 1 } }],
  },
  {
    name: 'an instruction of a plugin',
    script: [[text('ok')]],
    state: { place: 'Oslo' },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model),
      plugins: [new library.GlobalInstructionPlugin('You are in {place}, {user:x?}.')],
    }),
    turns: ['Hi'],
  },
  {
    name: 'an instruction of a plugin that is a function',
    script: [[text('ok')]],
    state: { place: 'Oslo' },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { globalInstruction: 'Of the root.' }),
      plugins: [
        new library.GlobalInstructionPlugin((context) => `In ${context.state.get('place')}, {place}.`),
      ],
    }),
    turns: ['Hi'],
  },
];
