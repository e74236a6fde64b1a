/** The places of `@google/adk` 2.0.0's exports in Holdfast. */
export type AdkGroup =
  /** Exported, and does what ADK's does. */
  | { kind: 'same'; names: string }
  /** Exported, and differs. */
  | { kind: 'ours'; how: string; names: string }
  /** Comes with a part of Holdfast that is not in this release. */
  | { kind: 'not yet'; what: string; names: string }
  /** Doesn't come. */
  | { kind: 'never'; why: string; names: string };

/** Every export of `@google/adk` 2.0.0, values and types, once. */
export const ADK_EXPORTS: readonly AdkGroup[] = [
  {
    kind: 'same',
    names: `ContextCompactionTrigger isCompactedEvent isScratchpadEvent ArtifactVersion BaseArtifactService DeleteArtifactRequest ListArtifactKeysRequest ListVersionsRequest
      LoadArtifactRequest SaveArtifactRequest SessionArtifactService SessionLoadArtifactRequest SessionSaveArtifactRequest LOAD_ARTIFACTS AppendEventRequest AuthConfig BaseLlmType BaseToolParams CodeExecutionInput
      CodeExecutionLanguage CodeExecutionResult CompositeSessionKey CreateEventParams CreateSessionRequest
      DataStoreParams DeleteSessionRequest ENTERPRISE_WEB_SEARCH EXIT_LOOP EnterpriseWebSearchTool EventActions
      EventType ExecuteCodeParams ExitLoopTool File FileContentEncoding FinishedEvent ActivityEvent CallCodeEvent
      CodeResultEvent ContentEvent ErrorEvent ThoughtEvent ToolCallEvent ToolConfirmationEvent ToolResultEvent
      StructuredEvent GOOGLE_MAPS_GROUNDING GOOGLE_SEARCH GetSessionConfig GetSessionRequest GoogleMapsGroundingTool
      GoogleSearchTool InstructionProvider LOAD_MEMORY ListSessionsRequest ListSessionsResponse LoadMemoryTool LogLevel Logger MemoryEntry NodeInfo
      PRELOAD_MEMORY PreloadMemoryTool REQUEST_CONFIRMATION_FUNCTION_CALL_NAME REQUEST_CREDENTIAL_FUNCTION_CALL_NAME REQUEST_INPUT_FUNCTION_CALL_NAME
      Route RouteKey RunAsyncToolRequest SearchEngineParams SearchMemoryRequest SearchMemoryResponse Session SingleAgentCallback
      StreamingMode ToolConfirmation ToolExecuteArgument ToolInputParameters ToolPredicate ToolProcessLlmRequest
      ToolUnion URL_CONTEXT UrlContextTool VertexAISearchConfig VertexAISearchDataStoreSpec VertexAiSearchTool
      VertexAiSearchToolParams VertexRagRetrievalTool createEvent createEventActions createResumabilityConfig
      createSession findEventByFunctionCallId findEventByLastFunctionResponseId findMatchingFunctionCall
      generateClientFunctionCallId getFunctionCalls getFunctionResponses hasThoughts hasTrailingCodeExecutionResult
      isApp isBaseAgent isBaseLlm isBaseTool isBaseToolset isFinalResponse isFunctionTool isLlmAgent isRunner
      isAgentTool isLoopAgent isParallelAgent isRoutableLlmAgent isSequentialAgent
      populateClientFunctionCallId pruneThoughts setLogLevel setLogger stringifyContent toStructuredEvents
      validateAppName HttpAuth HttpCredentials OAuth2Auth AuthScheme OpenIdConnectWithConfig
      BaseCredentialExchanger ExchangeResult ServiceAccount ServiceAccountCredential
      getAskUserConfirmationFunctionCalls getPendingUserInputRequests getUserInputRequests requiresUserInput
      UserInputKind UserInputRequest FINISH_TASK_TOOL_NAME FINISH_TASK_SUCCESS_RESULT Example isBaseExampleProvider BasePolicyEngine InMemoryPolicyEngine PolicyCheckResult PolicyOutcome
      ToolCallPolicyContext`,
  },
  {
    kind: 'ours',
    how: 'With durable options beside the options of ADK. `mode` makes a sub-agent a tool of its parent, as in adk-python. A ported `runAsyncImpl` runs again from its start in each of its steps. `parentAgent` is no option.',
    names: 'Agent LlmAgent LlmAgentConfig BaseAgent BaseAgentConfig',
  },
  {
    kind: 'ours',
    how: 'Each sub-agent runs as a child workflow. A loop without sub-agents ends. In nested loops `escalate` ends the inner one; without `maxIterations` it is undefined.',
    names: 'SequentialAgent ParallelAgent LoopAgent LoopAgentConfig',
  },
  {
    kind: 'ours',
    how: '`LoadArtifactsTool` preloads by patterns; a name without `user:` falls back to the user’s; an artifact that can’t be read is a line. `InMemoryArtifactService` copies parts, and refuses names that no folder takes.',
    names: 'LoadArtifactsTool InMemoryArtifactService',
  },
  {
    kind: 'ours',
    how: 'With the optional methods of adk-python: `addEventsToMemory`, `addMemory`, `deleteMemory`. `InMemoryMemoryService` finds words of all scripts.',
    names: 'BaseMemoryService InMemoryMemoryService',
  },
  {
    kind: 'ours',
    how: 'Styles, all security schemes, status codes and retries count; requests are guarded. `OpenApiSpecParser` keeps references of schemas: give the document to `createRestApiTool`. Names of arguments have acronyms in one piece. No secret is kept in the state.',
    names: `OpenAPIToolset OpenApiSpecParser OperationParser ParsedOperation RestApiTool createRestApiTool
      ToolAuthHandler AuthPreparationResult ApiParameter OperationEndpoint`,
  },
  {
    kind: 'ours',
    how: 'A call runs its agent as a child workflow in a session of its own, with `timeout`, `attempts`, `budget`, `taskQueue` and gates; its failure is told.',
    names: 'AgentTool AgentToolConfig',
  },
  {
    kind: 'ours',
    how: 'The arguments are checked by the whole schema, and the texts are ours. A task that speaks without `finish_task` asks a person.',
    names: 'FinishTaskTool',
  },
  {
    kind: 'ours',
    how: 'Pages of https at the public internet, and of hosts in `allow`; redirects are followed under the same guard. The text is that of `@mozilla/readability`. A failure says its reason.',
    names: 'LOAD_WEB_PAGE loadWebPage LoadWebPageOptions',
  },
  {
    kind: 'ours',
    how: 'A provider may be asynchronous. Arguments of calls are written as JSON.',
    names: 'BaseExampleProvider ExampleTool',
  },
  {
    kind: 'ours',
    how: 'Offers only agents to which the turn may be transferred; every app is resumable.',
    names: 'AgentTransferLlmRequestProcessor determineAgentForResumption',
  },
  {
    kind: 'ours',
    how: 'Callbacks run in activities: again after a crash, and their answers count once. Callbacks on errors are ours, too.',
    names: `BeforeAgentCallback AfterAgentCallback BeforeModelCallback AfterModelCallback BeforeToolCallback
      AfterToolCallback SingleBeforeModelCallback SingleAfterModelCallback SingleBeforeToolCallback
      SingleAfterToolCallback`,
  },
  {
    kind: 'ours',
    how: 'With `durable`: budgets, prices, retention. Every turn is resumable, with any `resumabilityConfig`.',
    names: 'App AppOptions ResumabilityConfig',
  },
  {
    kind: 'ours',
    how: 'Turns are durable; sessions of a Runner are kept by the store; `client` and `close()` are ours. No `runLive`.',
    names: 'Runner RunnerConfig InMemoryRunner',
  },
  {
    kind: 'ours',
    how: 'Over a store of this process. A second session of one id is refused; `app:` and `user:` keys of a new session are shared at once. A class of your own is no session service of a runner.',
    names: 'BaseSessionService InMemorySessionService',
  },
  {
    kind: 'ours',
    how: '`streamingMode`, `maxLlmCalls`, `pauseOnToolCalls`; any other field that is set is refused by its name.',
    names: 'RunConfig',
  },
  {
    kind: 'ours',
    how: 'Without the hooks of nodes; `onToolCallCompleted` is ours. Hooks run in activities, on any worker.',
    names: 'BasePlugin PluginManager LoggingPlugin GlobalInstructionPlugin',
  },
  {
    kind: 'ours',
    how: 'Made anew in each activity from the store, or by hand in a test of a tool. `artifactService` and `memoryService` are there, with what they save counted once; no `sessionService`: sessions are written by `state` and events.',
    names: 'Context ReadonlyContext InvocationContext InvocationContextParams',
  },
  {
    kind: 'ours',
    how: 'Compacted events are stored with their step, and name the last event that they stand for: events of one time are told apart. No call is parted from its response, and calls that wait are kept. A compactor that makes no event compacts each request anew, and the next one is asked too.',
    names: `AgentControlledContextCompactor AnchoredContextCompactor AnchoredContextCompactorOptions BaseContextCompactor
      TokenBasedContextCompactor TokenBasedContextCompactorOptions TrajectoryThoughtPruningCompactor
      TrajectoryThoughtPruningCompactorOptions TruncatingContextCompactor TruncatingContextCompactorOptions
      ContextCompactorRequestProcessor CompactedEvent ConsolidateContextTool`,
  },
  {
    kind: 'ours',
    how: 'A summary counts as a model call, with its tokens and its cost, and is asked for once, whatever fails after it.',
    names: 'BaseSummarizer LlmSummarizer LlmSummarizerOptions',
  },
  {
    kind: 'ours',
    how: 'Values are copies: changing one changes nothing until `set`. `stateSchema` is checked for events, too.',
    names: 'State StateSchemaError isStateSchemaError',
  },
  {
    kind: 'ours',
    how: 'With durable options: retries, timeouts, idempotency, sensitivity; parameters of any schema kind are validated.',
    names: 'BaseTool FunctionTool ToolOptions ToolExecuteFunction BaseToolset',
  },
  {
    kind: 'ours',
    how: 'The call has a job, which ends by a message as in ADK, a callback, a poll, an operator or its deadline. Without a first result the turn waits.',
    names: 'LongRunningFunctionTool',
  },
  {
    kind: 'ours',
    how: 'The call waits within its turn, and the answer of the person is its response. A choice is answered by a function response to the call, as in ADK, or to the request: with `{ choice }` or `{ result }`, and with nothing that was not offered; the model gets `{ result }`.',
    names: 'getUserChoiceTool requestInputTool',
  },
  {
    kind: 'ours',
    how: 'A predicate may say what people are asked: `hint` and `payload`. Anything but `false` asks.',
    names: 'RequireConfirmation',
  },
  {
    kind: 'ours',
    how: '`AuthCredentialTypes` is no `enum`, its values are those of ADK. Credentials of all kinds are kept encrypted, and tokens are refreshed.',
    names: 'AuthCredential AuthCredentialTypes',
  },
  {
    kind: 'ours',
    how: 'With PKCE: `generateAuthUri` gives a `codeVerifier`, and a code is exchanged with it. A parsed answer stays in this process, with the state object that it was parsed for; no state has a secret. Every failure of an exchange is a `CredentialExchangeError`. OAuth 2.1 has neither `implicit` nor `password`: a scheme with nothing else is refused. `OAuthGrantType` is no `enum`.',
    names: 'AuthHandler OAuth2CredentialExchanger CredentialExchangeError OAuthGrantType',
  },
  {
    kind: 'ours',
    how: 'Does nothing: answers with credentials are taken, and codes exchanged, before a turn goes on.',
    names: 'AUTH_PREPROCESSOR AuthPreprocessor',
  },
  {
    kind: 'ours',
    how: 'For a program’s own use: nothing asks them, as in ADK. Tokens of tools are refreshed without.',
    names: 'AuthProviderRegistry BaseAuthProvider CredentialRefresherRegistry BaseCredentialRefresher',
  },
  {
    kind: 'ours',
    how: 'Looks in OpenID’s place first, and gives all that the server says. `allow` names hosts that are not public.',
    names: 'OAuth2DiscoveryManager',
  },
  {
    kind: 'ours',
    how: 'Keeps nothing in the state; an outcome that is none of `PolicyOutcome` denies.',
    names: 'SecurityPlugin',
  },
  {
    kind: 'ours',
    how: 'Code runs as a call of the step, with a key of its own; `onUnknownOutcome` decides what happens after a crash.',
    names: 'BaseCodeExecutor BuiltInCodeExecutor UnsafeLocalCodeExecutor UnsafeLocalCodeExecutorOptions',
  },
  {
    kind: 'ours',
    how: 'Commands run in a sandbox, which all that they start ends with. They get PATH, HOME, LANG, TMPDIR and `envVars`; output is cut after 1 MiB; 128 and the number of a signal is the exit code. Files are held against links.',
    names: 'BaseEnvironment ExecutionResult LocalEnvironment LocalEnvironmentOptions',
  },
  {
    kind: 'ours',
    how: 'Requests are built in one activity; user code that sees one may edit it in place, for this request only.',
    names: `BaseLlmRequestProcessor BaseLlmResponseProcessor CONTENT_REQUEST_PROCESSOR ContentRequestProcessor
      LlmRequest`,
  },
  {
    kind: 'ours',
    how: '`connect` is never called, and throws unless a class has its own; no Interactions API; failures have classes, which say whether they are tried again.',
    names: 'BaseLlm BaseLlmConnection Gemini GeminiParams LlmResponse',
  },
  {
    kind: 'ours',
    how: 'A class that is registered later wins. Knows models of the AI SDK by names such as `openai/gpt-5`.',
    names: 'LLMRegistry',
  },
  { kind: 'ours', how: 'The fields of ADK; its brand is left out.', names: 'Event' },
  {
    kind: 'ours',
    how: 'Its own writes warnings and errors to standard error, where ADK’s writes information to standard output.',
    names: 'getLogger',
  },
  {
    kind: 'ours',
    how: 'On `@modelcontextprotocol/client` 2. Connections are kept, one for each user; results are `{ output }`, and `isError` is an error. Filters name tools without the prefix. Resources are listed with their URIs.',
    names: `MCPToolset MCPTool MCPSessionManager MCPConnectionParams StdioConnectionParams StreamableHTTPConnectionParams
      LoadMcpResourceTool`,
  },
  {
    kind: 'ours',
    how: 'Each choice is recorded before the agent runs. The failure of an LlmAgent’s model has another route, too; `lastError` has a `code`.',
    names: 'RoutedAgent RoutedAgentConfig isRoutedAgent AgentRouter',
  },
  {
    kind: 'ours',
    how: '`lastError` is a `ModelError`. The route stands in the event’s `customMetadata.route`, and the answer has the price of its model. No `connect`.',
    names: 'RoutedLlm LlmRouter',
  },
  {
    kind: 'not yet',
    what: 'Skills',
    names: `Skill Frontmatter Resources Script SkillRegistry SkillToolset ListSkillsTool LoadSkillTool
      LoadSkillResourceTool SearchSkillsTool RunSkillScriptTool RunSkillInlineScriptTool RunSkillInlineScriptErrorCode
      loadAllSkillsInDir loadSkillFromDir loadSkillFromZipBuffer validateSkillDir`,
  },
  {
    kind: 'not yet',
    what: 'A2A',
    names: `A2AAgentExecutor A2AStreamEventData A2aUserBuilder AGENT_CARD_PATH AfterA2ARequestCallback AfterEventCallback
      AfterExecuteCallback AgentExecutorConfig BeforeA2ARequestCallback BeforeExecuteCallback ExecutorContext
      RemoteA2AAgent RemoteA2AAgentConfig RunnerOrRunnerConfig ToA2aOptions bearerTokenUserBuilder getA2AAgentCard toA2a`,
  },
  {
    kind: 'never',
    why: 'The Live API: a turn is a durable run from a message to its answer, not an open connection.',
    names: `ActiveStreamingTool ActiveStreamingToolParams LiveRequest LiveRequestQueue
      TranscriptionEntry isGemini3xFlashLive`,
  },
  {
    kind: 'never',
    why: 'The Interactions API keeps the conversation at the provider; with Holdfast the store has it.',
    names: 'INTERACTIONS_REQUEST_PROCESSOR InteractionsRequestProcessor',
  },
  {
    kind: 'never',
    why: 'Graphs of nodes: on Temporal a graph is a workflow of your own; it runs agents by [`runAgent`](own-workflows.md).',
    names: `BaseNode BaseNodeConfig BranchPath BuildNodeOptions ChainElement CreateNodeErrorEventParams DEFAULT_ROUTE
      DynamicEntry Edge EdgeItem ErrorClass FunctionNode FunctionNodeConfig FunctionNodeHandler FunctionNodeResult Graph
      JoinNode NodeContext NodeContextOptions NodeErrorEvent NodeLike NodeOptions NodeReportedError NodeResult
      NodeSchemaValidationError NodeState NodeStatus NodeTimeoutError NodeTool ParallelWorker ParallelWorkerConfig
      PreparedRetryConfig RequestInput RequestInputParams RetryConfig RouteValue RoutingMap RunNodeOptions RunnableNode
      RunnableRoot START ScheduleDynamicNode ScheduleDynamicNodeOptions ToolNode ToolNodeConfig Workflow WorkflowConfig
      WorkflowInstructionScope WorkflowNode asRunnableRoot commonPrefixOf createNodeErrorEvent createNodeState
      createSubBranch isNodeErrorEvent isNodeReportedError isNodeSchemaValidationError isNodeState isNodeTimeoutError
      isRequestInput isRunnableRoot isWorkflow node normalizeRetryExceptions prepareRetryConfig`,
  },
  {
    kind: 'never',
    why: 'An approval is bound to its call and its arguments in the store: it can be for no other. If the tool has changed since, the model is told so.',
    names: 'IntentMismatchError IntentMismatchReason isIntentMismatchError',
  },
  {
    kind: 'never',
    why: 'A [context](artifacts.md) saves and loads artifacts by itself. The store keeps their bytes, or a bucket: `folderBucket`, `s3Bucket`, `gcsBucket`.',
    names: 'FileArtifactService GcsArtifactService getArtifactServiceFromUri',
  },
  {
    kind: 'never',
    why: 'Credentials are kept by the store, encrypted, and never in a state.',
    names: 'BaseCredentialService InMemoryCredentialService SessionStateCredentialService',
  },
  {
    kind: 'never',
    why: 'Other places for sessions: `HoldfastSessionService` with a `client` is the one of production.',
    names: `DatabaseSessionService VertexAiSessionService VertexAiSessionServiceOptions VertexAiCreateSessionRequest
      getSessionServiceFromUri mergeStates trimTempState trimTempDeltaState`,
  },
  {
    kind: 'never',
    why: 'Services of Google Cloud.',
    names: `AgentEngineSandboxCodeExecutor AgentEngineSandboxCodeExecutorOptions 
      VertexAiMemoryBankService VertexAiMemoryBankServiceOptions GCPSkillRegistry GCPSkillRegistryOptions ApigeeLlm
      ApigeeLlmParams getGcpExporters getGcpResource AgentRegistry AgentRegistrySingleMCPToolset AgentInfo
      AgentSkillMetadata AGENT_REGISTRY_BASE_URL Binding ConnectionUriFilter ConnectionUriResult Endpoint
      GCP_MCP_SERVER_DESTINATION_ID GcpAuthProviderScheme Interface ListAgentsResponse ListBindingsResponse
      ListEndpointsResponse ListMcpServersResponse McpServer ProtocolType cleanName isGoogleApi`,
  },
  {
    kind: 'never',
    why: 'Telemetry has options of its own: [telemetry.md](telemetry.md).',
    names: 'OTelHooks OtelExportersConfig maybeSetOtelProviders',
  },
  {
    kind: 'never',
    why: 'Parts of ADK’s own machinery.',
    names: `AsyncQueue FeatureConfig FeatureName FeatureStage GoogleLLMVariant LlmAgentSchema
      SchemaLike Task TaskExecutable functionsExportedForTestingOnly geminiInitParams getClientLabels getFeatureConfig
      isFeatureEnabled isGemini2OrAbove overrideFeatureEnabled registerFeature requireAgent runWithClientLabel version
      withTemporaryFeatureOverride zodObjectToSchema`,
  },
];

export function namesOf({ names }: AdkGroup): string[] {
  return names.split(/\s+/);
}
