import type { Rows } from './row.ts';

/** Programs that a model runs on the worker's machine. */
export const COMMANDS: Rows = {
  'commands.run': [
    'hector: commandtool',
    'A program gets its arguments as they are, in the folder of its session; its end is a result, whatever it is.',
  ],
  'commands.wall': [
    'holdfast',
    'A command has no effect outside of its folder, and sees no secret, whatever it runs and however that is written.',
  ],
  'commands.limits': ['holdfast', 'A command that takes all that there is, is bounded and ends.'],
  'commands.network': ['holdfast', 'A command reaches the named hosts, and nothing else.'],
  'commands.output': [
    'hector: commandtool',
    'Output streams as it comes; a long one is told with beginning and end, and kept whole.',
  ],
  'commands.ends': ['holdfast', 'All that a command has started ends with its call, and with its worker.'],
  'commands.asking': [
    'holdfast',
    'A person is asked about each command that no list allows; an approval is for these words and this sandbox.',
  ],
  'commands.turn': [
    'holdfast',
    'In a turn a command waits for its approval, streams to followers, and its long output is queried.',
  ],
  'commands.refusal': ['holdfast', 'Without a sandbox commands are refused, and the turn goes on.'],
  'commands.fallback': ['holdfast', 'Where the app says so, a simulated shell serves in place of a sandbox.'],
  'commands.environment': ['adk-js: LocalEnvironment', "ADK's environment runs its commands in the sandbox."],
  'commands.code': [
    'adk-js: UnsafeLocalCodeExecutor',
    'Code of a model runs in the sandbox, and leaves files.',
  ],
};
