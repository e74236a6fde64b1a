import type { Rows } from './row.ts';

/** One durable turn, the whole path. */
export const TURNS: Rows = {
  // Package
  'package.contents': ['holdfast', 'The tarball holds what runs and what is read, and nothing else.', 'deep'],
  'package.built': [
    'holdfast',
    'A clone that npm packs, publishes or installs by git is built, or the command fails with a sentence.',
    'deep',
  ],
  'package.lock': ['holdfast', '`npm ci` takes the lock on each platform, from the public registry.'],
  'package.size': [
    'holdfast',
    'An installation has no more packages and megabytes than the documents say.',
    'deep',
  ],
  'package.links': ['holdfast', 'Links of documents that the tarball holds lead to what it holds.', 'deep'],
  'package.run': [
    'holdfast',
    'The tarball, in a project of its own, runs a turn from the command line.',
    'deep',
  ],
  'package.light': [
    'holdfast',
    '`holdfast`, `holdfast/client` and `holdfast/testing` load without the Temporal worker.',
    'deep',
  ],
  'package.start': [
    'holdfast',
    'A worker loads few modules, entry points share their classes, and each thread and process finds its file.',
    'deep',
  ],
  'package.types': [
    'holdfast',
    "A consumer's types resolve; the arguments of a tool's function are inferred.",
    'deep',
  ],
  'package.example': [
    'holdfast',
    'One command runs an example to its answer, without a key, and links to the Temporal UI.',
    'deep',
  ],
  'layout.files': ['holdfast', 'Files are small, named for one idea, and not drawers for everything.'],
  'layout.ratchet': ['holdfast', 'Lines, files and other costs of reading grow by a named budget only.'],
  'layout.workflows': [
    'holdfast',
    'Modules of workflows keep no state: all workflows of a worker share them.',
  ],
  'layout.rules': [
    'holdfast',
    'The dependency rules of the layout hold, and each finds what breaks it.',
    'deep',
  ],

  // Temporal without set-up
  'temporal.configured': [
    'temporal: envconfig',
    'A server that the environment or a profile names is used: address, namespace, TLS, API key.',
  ],
  'temporal.unreachable': [
    'holdfast',
    'A configured server that is down, or lacks the namespace, is an error soon, without secrets.',
  ],
  'temporal.executable': [
    'holdfast',
    "The server's executable is the configured one, else that of PATH, else that of the cache.",
  ],
  'temporal.install': [
    'holdfast',
    'Without an executable it is downloaded or built by Go, with progress; a second process waits.',
  ],
  'temporal.failed': [
    'holdfast',
    'Where nothing leads to a server, one error lists each attempt and what to do.',
  ],
  'temporal.start': [
    'holdfast',
    'The embedded server starts on free ports with its UI and our search attributes, at once usable.',
  ],
  'temporal.adopt': [
    'holdfast',
    'The next start adopts a live server of the folder and replaces a dead one.',
  ],
  'temporal.attributes': [
    'holdfast',
    'Search attributes are registered where permitted, else left out with one warning.',
  ],
  'temporal.link': ['holdfast', 'A run has a link into the Temporal UI.'],
  'folder.owner': ['holdfast', 'A folder has one owner, and is free right after its owner’s death.'],
  'folder.made': ['holdfast', 'A folder that can not be made is a sentence, and nothing tries for ever.'],
  'folder.file': ['holdfast', '`.holdfast/dev.json` is whole and private, and keeps what it does not know.'],

  // Store
  'store.embedded': [
    'holdfast',
    'A store is made without set-up, for this user only, and keeps what it has.',
  ],
  'store.schema': ['holdfast', 'Migrations are recorded; events and ledger can be partitioned by session.'],
  'store.append': [
    'adk-python: #4506',
    'Events of a session are gapless; an appended event is not appended again.',
  ],
  'store.read': ['holdfast', 'Reading after a seq gives all newer events, in order.'],
  'store.lists': ['holdfast', 'A list reads its page by an index, however many rows there are.', 'deep'],
  'store.content': [
    'holdfast',
    'Any content comes back as it was, of any size; content that cannot be stored fails its own call only.',
  ],
  'store.steps': ['holdfast', 'A recorded model step gives its recorded outcome back.'],
  'store.calls': [
    'holdfast',
    'The first recorded outcome of a call counts, however often it is begun or ended.',
  ],
  'store.fence': ['adk-python: #4751', 'Late attempts of an older step or turn cannot append.'],
  'store.heal': ['adk-python: #2309', 'A turn answers every call that an earlier one left open.'],
  'store.behind': [
    'holdfast',
    'A store that is behind the turn says so; the turn never goes on with a shorter transcript.',
  ],
  'store.references': ['holdfast', 'Each reference of the history can be read from the store.'],
  'store.notices': ['holdfast', 'Followers hear of events and calls, in order.'],
  'store.durable': ['adk-python: #5466', 'Nothing acknowledged is lost when the process is killed.'],
  'store.reconnect': ['holdfast', 'A dropped connection costs nothing; a server that went away comes back.'],
  'store.unavailable': [
    'holdfast',
    'A store that cannot be opened is an error that names it, never its password.',
  ],
  'store.cache': [
    'holdfast',
    'A worker keeps transcripts within its bytes; everything is correct without them.',
  ],

  // Definitions
  'define.refuse': ['holdfast', 'A wrong definition throws when it is made, naming the field.'],
  'types.adk': ['adk-js', 'An ADK program is ported by changing the import.'],
  'types.handMade': [
    'adk-js',
    'A test of a tool, a toolset, a callback or a compactor makes its contexts by hand, in memory.',
  ],
  'agent.model': [
    'adk-js: canonicalModel',
    'A sub-agent without a model has that of the nearest LlmAgent above; an agent without any is refused by its name.',
  ],
  'agent.define': [
    'adk-js: LlmAgent',
    'Agents have the fields and defaults of `LlmAgent`, and our durable options.',
  ],
  'agent.names': ['adk-js: BaseAgent', 'Names in a tree of agents are unique, and an agent has one parent.'],
  'agent.outputKey': [
    'adk-js: outputKey',
    'The text of a final answer, without thoughts, is the state of the output key.',
  ],
  'tool.base': [
    'adk-go: Tool',
    'A tool is a name, a description and a function; any subclass of `BaseTool` is one.',
  ],
  'tool.declare': [
    'adk-go: FunctionDeclaration',
    'A tool is declared by the JSON Schema of its parameters and result.',
  ],
  'tool.schemas': [
    'adk-js: FunctionTool',
    'Parameters are zod 4, zod 3, JSON Schema or the Schema of the provider; the shown schema is the checked one.',
  ],
  'tool.root': ['adk-go: functiontool', 'A parameter schema whose root is no object is refused.'],
  'tool.infer': [
    'adk-go: Input/Output Marshaling',
    'The function gets what the schema makes of the arguments, and a context.',
  ],
  'tool.output': [
    'adk-go: OutputSchema',
    'A result that does not match the output schema is an error that names the path.',
  ],
  'tool.durable': ['holdfast', 'Durable options have the documented defaults.'],
  'tool.context': ['adk-go: Context', 'A tool knows the user, the session and its call.'],
  'event.wire': ['adk-js: Event', "Events are those of ADK's wire, as any ADK writes them."],

  // Model
  'model.answer': ['adk-js: Gemini', 'An answer has content, usage, finish reason and model version.'],
  'model.config': ['adk-js: generateContentConfig', 'An agent sets temperature, safety and the like.'],
  'model.streaming': ['gemini: streaming', 'A streamed answer is the same whole as one that came at once.'],
  'model.verbatim': [
    'gemini: thought signatures',
    'Parts go back to the model as it sent them, unknown fields and signatures too.',
  ],
  'model.safety': ['gemini: safety', 'A blocked prompt and a stopped answer keep their reasons.'],
  'model.fields': ['adk-go: LLMResponse', 'Other fields of the provider’s answer are kept with the event.'],
  'model.errors': [
    'gemini: errors',
    '408, 409, 429, 5xx and the network are retryable, the rest is not; the SDK does not retry by itself.',
  ],
  'model.retryAfter': ['gemini: rate limits', "The provider's wait is the delay before the next attempt."],
  'model.retry': [
    'holdfast',
    'The third failure of a model call ends the turn; being told to wait does not count.',
  ],
  'model.permanent': [
    'holdfast',
    'A request that the model will never answer ends the turn at once, its event kept.',
  ],
  'model.unusable': [
    'holdfast',
    'An answer that cannot be used ends the turn at once: it is not paid for again.',
  ],
  'model.silent': [
    'holdfast',
    'A model or an instruction that never returns, and heeds no signal, holds neither turn nor worker.',
  ],
  'model.message': ['holdfast', 'However long the words of an error are, those of the result are short.'],
  'model.environment': ['gemini: SDK', "The SDK's own variables work: keys, base URL, Vertex AI."],
  'model.abort': ['holdfast', 'An aborted model call closes its connection.'],
  'model.secrets': ['holdfast', 'Keys are in no error, log or inspection.'],
  'model.registry': [
    'adk-js: LLMRegistry',
    'A model is found by its name; own models are registered by class.',
  ],
  'model.aiSdk': [
    'holdfast',
    'Any model of the AI SDK answers as Gemini does: text, parallel calls, reasoning, usage, streamed or at once.',
  ],
  'model.aiSdk.request': ['holdfast', 'A request in the words of Gemini reaches a provider whole.'],
  'model.aiSdk.unfit': [
    'holdfast',
    'A setting that a provider does not have is refused by its name, or logged once.',
  ],
  'model.aiSdk.verbatim': [
    'holdfast',
    'Metadata, signatures and parts of a provider go back to the same model as they came.',
  ],
  'model.aiSdk.ids': ['holdfast', 'Each result has the id of its call, whichever ids the transcript has.'],
  'model.aiSdk.names': ['holdfast', 'Names of tools that a provider refuses are changed, and come back.'],
  'model.aiSdk.arguments': [
    'holdfast',
    'Arguments that are no JSON are told to the model, which can call again.',
  ],
  'model.aiSdk.finish': [
    'holdfast',
    'Finish reasons have the names of Gemini; a failed answer is tried again.',
  ],
  'model.aiSdk.stream': [
    'holdfast',
    'A stream gives the parts of an answer in their order, whole at its end.',
  ],
  'model.aiSdk.bounds': ['holdfast', 'An answer that never ends fills no memory.'],
  'model.aiSdk.failures': ['holdfast', 'Failures of providers are classed as those of Gemini are.'],
  'model.aiSdk.secrets': ['holdfast', 'Keys of providers are in no error, log or inspection.'],
  'model.aiSdk.schema': ['holdfast', "An answer by a schema is asked for in the provider's way."],
  'model.aiSdk.schemas': [
    'holdfast',
    'A schema that its provider refuses is named with its path, before the first turn.',
  ],
  'model.aiSdk.v3': ['holdfast', 'Models of the third version of the AI SDK work too.'],
  'model.aiSdk.definition': ['holdfast', 'A wrong option of an AiSdkModel is named.'],
  'model.aiSdk.named': ['holdfast', 'A model named by its provider and its id is asked through its package.'],
  'model.aiSdk.package': ['holdfast', 'A model whose package is missing says what to install.'],
  'model.aiSdk.cacheWrite': [
    'holdfast',
    'Tokens that a provider writes into its cache are counted, and have a price of their own.',
  ],
  'model.aiSdk.change': [
    'holdfast',
    'A session may change its model: no model gets reasoning or signatures of another one.',
  ],
  'model.providers': [
    'holdfast',
    'Turns are the same on each provider: calls, ids, streams, gates, stopped workers.',
  ],
  'model.providers.kill': ['holdfast', 'A killed worker costs time and no effect twice, on each provider.'],
  'model.routed': [
    'adk-js: RoutedLlm',
    'A routed model falls back on a classed failure; the event tells the route.',
  ],
  'model.routed.price': ['holdfast', "A routed model's answer costs what the model costs that gave it."],

  // Requests
  'request.build': [
    'adk-go: Declaration Packing',
    'A request is transcript, instructions, settings, and all declarations in one entry.',
  ],
  'instruction.template': [
    'adk-js: injectSessionState',
    '`{key}`, `{key?}` and prefixes in an instruction are filled from the state; a missing key fails.',
  ],
  'instruction.provider': [
    'adk-js: InstructionProvider',
    'A function writes the instruction; it is not filled in.',
  ],
  'contents.pairs': [
    'adk-python: #2309',
    'Each call that the model sees has exactly one response, right after it.',
  ],
  'contents.verbatim': [
    'gemini: thought signatures',
    'The parts of a transcript go into the request unchanged.',
  ],

  // Turn
  'turn.answer': ['holdfast', 'A turn is a workflow from a message to its final answer.'],
  'turn.start': [
    'holdfast',
    'Any SDK starts a turn by plain arguments; those that disagree with the workflow id fail it with a typed error.',
  ],
  'turn.identity': ['holdfast', 'The workflow id of a session is readable, unique and short, for all names.'],
  'turn.messageId': ['adk-python: #4506', 'One message id is one turn, for ever.'],
  'tool.alone': [
    'holdfast',
    "A tool that isn't safe beside others runs alone and sees what the calls before it wrote.",
  ],
  'turn.summary': [
    'temporal: user metadata',
    'Summaries in the Temporal UI show short values of calls, sensitive ones never, and name each workflow.',
  ],
  'turn.bar': ['temporal: user metadata', 'A wait for a person is a bar in the timeline, with a label.'],
  'turn.calls': [
    'adk-go: Parallel Tool Calls',
    'Each call is an activity named after its tool; responses are merged in call order.',
  ],
  'turn.parallel': [
    'holdfast',
    'Calls run at once up to `maxParallelCalls`; those that are not safe together one after another.',
  ],
  'turn.actions': [
    'adk-python: #1938',
    "The actions of a step's calls are merged, nested state recursively.",
  ],
  'state.reserved': [
    'holdfast',
    'No state delta of any sender reaches Holdfast’s own memory of a turn; reserved keys are refused.',
  ],
  'turn.state': [
    'adk-js: State',
    'State is written by tools, merged, and read back with its prefixes; `temp:` is in no event.',
  ],
  'turn.skipSummarization': [
    'adk-rs: skip_summarization',
    'A tool that skips the summary ends the turn with its response.',
  ],
  'turn.maxLlmCalls': [
    'adk-js: RunConfig',
    'An exhausted budget of model calls ends the turn as failed, its events kept.',
  ],
  'agent.chain': [
    'holdfast',
    'Steps whose calls are inline run in one activity, and leave, and obey, what single steps do.',
  ],
  'turn.cancel': [
    'temporal: cancellation',
    'A cancelled turn reaches its tools and leaves a session that the next turn continues.',
  ],
  'turn.end': ['holdfast', 'Store and Temporal agree on how a turn ended, whenever it was cancelled.'],
  'turn.status': ['holdfast', 'The query `status` and the current details say what runs.'],
  'turn.searchAttributes': [
    'temporal: visibility',
    'Turns are found by app, user, session, agent and status.',
  ],
  'turn.once': ['holdfast', 'An action in `once` happens in one attempt, and every attempt gets its result.'],
  'turn.outage': [
    'holdfast',
    'A store that is away for a while repeats no effect whose attempt lives, and leaves no known outcome unknown.',
  ],
  'turn.late': [
    'holdfast',
    'An attempt that stood still while another one took its place does not run the action of `once`.',
  ],
  'turn.crash.model': [
    'adk-python: #5466',
    'Killed during a model call, the turn completes after a restart.',
  ],
  'turn.crash.tool': ['adk-python: #1851', 'Killed during a tool, the call runs again under its own key.'],
  'turn.crash.unknown': [
    'adk-python: #6732',
    'Killed during a tool that is not idempotent, it is not repeated and the model is told.',
  ],
  'turn.crash.boundary': [
    'holdfast',
    'Killed between any two writes, nothing recorded is asked or run again; events are gapless and never doubled.',
  ],
  'session.continue': ['holdfast', 'The next turn of a session sees the last one.'],
  'call.ids': [
    'adk-js: function call ids',
    'Repeated, missing or made-up call ids: each call runs once and gets its own response.',
  ],
  'call.keys': ['holdfast', 'A call has a key that no other call will ever have.'],
  'tool.result': [
    'adk-go: Uniform result type',
    'A JSON object is the response; anything else is wrapped; a value without a JSON form is an error that names the path.',
  ],
  'tool.arguments': [
    'adk-go: Input/Output Marshaling',
    "Arguments that do not fit are answered with ADK's texts before the function runs.",
  ],
  'tool.unknown': [
    'adk-python: #2309',
    "An unknown tool is an answer with ADK's text; its siblings keep their results.",
  ],
  'tool.retry': ['holdfast', "A tool's failures are tried again; the third is the answer."],
  'tool.permanent': [
    'holdfast',
    'A failure that says so, and arguments or results that do not fit, are not tried again.',
  ],
  'tool.throws': [
    'adk-go: Panic Recovery',
    'A tool that throws anything at all answers with an error, never with its stack.',
  ],
  'tool.schedule': [
    'temporal: activity options',
    'Timeouts, heartbeats and back-off of a tool are those of its activity.',
  ],
  'tool.timeout': [
    'holdfast',
    'A tool that takes too long may have had its effect: one that is not idempotent is not run again.',
  ],
  'tool.totalTimeout': [
    'holdfast',
    'A call without an outcome in its time is answered, without a word of the infrastructure.',
  ],
  'tool.actions': [
    'adk-js: EventActions',
    'Actions that the store could not merge are an error of their call, and of no other.',
  ],
  'tool.names': ['holdfast', 'A tool may have the name of a member of every object.'],
  'tool.heartbeat': ['temporal: heartbeats', 'A tool tells how far it is, in an inline call too.'],
  'tool.inline': [
    'holdfast',
    'A call that the activity of its step runs is recorded, tried again, cancelled and answered as one that is an activity.',
  ],
  'tool.auto': [
    'holdfast',
    'Short calls that may be repeated run in the activity of their step where a tool says auto.',
  ],
  'tool.sensitive': ['holdfast', 'Sensitive arguments and results are in no history, summary or log.'],
  'size.inline': [
    'holdfast',
    'Content up to 4 KiB is in the history, more is named by reference, digest and size.',
  ],
  'size.digest': ['holdfast', 'Equal content has an equal digest, for every order of keys.'],
  'size.plan': ['holdfast', 'The plan of a step fits one payload, for every number and size of its calls.'],
  'size.results': [
    'holdfast',
    '100 calls with results of 64 KiB: no payload over 64 KiB, no workflow task over 1 MiB.',
  ],
  'size.arguments': [
    'holdfast',
    '40 calls with arguments of 200 KiB: no payload over 64 KiB, no workflow task over 1 MiB.',
  ],
  'size.calls': ['holdfast', 'Calls beyond what one plan holds are answered, not run.'],
  'size.text': ['holdfast', 'A long answer stays in the store, its reference is in the result.'],
  'size.history': [
    'holdfast',
    'History grows with the steps of a turn, not with the length of the conversation.',
  ],
  replay: ['temporal: replay', 'Recorded histories of every kind of turn replay on the current bundle.'],

  // Worker and client
  'worker.stamp': ['holdfast', 'A worker refuses a bundle of another SDK or protocol, naming both.'],
  'worker.bundle': [
    'temporal: bundling',
    'The bundle is prebuilt, with its source map and without schema libraries.',
  ],
  'worker.thread': [
    'temporal: workers',
    'A workflow task that never ends fails, and the worker goes on with other workflows. Call stacks are an option.',
  ],
  'worker.agents': [
    'holdfast',
    'A worker refuses no agents, twins and an unknown root, and runs the agent that is named.',
  ],
  'worker.heartbeat': ['temporal: heartbeats', 'A silent tool keeps its attempt: Holdfast beats by itself.'],
  'client.attach': [
    'adk-python: #192',
    'A message that is under way is attached to, and gives its own result.',
  ],
  'client.busy': ['holdfast', 'Another message while a turn runs is refused, and only then.'],
  'client.failed': ['holdfast', 'A failed turn is a result; one that was ended from outside is an error.'],

  // Command
  'cli.run': ['holdfast', '`holdfast run` shows people what was said, called and answered.'],
  'cli.light': [
    'holdfast',
    'A command loads what it uses: neither worker nor Temporal to read a list, and no store where a gateway serves it.',
  ],
  'cli.json': [
    'holdfast',
    '`--json` prints one ADK event per line; any other line has a `type`, and remarks are on standard error.',
  ],
  'cli.attach': ['holdfast', 'A message that was answered is printed, not asked again.', 'deep'],
  'cli.crash': ['adk-python: #5466', 'Killed and run again, the command finishes the turn.'],
  'cli.interrupt': ['holdfast', 'Interrupted, it says how to go on.'],
  'cli.interruptHung': [
    'holdfast',
    'A model that never answers and heeds no signal does not hold the terminal.',
    'deep',
  ],
  'cli.head': ['holdfast', 'A reader that has read enough ends the command without a stack.', 'deep'],
  'cli.cancelled': [
    'holdfast',
    'A turn cancelled in Temporal ends the command with one plain sentence.',
    'deep',
  ],
  'cli.stacks': [
    'holdfast',
    'The stack of failing user code is in the log of its folder, not on the terminal.',
    'deep',
  ],
  'cli.files': ['holdfast', "Agents files that share a folder don't take up each other's turns.", 'deep'],
  'cli.folders': [
    'holdfast',
    "Folders that share a Temporal server don't take up each other's turns.",
    'deep',
  ],
  'cli.failed': ['holdfast', 'A failed turn exits with 1 and keeps its events.', 'deep'],
  'cli.input': ['holdfast', 'Bad input is a clear error and a non-zero exit, nothing half-written.'],
  'cli.owner': ['holdfast', 'A second owner of the folder is refused, with what to do.', 'deep'],
  'cli.server': ['holdfast', 'A server that is down is a clear error.', 'deep'],
  'cli.store': ['holdfast', 'A store that is down is a clear error, without its password.', 'deep'],
  'cli.port': ['holdfast', 'A port that is taken is a sentence with the next step.'],
  'cli.apps': ['holdfast', 'An app that is not there is refused, with the one that was meant.'],
  'cli.temporal': [
    'temporal: CLI',
    '`holdfast temporal` runs the Temporal CLI on the server that its turns run on.',
  ],
  'cli.visible': [
    'holdfast',
    'On a terminal nothing that models, tools or people wrote is unseen, turned round or moves the cursor.',
  ],
  'cli.node': ['holdfast', 'A Node that is too old is told, with what to do.'],

  // Mock server
  'mock.calls': ['gemini: generateContent', 'The mock Gemini server speaks both calls of the Gemini API.'],
  'mock.script': ['holdfast', 'A function or a list scripts it.'],
  'mock.errors': ['gemini: errors', 'It fails as the API does: errors, broken streams, cut connections.'],
  'mock.pace': ['holdfast', 'It waits before the first byte and between chunks.'],
  'mock.records': ['holdfast', 'It records requests, without credentials.'],
  'mock.refuses': [
    'gemini: function calling',
    'It refuses wrong roles, and calls that are unanswered or answered twice.',
  ],
  'mock.declarations': ['gemini: function calling', 'It refuses invalid declarations.'],
  'mock.signatures': ['gemini: thought signatures', 'It refuses lost and moved thought signatures.'],
};
