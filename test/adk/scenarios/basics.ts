import { agentOf, askWeather, weatherOf } from '../cast.ts';
import { replaced } from '../differences.ts';
import type { Scenario } from '../scenario.ts';
import { text } from '../scripted-llm.ts';

/** Messages, and agents that only answer. */
export const BASICS: readonly Scenario[] = [
  {
    name: 'a plain answer',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { description: 'greets' }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'an agent without an instruction',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { instruction: '' }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'an agent that nothing is transferred from',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        description: 'greets',
        disallowTransferToParent: true,
        disallowTransferToPeers: true,
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'how the model answers',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, {
        generateContentConfig: {
          temperature: 0.5,
          topP: 0.9,
          topK: 10,
          maxOutputTokens: 100,
          stopSequences: ['END'],
          labels: { team: 'shop' },
          thinkingConfig: { includeThoughts: true, thinkingBudget: 64 },
          responseMimeType: 'text/plain',
        },
      }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a label that is named like the agent',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { generateContentConfig: { labels: { adk_agent_name: 'mine' } } }),
    }),
    turns: ['Hi'],
  },
  {
    name: 'a conversation',
    script: [[text('One.')], [askWeather()], [text('Two.')], [text('Three.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['first', 'second', 'third'],
  },
  {
    name: 'a long conversation',
    script: Array.from({ length: 12 }, (_, index) =>
      index % 3 === 1 ? [askWeather()] : [text(`Words ${index}.`)],
    ),
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library, ({ city }) => `rain in ${city}`)] }),
    }),
    turns: Array.from({ length: 8 }, (_, index) => `message ${index}`),
  },
  {
    name: 'a message of several parts',
    script: [[text('A cat.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: [
      {
        message: {
          role: 'user',
          parts: [
            { text: 'What is this?' },
            { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
            { fileData: { fileUri: 'gs://bucket/cat.png', mimeType: 'image/png' } },
            { text: '' },
            { text: 'Be quick.' },
          ],
        },
      },
    ],
  },
  {
    name: 'a message without a role',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: [{ message: { parts: [{ text: 'Hi' }] } }],
  },
  {
    name: 'a message without parts',
    script: [],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: [{ message: { role: 'user', parts: [] } }],
  },
  {
    name: 'a message with a call that only the framework makes',
    script: [],
    build: (library, model, name) => ({ agent: agentOf(library, name, model) }),
    turns: [
      {
        message: { role: 'user', parts: [{ functionCall: { name: 'adk_request_confirmation', args: {} } }] },
      },
    ],
  },
  {
    name: 'a message with metadata and state',
    script: [[text('Hello.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { instruction: 'Answer in {language}.' }),
    }),
    turns: [
      {
        message: 'Hi',
        customMetadata: { channel: 'phone', nested: { n: 1 } },
        stateDelta: { language: 'Norwegian' },
      },
    ],
  },
  {
    name: 'a run without a session',
    script: [[text('Hello.')], [text('Again.')]],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { instruction: 'You know {name?}.' }),
    }),
    turns: [{ message: 'Hi', stateDelta: { name: 'Ada' } }, 'Once more'],
    ephemeral: true,
  },
  {
    name: 'an agent without history',
    script: [
      [text('One.')],
      [askWeather()],
      [text('Two.')],
      [askWeather()],
      [askWeather()],
      [text('Three.')],
    ],
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { includeContents: 'none', tools: [weatherOf(library)] }),
    }),
    turns: ['first', 'second', 'third'],
  },
  {
    name: 'too many model calls',
    script: [[askWeather()], [askWeather()], [askWeather()]],
    runConfig: { maxLlmCalls: 2 },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['weather?'],
    differs: {
      because:
        'A turn that has used up its model calls ends with a code of its own; ADK has `UNKNOWN_ERROR`.',
      adk: (came) => replaced(came, 'UNKNOWN_ERROR', 'LLM_CALLS_LIMIT_EXCEEDED'),
    },
  },
  {
    name: 'model calls without a limit',
    script: [[askWeather()], [askWeather()], [text('Done.')]],
    runConfig: { maxLlmCalls: 0 },
    build: (library, model, name) => ({
      agent: agentOf(library, name, model, { tools: [weatherOf(library)] }),
    }),
    turns: ['weather?'],
  },
];
