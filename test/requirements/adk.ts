import type { Rows } from './row.ts';

/** ADK semantics: requests, tools, callbacks, Runner. */
export const ADK: Rows = {
  'request.processors': [
    'adk-go: RequestProcessor',
    'Tools and processors change the request before it is sent.',
  ],
  'request.toolOnly': ['adk-rs: declaration', 'A tool without a declaration only processes the request.'],
  'request.metadata': ['hector: Request', 'Processors pass metadata on with the request.'],
  'request.duplicates': ['adk-go: PackTool', 'Duplicate and nameless tools are refused at request time too.'],
  'request.endInvocation': [
    'adk-js: InvocationContext',
    'A callback or processor that ends the invocation ends it before the model is asked.',
  ],
  'instruction.global': [
    'adk-js: globalInstruction',
    "The root's instruction comes before the agent's; a static one is sent as it is.",
  ],
  'instruction.identity': ['adk-js: identity instruction', 'An agent is told its name and description.'],
  'instruction.static': [
    'adk-python: static_instruction',
    'A static instruction is sent as it is; the other one follows the history then.',
  ],
  'instruction.values': [
    'adk-js: injectSessionState',
    'Null is written as `null`, an object as JSON, and only own properties are values.',
  ],
  'instruction.artifact': [
    'adk-js: injectSessionState',
    '`{artifact.name}` in an instruction is the text of the artifact.',
  ],
  'contents.include': [
    'adk-js: includeContents',
    "`'none'` sends only contents since the latest event of the user or another agent.",
  ],
  'contents.others': ['adk-js: contents', 'Words and calls of other agents are retold as context.'],
  'contents.branch': ['adk-js: branch', 'An agent sees the events of its own branch.'],
  'contents.late': [
    'adk-js: long-running tools',
    'A late response replaces the earlier one of its call, which stands there, after later messages.',
  ],
  'contents.unmatched': [
    'holdfast',
    'Responses that answer no call are an error of their turn, and poison no session.',
  ],
  'contents.emptyPart': [
    'holdfast',
    'An event whose first part is empty text keeps its calls and signatures.',
  ],
  'contents.reserved': ['adk-js: contents', 'Requests to people are no contents of a model.'],
  'request.schema': ['adk-js: responseJsonSchema', 'A response schema is sent with the request.'],
  'request.refusedSchema': [
    'gemini: function calling',
    'A schema that the provider refuses is an error that names the tool and the keyword.',
  ],
  'toolset.resolve': [
    'adk-go: Toolset',
    'Toolsets are asked for their tools at every request, and closed with the worker.',
  ],
  'toolset.changes': [
    'holdfast',
    'A tool that its toolset no longer has when a call runs is an answer, not a stuck turn.',
  ],
  'toolset.static': ['adk-rs: StaticToolset', 'A fixed list of tools is a toolset.'],
  'toolset.filter': ['adk-go: Predicate & FilterToolset', 'Predicates and names filter a toolset.'],
  'toolset.fails': ['adk-go: Toolset', 'A toolset that fails is a clear error.'],
  'registry.collision': [
    'adk tools page: Collision policy',
    'A second tool of a name is refused; merging asks the incoming tool.',
  ],
  'registry.turn': [
    'adk tools page: Per-turn lifecycle',
    "Changes to a turn's tools never change the agent's.",
  ],
  'registry.factory': [
    'holdfast',
    "What callbacks add to a turn's tools is made again by a factory, on any worker; a closure is refused.",
  ],
  'registry.ephemeral': [
    'adk tools page: ephemeral pruning',
    'Ephemeral tools go when the invocation completes.',
  ],
  'registry.describe': [
    'adk tools page: describe()',
    'A tool describes itself, and converts to a definition.',
  ],
  'callback.model': [
    'adk-go: Tool Callbacks',
    'Callbacks before, after and on errors of a model call: the first answer wins.',
  ],
  'callback.tool': [
    'adk-go: Tool Callbacks',
    'Callbacks before, after and on errors of a call rewrite, answer or recover.',
  ],
  'callback.agent': [
    'adk-js: beforeAgentCallback',
    'Callbacks before and after an agent run once for each of its runs.',
  ],
  'callback.order': [
    'adk-js: callbacks',
    'The first callback of a list that answers wins; plugins come before the list.',
  ],
  'callback.state': [
    'adk-js: callbacks',
    'State that callbacks write is in the transaction of the event that they belong to.',
  ],
  'callback.once': [
    'holdfast',
    'A callback’s answer counts once, however often a crash or a failing model runs it again.',
  ],
  'callback.throws': [
    'adk-js: runAndHandleError',
    'A callback that throws, hangs or returns rubbish is a clear error that names it.',
  ],
  'plugin.hooks': [
    'adk-js: BasePlugin',
    "Plugins see messages, runs, events, agents, models and tools before the agent's callbacks.",
  ],
  'plugin.message': ['adk-js: onUserMessageCallback', 'A plugin replaces the message of the user, once.'],
  'plugin.events': ['adk-js: onEventCallback', 'A plugin replaces an event before it is stored.'],
  'plugin.close': ['adk-python: PluginManager.close', 'Plugins are closed with their worker.'],
  'plugin.guard': [
    'adk tools page: ToolCall records',
    'A guard answers a call that is repeated, and runs nothing again.',
  ],
  'plugin.audit': ['adk tools page: ToolCall records', 'An audit has each completed call under its own key.'],
  'plugin.reflect': [
    'adk-go: RetryAndReflect',
    'A failing tool is reflected on, its counters survive restarts.',
  ],
  'plugin.logging': ['adk-js: LoggingPlugin', 'A plugin logs what happens.'],
  'plugin.globalInstruction': [
    'adk-python: GlobalInstructionPlugin',
    'A plugin gives all agents an instruction.',
  ],
  'plugin.saveFiles': ['adk-python: SaveFilesAsArtifactsPlugin', 'A plugin keeps files of messages.'],
  'agent.outputSchema': [
    'adk-js: outputSchema',
    'An agent answers by a schema, natively or through `set_model_response`.',
  ],
  'agent.setModelResponse': [
    'adk-js: set_model_response',
    'An answer by `set_model_response` that does not match is told to the model, one that does is the answer.',
  ],
  'agent.inputSchema': ['adk-js: inputSchema', 'The input of an agent is checked by a schema.'],
  'agent.maxIterations': ['adk-rs: max_iterations', 'An agent is bounded in its own iterations.'],
  'agent.planner': ['adk-js: planner', 'Agents plan by thinking or by tags.'],
  'agent.codeExecutor': ['adk-js: codeExecutor', 'Code of the model runs as a call with its own key.'],
  'tool.longRunningNote': ['adk-go: functiontool', 'The description of a long-running tool says so.'],
  'tool.readOnly': ['adk-rs: is_read_only', 'A tool says that it only reads.'],
  'tool.turnCalls': [
    'adk tools page: ToolCall records',
    'Completed calls of the turn are seen, never run again: guards and audits stand on them.',
  ],
  'tool.transcript': ['holdfast', 'A tool that says so sees the transcript; for others it is not read.'],
  'tool.media': [
    'adk tools page: What a Tool is',
    'Bytes and media as a result are sent as parts after the response.',
  ],
  'tool.streaming': [
    'hector: StreamingTool',
    'A tool yields chunks; followers see them, the model gets the result.',
  ],
  'tool.streaming.bounded': [
    'holdfast',
    'A tool that streams without end is ended, by number of chunks and by time.',
  ],
  'tool.streaming.dropped': ['holdfast', 'Chunks of a failed attempt are taken back.'],
  'tool.cancellable': [
    'hector: CancellableTool',
    'A running call is cancelled by its id, and tells its own.',
  ],
  'tool.task': [
    'hector: Context.Task',
    'A tool can register a function with its task, which runs when the call is cancelled.',
  ],
  'tool.trusted': ['adk tools page: Trust on the tool', 'A tool says whether its results are trusted.'],
  'builtin.exitLoop': ['adk-go: exitlooptool', '`exit_loop` escalates and skips the summary.'],
  'builtin.control': ['hector: controltool', 'Escalate and transfer are tools with a reason.'],
  'builtin.ask': [
    'adk-js: requestInputTool',
    'A model asks a person; a call of it that nothing could ask fails closed.',
  ],
  'examples.instruction': [
    'adk-js: ExampleTool',
    'Examples stand in the instruction of each request, chosen for what the user says.',
  ],
  'builtin.gemini': ['adk-go: geminitool', 'Tools of Gemini itself are configured, not called.'],
  'context.services': ['adk-go: Context', "Artifacts and memory without a service throw ADK's error."],
  'runner.run': ['adk-js: Runner', 'An ADK program with its Runner runs after its import is changed.'],
  'runner.config': ['adk-js: RunConfig', "A run's configuration is ADK's."],
  'runner.queued': [
    'holdfast',
    'A message to a turn that waits is queued: an event says so, and its answer follows.',
  ],
  'runner.pause': [
    'adk-js: pauseOnToolCalls',
    'A run that pauses on calls is gone on with by a message with their responses.',
  ],
  'runner.sessions': ['adk-js: BaseSessionService', "A Runner's session service has ADK's calls and shapes."],
  'runner.ephemeral': ['adk-js: runEphemeral', 'An ephemeral run leaves no session.'],
  'runner.ends': ['holdfast', 'A program with an InMemoryRunner ends by itself, and leaves nothing running.'],
  'event.helpers': ['adk-js: event.ts', "ADK's functions on events give what ADK's give."],
  'adk.exports': [
    'adk-js',
    'Every export of ADK is the same, ours, not yet, or never, as the documents say.',
  ],
  'adk.members': [
    'adk-js',
    "Members of ADK's classes that Holdfast does not have throw, and name the row that says why.",
  ],
  'adk.services': [
    'adk-js',
    "Contexts and runners have ADK's artifact and memory services; what their users save counts once.",
  ],
  'adk.differential': [
    'adk-js',
    'The same agents and scripts give the same requests and events on ADK and on Holdfast.',
  ],
  'adk.programs': ['adk-js', 'The same program files run with both imports, and print the same.', 'deep'],
  'turn.crash.callback': [
    'holdfast',
    'Killed in or after a callback, the turn completes, and its answer and state count once.',
  ],
  'turn.crash.plugin': ['holdfast', 'Counters of plugins survive a kill of the worker.'],
  'turn.crash.streaming': [
    'holdfast',
    'Killed while a tool streams, the call runs again and followers drop what they had.',
  ],
  'cli.content': ['holdfast', 'The command sends contents and state deltas.'],
};
