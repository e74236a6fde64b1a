/** Where a promise comes from. */
export const SOURCES = {
  holdfast: "Holdfast's own design: docs/decisions",
  temporal: 'Temporal: its documentation and SDK for TypeScript',
  gemini: 'the Gemini API: ai.google.dev/gemini-api/docs',
  'adk-go': 'the reference of the tool system of google/adk-go, and its threads',
  'adk-js': '@google/adk 2.0.0 for TypeScript, and threads of google/adk-js',
  'adk-python': 'google/adk-python, and its threads',
  'adk-rs': 'the overview of the tools of adk-rs',
  'adk tools page': 'the page "Tools" of an ADK with a tool registry',
  hector: 'the package tool of kadirpekel/hector',
  'agent_tool.go': 'the description of agent_tool.go, the agent as a tool',
} as const;

type SourceName = keyof typeof SOURCES;

/** A source, or a place in it: `adk-python: #7245`. */
export type Source = SourceName | `${SourceName}: ${string}`;

/** The run that shows a promise: `npm test`, or `npm run test:deep` where that is too long for each change. */
export type Tier = 'test' | 'deep';

/** Promises by id: where each comes from, what it is in one sentence, and its tier where that isn't `npm test`. */
export type Rows = Readonly<Record<string, readonly [source: Source, behaviour: string, tier?: 'deep']>>;
