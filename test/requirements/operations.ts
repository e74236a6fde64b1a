import type { Rows } from './row.ts';

/** The shell around it: develop, deploy, look. */
export const OPERATIONS: Rows = {
  'contract.types': ['holdfast', 'Interfaces with comments for users are the types of their schemas.'],
  'contract.ways': [
    'holdfast',
    'An operation has one answer, and one code for each error, directly, over HTTP and by its command, and uses all that it is given.',
  ],
  'cli.dev': ['holdfast', '`holdfast dev` runs everything, reloads on change and drains the old worker.'],
  'dev.waits': [
    'holdfast',
    'In the chat of `holdfast dev` another session goes on while a turn waits for people, and one comes back to it.',
  ],
  'cli.worker': ['holdfast', '`holdfast worker` runs a worker in production.'],
  'cli.sessions': [
    'holdfast',
    'Sessions are listed, shown, forked, rewound, retried and deleted from the command line.',
  ],
  'cli.turns': [
    'holdfast',
    'Turns are listed, looked at and ended, and their calls cancelled, from the command line.',
  ],
  'cli.init': ['holdfast', '`holdfast init` makes a project that runs, with a test.'],
  'cli.empty': ['holdfast', 'An empty variable counts as not set for every reader.'],
  'cli.init.template': [
    'holdfast',
    '`holdfast init --template` makes a project with an MCP server, an API, or GPT, that runs at once.',
  ],
  'cli.init.source': ['holdfast', 'The project of `holdfast init` requires what the command was run from.'],
  'cli.doctor': ['holdfast', '`holdfast doctor` finds what is missing and says what to do.'],
  'errors.explain': ['holdfast', '`holdfast explain` prints the section of each error code.'],
  'cli.replay': ['temporal: replay', '`holdfast replay` replays a history.'],
  'cli.graph': ['holdfast', '`holdfast graph` draws agents and tools.'],
  'gateway.turns': ['holdfast', 'Turns are started, awaited and followed over HTTP.'],
  'gateway.events': [
    'adk-python: #4216',
    'Events come as server-sent events that resume and end explicitly.',
  ],
  'gateway.local': [
    'holdfast',
    'Without authentication only this machine is served, with a token, against foreign origins.',
  ],
  'gateway.document': ['holdfast', 'The gateway describes itself in OpenAPI.'],
  'stream.text': [
    'adk-js: streamingMode',
    'Partial text reaches terminal and followers, never the history or the store.',
  ],
  'stream.retry': ['holdfast', 'Followers drop the partial text of a failed attempt.'],
  'stream.slow': ['adk-python: #4029', 'A slow or dropped follower holds up no turn.'],
  'testing.environment': [
    'holdfast',
    '`createTestEnvironment` brings server, store, mock Gemini server and worker in one call.',
  ],
  'metrics.prometheus': ['holdfast', 'Turns, steps, calls, tokens, cost, waiting and failures are counted.'],
  'ops.otlp': [
    'holdfast',
    'Workers and gateways send metrics and spans where the variables of OpenTelemetry say.',
  ],
  'ops.codec': [
    'holdfast',
    'Workers, gateways and commands encode payloads by a module; the Temporal UI decodes them by it.',
  ],
  'traces.genai': ['holdfast', 'One trace spans client, workflow and activities, contents off by default.'],
  'deploy.compose': ['holdfast', 'One Compose file runs Postgres, Temporal, UI, worker and gateway.'],
  'deploy.secrets': ['holdfast', 'The Compose file has no default passwords.'],
  'deploy.starts': [
    'holdfast',
    'Worker and gateway start with the defaults of the Compose file, and with every variable passed empty: a deep test.',
    'deep',
  ],
  'deploy.native': [
    'holdfast',
    'The services of the Compose file, run without Docker, come up and do the main job: a deep test.',
    'deep',
  ],
  'docs.current': [
    'holdfast',
    'Documents name the commands that there are, and nothing of what comes later.',
  ],
  'docs.configuration': ['holdfast', 'Options and variables stand in one table, made from the code.'],
  'example.support': [
    'holdfast',
    'A support desk over real-looking orders runs from the first command of the README.',
  ],
};
