import './absent-members.ts';

export { AgentTool, type AgentToolConfig, isAgentTool, SubAgentFailed } from './agents/agent-tool.ts';
export {
  AgentTransferLlmRequestProcessor,
  TransferToAgentTool,
  TransferToTool,
  transferToAgentTool,
} from './agents/agent-transfer.ts';
export { BaseAgent, type BaseAgentConfig, isBaseAgent } from './agents/base-agent.ts';
export type { BudgetLimits, Budgets, ResolvedBudgetLimits, ResolvedBudgets } from './agents/budget-limits.ts';
export type * from './agents/callbacks.ts';
export { CallbackFailed, type CallbackFailedParams } from './agents/callbacks.ts';
export {
  type BaseContextCompactor,
  type BaseSummarizer,
  ContextCompactionTrigger,
} from './agents/compaction/base-context-compactor.ts';
export {
  AgentControlledContextCompactor,
  type AgentControlledContextCompactorOptions,
  AnchoredContextCompactor,
  type AnchoredContextCompactorOptions,
  TokenBasedContextCompactor,
  type TokenBasedContextCompactorOptions,
  TrajectoryThoughtPruningCompactor,
  type TrajectoryThoughtPruningCompactorOptions,
  TruncatingContextCompactor,
  type TruncatingContextCompactorOptions,
} from './agents/compaction/context-compactors.ts';
export { LlmSummarizer, type LlmSummarizerOptions } from './agents/compaction/llm-summarizer.ts';
export { CustomAgent, isCustomAgent, type NextOfAgent } from './agents/custom-agent.ts';
export { MissingTemplateValue, type StaticInstruction } from './agents/instructions.ts';
export {
  type AgentDurableOptions,
  type InstructionProvider,
  isLlmAgent,
  LlmAgent,
  LlmAgent as Agent,
  type LlmAgentConfig,
} from './agents/llm-agent.ts';
export { SchemaMismatch } from './agents/llm-agent-parts.ts';
export { isToolAgent } from './agents/llm-agent-view.ts';
export { BaseLlmRequestProcessor, BaseLlmResponseProcessor } from './agents/processors/base-llm-processor.ts';
export { ContextCompactorRequestProcessor } from './agents/processors/context-compactor-request-processor.ts';
export {
  AUTH_PREPROCESSOR,
  AuthPreprocessor,
  BASIC_LLM_REQUEST_PROCESSOR,
  BasicLlmRequestProcessor,
  CODE_EXECUTION_REQUEST_PROCESSOR,
  CONTENT_REQUEST_PROCESSOR,
  CodeExecutionRequestProcessor,
  ContentRequestProcessor,
  DEFAULT_REQUEST_PROCESSORS,
  IDENTITY_LLM_REQUEST_PROCESSOR,
  IdentityLlmRequestProcessor,
  INSTRUCTIONS_LLM_REQUEST_PROCESSOR,
  InstructionsLlmRequestProcessor,
  PLANNING_REQUEST_PROCESSOR,
  PlanningRequestProcessor,
  TOOL_FILTER_REQUEST_PROCESSOR,
  ToolFilterRequestProcessor,
} from './agents/processors/request-processors.ts';
export {
  type AgentRouter,
  isRoutedAgent,
  RoutedAgent,
  type RoutedAgentConfig,
} from './agents/routed-agent.ts';
export {
  isRoutedLlm,
  type LlmRouter,
  RoutedLlm,
  type RoutedLlmParams,
  type RouteErrors,
} from './agents/routed-llm.ts';
export { type CallMessage, ToolAgent, type ToolAgentConfig } from './agents/tool-agent.ts';
export {
  isLoopAgent,
  isParallelAgent,
  isSequentialAgent,
  LoopAgent,
  type LoopAgentConfig,
  ParallelAgent,
  type ParallelAgentConfig,
  SequentialAgent,
} from './agents/workflow-agents.ts';
export { App, type AppOptions, isApp, type ResumabilityConfig } from './app/app.ts';
export { validateAppName } from './app/app-name.ts';
export type { AppDurableOptions, AppSettings } from './app/app-settings.ts';
export type { AppApprovalOptions, AppApprovals } from './app/approval-settings.ts';
export type { Limits, ResolvedLimits, RunningTurns } from './app/limit-settings.ts';
export type { MemoryOptions, MemorySettings } from './app/memory-settings.ts';
export type { ModelPrice, PriceTable, ResolvedPriceTable } from './app/price-table.ts';
export {
  type ApproverKey,
  createApproverKey,
  InvalidApproverKey,
  parseApproverKey,
} from './approvals/approver-key.ts';
export type { Attested, SigningOptions } from './approvals/attestation.ts';
export {
  type AttestedDecision,
  type Decision,
  type DecisionClaims,
  signDecision,
  verifyDecisionAttestation,
} from './approvals/decision-attestation.ts';
export type { Issuer, PrivateJwk } from './approvals/issuer.ts';
export { logNotifier, type NoticeLogger } from './approvals/log-notifier.ts';
export {
  type AttestedMessage,
  type MessageClaims,
  signMessage,
  verifyMessageAttestation,
} from './approvals/message-attestation.ts';
export { NoteRefused, NoticeFailed } from './approvals/notice-failed.ts';
export type {
  EndedRequest,
  NoticeContext,
  NotifiedRequest,
  NotifiedWhy,
  Notifier,
} from './approvals/notifier.ts';
export { type TerminalNotifierOptions, terminalNotifier } from './approvals/terminal-notifier.ts';
export type { ArtifactBytesOptions, ByteSource } from './artifacts/artifact-bytes.ts';
export type { ArtifactStream } from './artifacts/artifact-content.ts';
export {
  ArtifactCorrupt,
  ArtifactElsewhere,
  ArtifactError,
  ArtifactServiceFailed,
  ArtifactTooLarge,
  BucketFailed,
  InvalidArtifact,
  InvalidArtifactName,
  NoSuchArtifact,
  UnknownBucket,
} from './artifacts/artifact-errors.ts';
export type {
  ArtifactVersion,
  BaseArtifactService,
  CompositeSessionKey,
  DeleteArtifactRequest,
  ListArtifactKeysRequest,
  ListVersionsRequest,
  LoadArtifactRequest,
  SaveArtifactRequest,
  SessionArtifactService,
  SessionLoadArtifactRequest,
  SessionSaveArtifactRequest,
} from './artifacts/base-artifact-service.ts';
export type { Bucket } from './artifacts/bucket.ts';
export type { OpenArtifactOptions, OpenedArtifact } from './artifacts/context-artifacts.ts';
export { folderBucket } from './artifacts/folder-bucket.ts';
export type { FoundLine } from './artifacts/found-lines.ts';
export { type GcsBucketOptions, gcsBucket } from './artifacts/gcs-bucket.ts';
export { InMemoryArtifactService } from './artifacts/in-memory-artifact-service.ts';
export { type S3BucketOptions, s3Bucket } from './artifacts/s3-bucket.ts';
export {
  BaseCodeExecutor,
  type CodeExecutionInput,
  CodeExecutionLanguage,
  type CodeExecutionResult,
  type CodeFile,
  type CodeFile as File,
  type ExecuteCodeParams,
  FileContentEncoding,
  isBaseCodeExecutor,
} from './code-executors/base-code-executor.ts';
export { BuiltInCodeExecutor, isBuiltInCodeExecutor } from './code-executors/built-in-code-executor.ts';
export {
  SandboxedCodeExecutor,
  type SandboxedCodeExecutorOptions,
} from './code-executors/sandboxed-code-executor.ts';
export {
  UnsafeLocalCodeExecutor,
  type UnsafeLocalCodeExecutorOptions,
} from './code-executors/unsafe-local-code-executor.ts';
export type { DecisionReceipt, ListApprovals, Voter } from './contract/approvals.ts';
export type { AuditRow, AuditVerification } from './contract/audit.ts';
export type { StoredCredential } from './contract/credentials.ts';
export { HoldfastError, type HoldfastErrorOptions } from './contract/error.ts';
export type { ErrorCode } from './contract/error-codes.ts';
export type { StoredEvent } from './contract/events.ts';
export type { JobEnder, JobProgress, JobReceipt, JobStatus } from './contract/jobs.ts';
export type { ApprovalRow, ApprovalTerms, GateKind, OnExpiry, RequestStatus } from './contract/requests.ts';
export type {
  CreateSession,
  ForkSession,
  GetSession,
  ListedSessions,
  ListSessions,
  RewindSession,
  Session as StoredSession,
  SessionSummary,
  TurnUsage,
} from './contract/sessions.ts';
export {
  type AuthCredential,
  AuthCredentialTypes,
  type HttpAuth,
  type HttpCredentials,
  type OAuth2Auth,
  type ServiceAccount,
  type ServiceAccountCredential,
} from './events/auth-credential.ts';
export {
  type AuthScheme,
  OAuthGrantType,
  type OpenIdConnectWithConfig,
  type SecuritySchemeObject,
} from './events/auth-scheme.ts';
export {
  type CompactedEvent,
  type CompactedEventParams,
  createCompactedEvent,
  isCompactedEvent,
  isScratchpadEvent,
} from './events/compacted-event.ts';
export type { Content, FunctionCall, FunctionDeclaration, FunctionResponse, Part } from './events/content.ts';
export {
  AF_FUNCTION_CALL_ID_PREFIX,
  type CreateEventParams,
  createEvent,
  type Event,
  generateClientFunctionCallId,
  getFunctionCalls,
  getFunctionResponses,
  hasThoughts,
  hasTrailingCodeExecutionResult,
  isEvent,
  isFinalResponse,
  type NodeInfo,
  populateClientFunctionCallId,
  pruneThoughts,
  type Route,
  type RouteKey,
  stringifyContent,
} from './events/event.ts';
export {
  type AuthConfig,
  createEventActions,
  type EventActions,
  ToolConfirmation,
} from './events/event-actions.ts';
export {
  findEventByFunctionCallId,
  findEventByLastFunctionResponseId,
  findMatchingFunctionCall,
  originalCallFrom,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
} from './events/request-calls.ts';
export {
  type ActivityEvent,
  type CallCodeEvent,
  type CodeResultEvent,
  type ContentEvent,
  type ErrorEvent,
  EventType,
  type FinishedEvent,
  type StructuredEvent,
  type ThoughtEvent,
  type ToolCallEvent,
  type ToolConfirmationEvent,
  type ToolResultEvent,
  toStructuredEvents,
} from './events/structured-events.ts';
export {
  getPendingUserInputRequests,
  getUserInputRequests,
  requiresUserInput,
  type UserInputKind,
  type UserInputRequest,
} from './events/user-input-request.ts';
export { determineAgentForResumption, isRoutableLlmAgent } from './flows/agent-to-run.ts';
export { InstructionFailed } from './flows/build-request.ts';
export { ToolFactoryFailed } from './flows/request-tools.ts';
export { ToolsetFailed } from './flows/resolve-tools.ts';
export { getLogger, type Logger, LogLevel, setLogger, setLogLevel } from './logger.ts';
export type {
  AddEventsToMemoryRequest,
  AddMemoryRequest,
  BaseMemoryService,
  DeleteMemoryRequest,
  MemoryEntry,
  RememberedSession,
  SearchMemoryRequest,
  SearchMemoryResponse,
} from './memory/base-memory-service.ts';
export type { Embeddings, EmbedOptions } from './memory/embeddings.ts';
export { GeminiEmbeddings, type GeminiEmbeddingsParams } from './memory/gemini-embeddings.ts';
export { InMemoryMemoryService } from './memory/in-memory-memory-service.ts';
export {
  EmbeddingsFailed,
  InvalidMemory,
  MemoryError,
  MemoryServiceFailed,
} from './memory/memory-errors.ts';
export { AiSdkModel } from './models/ai-sdk/ai-sdk-model.ts';
export type {
  AiSdkLanguageModel,
  AiSdkModelParams,
  ProviderOptions,
  ProviderTools,
} from './models/ai-sdk/language-model.ts';
export { BaseLlm, type BaseLlmConnection, type DefinedRequest, isBaseLlm } from './models/base-llm.ts';
export { Gemini, type GeminiParams, isGemini } from './models/gemini.ts';
export { type BaseLlmType, LLMRegistry, UnknownModelError } from './models/llm-registry.ts';
export { appendInstructions, appendTools, removeTools } from './models/llm-request.ts';
export { createLlmResponse, type LlmResponse } from './models/llm-response.ts';
export {
  ModelError,
  type ModelErrorCode,
  type ModelErrorKind,
  type ModelErrorParams,
} from './models/model-errors.ts';
export {
  AuthHandler,
  AuthProviderRegistry,
  type BaseAuthProvider,
  type BaseCredentialExchanger,
  type BaseCredentialRefresher,
  CredentialExchangeError,
  CredentialRefresherRegistry,
  type ExchangeResult,
  OAuth2CredentialExchanger,
  OAuth2DiscoveryManager,
} from './oauth/auth-handler.ts';
export {
  BasePlanner,
  BuiltInPlanner,
  type BuiltInPlannerOptions,
  isBuiltInPlanner,
  PlanReActPlanner,
} from './planners/planners.ts';
export { BasePlugin, isBasePlugin } from './plugins/base-plugin.ts';
export { GlobalInstructionPlugin } from './plugins/global-instruction-plugin.ts';
export { LoggingPlugin, type LoggingPluginOptions } from './plugins/logging-plugin.ts';
export { PluginFailed, type PluginHook, type PluginParams } from './plugins/plugin-failed.ts';
export type { PluginLogger } from './plugins/plugin-logger.ts';
export { PluginManager } from './plugins/plugin-manager.ts';
export {
  ReflectAndRetryToolPlugin,
  type ReflectAndRetryToolPluginOptions,
  TrackingScope,
} from './plugins/reflect-and-retry-tool-plugin.ts';
export {
  RepetitionGuardPlugin,
  type RepetitionGuardPluginOptions,
} from './plugins/repetition-guard-plugin.ts';
export {
  SaveFilesAsArtifactsPlugin,
  type SaveFilesAsArtifactsPluginOptions,
} from './plugins/save-files-as-artifacts-plugin.ts';
export {
  type BasePolicyEngine,
  getAskUserConfirmationFunctionCalls,
  InMemoryPolicyEngine,
  type PolicyCheckResult,
  PolicyOutcome,
  SecurityPlugin,
  type ToolCallPolicyContext,
} from './plugins/security-plugin.ts';
export { ToolAuditPlugin, type ToolAuditRecord, type WriteToolAudit } from './plugins/tool-audit-plugin.ts';
export { REFLECT_AND_RETRY_RESPONSE_TYPE, type ToolFailureResponse } from './plugins/withheld.ts';
export type { RanAgent } from './protocol/agent-run.ts';
export { digestOf } from './protocol/canonical-json.ts';
export type { WaitingJob } from './protocol/job.ts';
export { messageDigest } from './protocol/message.ts';
export type { PublicJwk } from './protocol/public-jwk.ts';
export type { TurnRunConfig } from './protocol/run-terms.ts';
export type { AgentTurnStart, TurnResult, TurnStatus } from './protocol/turn.ts';
export {
  type AppendEventRequest,
  BaseSessionService,
  type CreateSessionRequest,
  type DeleteSessionRequest,
  type GetSessionConfig,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
} from './runner/base-session-service.ts';
export { HoldfastSessionService } from './runner/holdfast-session-service.ts';
export { InMemoryRunner } from './runner/in-memory-runner.ts';
export { InMemorySessionService } from './runner/in-memory-session-service.ts';
export { type RunConfig, StreamingMode } from './runner/run-config.ts';
export { isRunner, type RunEphemeralParams, Runner, type RunParams } from './runner/runner.ts';
export { createResumabilityConfig, type RunnerConfig } from './runner/runner-config.ts';
export { createSession, type Session } from './runner/session.ts';
export { DefinitionError } from './schema/definition-error.ts';
export { JsonValueError } from './schema/json-value.ts';
export { type OpenStoreOptions, openStore } from './store/open-store.ts';
export type { SessionNames } from './store/sessions/session-names.ts';
export type {
  DeleteSession,
  PreparedRetry,
  RetryTurn,
  SessionStore,
} from './store/sessions/session-store.ts';
export type { Store } from './store/store.ts';
export {
  Fenced,
  InvalidStoreUrl,
  MessageConflict,
  NoSuchPlace,
  NotARootSession,
  SessionExists,
  SessionHasForks,
  SessionNotFound,
  StoreBehindHistory,
  StoreFailed,
  StoreInUse,
  StoreUnavailable,
  Unstorable,
} from './store/store-errors.ts';
export type { ApprovalOptions, ResolvedApproval } from './tools/approval-options.ts';
export {
  BaseTool,
  type BaseToolParams,
  isBaseTool,
  type LlmRequest,
  type OnCollision,
  type RunAsyncToolRequest,
  type ToolChunk,
  type ToolDefinition,
  type ToolDescription,
  type ToolFactory,
  type ToolProcessLlmRequest,
  type TurnTools,
  toDefinition,
} from './tools/base-tool.ts';
export { BaseToolset, isBaseToolset, type ToolPredicate, type ToolUnion } from './tools/base-toolset.ts';
export { type ApprovalToolOptions, approvalTool } from './tools/built-in/approval-tool.ts';
export { ConsolidateContextTool } from './tools/built-in/consolidate-context-tool.ts';
export {
  BaseExampleProvider,
  type Example,
  ExampleTool,
  isBaseExampleProvider,
} from './tools/built-in/example-tool.ts';
export {
  FINISH_TASK_SUCCESS_RESULT,
  FINISH_TASK_TOOL_NAME,
  FinishTaskTool,
} from './tools/built-in/finish-task-tool.ts';
export {
  CODE_EXECUTION,
  CodeExecutionTool,
  ENTERPRISE_WEB_SEARCH,
  EnterpriseWebSearchTool,
  GeminiTool,
  GOOGLE_MAPS_GROUNDING,
  GOOGLE_SEARCH,
  GoogleMapsGroundingTool,
  GoogleSearchTool,
  URL_CONTEXT,
  UrlContextTool,
  VertexRagRetrievalTool,
} from './tools/built-in/gemini-tools.ts';
export {
  LOAD_ARTIFACTS,
  LoadArtifactsTool,
  type LoadArtifactsToolOptions,
} from './tools/built-in/load-artifacts-tool.ts';
export { ESCALATE, EscalateTool, EXIT_LOOP, ExitLoopTool } from './tools/built-in/loop-control-tools.ts';
export {
  LOAD_MEMORY,
  LoadMemoryTool,
  PRELOAD_MEMORY,
  PreloadMemoryTool,
} from './tools/built-in/memory-tools.ts';
export { planTool } from './tools/built-in/plan-tool.ts';
export { getUserChoiceTool, requestInputTool } from './tools/built-in/question-tools.ts';
export { type SearchToolOptions, searchTool } from './tools/built-in/search-tool.ts';
export {
  type DataStoreParams,
  type SearchEngineParams,
  type VertexAISearchConfig,
  type VertexAISearchDataStoreSpec,
  VertexAiSearchTool,
  type VertexAiSearchToolParams,
} from './tools/built-in/vertex-ai-search-tool.ts';
export { type ContextJob, NoJobError } from './tools/call-job.ts';
export {
  Context,
  Context as CallbackContext,
  Context as ToolContext,
} from './tools/context.ts';
export { type ContextParams, type ContextTask, NoCallError } from './tools/context-params.ts';
export { ServiceMissing } from './tools/context-services.ts';
export type { DurableOptions, OnUnknownOutcome, ResolvedDurableOptions } from './tools/durable-options.ts';
export { FunctionTool, isFunctionTool, LongRunningFunctionTool, tool } from './tools/function-tool.ts';
export type {
  ConfirmationPredicate,
  ConfirmationQuestion,
  GateOptions,
  ToolGate,
} from './tools/gate-options.ts';
export type { InputAnswer, InputRequest } from './tools/input-request.ts';
export {
  type AgentView,
  InvocationContext,
  type InvocationContextParams,
  type Perspective,
  type SessionView,
  type ToolCallRecord,
  TranscriptNotLoaded,
} from './tools/invocation-context.ts';
export type { JobOptions, JobView, ResolvedJobOptions } from './tools/job-options.ts';
export type {
  MCPConnectionParams,
  StdioConnectionParams,
  StreamableHTTPConnectionParams,
} from './tools/mcp/connection-params.ts';
export { LoadMcpResourceTool } from './tools/mcp/load-mcp-resource-tool.ts';
export type { MCPAuthOptions } from './tools/mcp/mcp-auth.ts';
export type { McpResource, McpResourceContents, McpToolDefinition } from './tools/mcp/mcp-connection.ts';
export { McpRefused, McpUnavailable } from './tools/mcp/mcp-errors.ts';
export {
  MCPSessionManager,
  type MCPSessionOptions,
  type McpHeaderProvider,
} from './tools/mcp/mcp-session-manager.ts';
export { MCPTool, type McpToolOptions } from './tools/mcp/mcp-tool.ts';
export { MCPToolset, type MCPToolsetOptions } from './tools/mcp/mcp-toolset.ts';
export { isMedia, Media, type MediaParams } from './tools/media.ts';
export type { AuthPreparationResult, SchemeCredential } from './tools/openapi/api-security.ts';
export { ToolAuthHandler } from './tools/openapi/api-security.ts';
export type { ExternalReferences } from './tools/openapi/external-documents.ts';
export type {
  OperationObject,
  ServerObject,
} from './tools/openapi/openapi-document.ts';
export { OpenApiSpecParser, type ParsedOperation } from './tools/openapi/openapi-spec-parser.ts';
export { OpenAPIToolset } from './tools/openapi/openapi-toolset.ts';
export {
  type ApiParameter,
  OperationParser,
  type OperationParserOptions,
} from './tools/openapi/operation-parser.ts';
export {
  createRestApiTool,
  RestApiTool,
  type RestApiToolOptions,
  type RestApiToolParts,
} from './tools/openapi/rest-api-tool.ts';
export type { OperationEndpoint } from './tools/openapi/rest-request.ts';
export type {
  OpenAPIToolsetOptions,
  OperationFilter,
  OperationView,
} from './tools/openapi/toolset-options.ts';
export { ReadonlyContext } from './tools/readonly-context.ts';
export type { RetryOptions } from './tools/retry-options.ts';
export type { GrepOptions, TextAnswer } from './tools/spooled/query-tools.ts';
export type { ArtifactConstructor, SpooledForm, SpoolOptions } from './tools/spooled/spool-options.ts';
export { SpooledArtifact } from './tools/spooled/spooled-artifact.ts';
export { ReservedStateKey, State } from './tools/state.ts';
export { isStateSchemaError, StateSchemaError } from './tools/state-schema.ts';
export { TooManyChunks } from './tools/streamed-result.ts';
export {
  InvalidArgumentsError,
  InvalidResultError,
  isToolError,
  ToolError,
  type ToolErrorOptions,
  ToolExecutionError,
} from './tools/tool-error.ts';
export { isToolRegistry, ToolRegistry } from './tools/tool-registry.ts';
export type {
  RequireConfirmation,
  ToolCancel,
  ToolExecuteArgument,
  ToolExecuteFunction,
  ToolExecuteResult,
  ToolInputParameters,
  ToolOptions,
  ToolOutputSchema,
} from './tools/tool-types.ts';
export {
  filterToolset,
  StaticToolset,
  type StaticToolsetOptions,
  stringPredicate,
  stringPredicate as allowedToolsPredicate,
} from './tools/toolsets.ts';
export { type BraveSearchOptions, braveSearch } from './tools/web/brave-search.ts';
export {
  LOAD_WEB_PAGE,
  type LoadWebPageOptions,
  loadWebPage,
  webPageTool,
} from './tools/web/load-web-page.ts';
export {
  type WebSearch,
  type WebSearchResult,
  webSearchTool,
} from './tools/web/web-search-tool.ts';
export { type ConfirmationProvider, withConfirmation } from './tools/with-confirmation.ts';
export { type CommandResult, type CommandToolOptions, commandTool } from './tools/workspace/command-tool.ts';
export { type FileToolsOptions, fileTools } from './tools/workspace/file-tools.ts';
export {
  BaseEnvironment,
  type ExecutionResult,
  LocalEnvironment,
  type LocalEnvironmentOptions,
} from './tools/workspace/local-environment.ts';
export type { SandboxLimits, SandboxOptions } from './tools/workspace/sandbox.ts';
export { Workspace, type WorkspaceOptions, type WorkspaceUse } from './tools/workspace/workspace.ts';
export {
  type WebhookEventType,
  type WebhookNotifierOptions,
  webhookNotifier,
} from './webhooks/webhook-notifier.ts';
