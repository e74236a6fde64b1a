export { App, type AppOptions, isApp } from './agents/app.ts';
export type { AppDurableOptions, AppSettings } from './agents/app-settings.ts';
export { BaseAgent, type BaseAgentConfig, isBaseAgent } from './agents/base-agent.ts';
export type { BudgetLimits, Budgets, ResolvedBudgetLimits, ResolvedBudgets } from './agents/budget-limits.ts';
export {
  type AgentDurableOptions,
  type InstructionProvider,
  isLlmAgent,
  LlmAgent,
  LlmAgent as Agent,
  type LlmAgentConfig,
} from './agents/llm-agent.ts';
export type { ModelPrice, PriceTable, ResolvedPriceTable } from './agents/price-table.ts';
export type {
  Content,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  Part,
} from './events/content.ts';
export {
  AF_FUNCTION_CALL_ID_PREFIX,
  type CreateEventParams,
  createEvent,
  type Event,
  getFunctionCalls,
  getFunctionResponses,
  hasTrailingCodeExecutionResult,
  isEvent,
  isFinalResponse,
  stringifyContent,
} from './events/event.ts';
export {
  type AuthConfig,
  createEventActions,
  type EventActions,
  type ToolConfirmation,
} from './events/event-actions.ts';
export { BaseLlm, isBaseLlm } from './models/base-llm.ts';
export { Gemini, type GeminiParams, isGemini } from './models/gemini.ts';
export { type BaseLlmType, LLMRegistry, UnknownModelError } from './models/llm-registry.ts';
export { appendInstructions, appendTools, type LlmRequest } from './models/llm-request.ts';
export { createLlmResponse, type LlmResponse } from './models/llm-response.ts';
export {
  ModelError,
  type ModelErrorCode,
  type ModelErrorKind,
  type ModelErrorParams,
} from './models/model-errors.ts';
export type { AgentTurnStart, TurnResult, TurnRunConfig, TurnStatus, TurnUsage } from './protocol/turn.ts';
export { DefinitionError } from './schema/definition-error.ts';
export { JsonValueError } from './schema/json-value.ts';
export { type OpenStoreOptions, openStore } from './store/open-store.ts';
export type {
  AuditRow,
  CreateSession,
  DeleteSession,
  ForkSession,
  GetSession,
  ListedSessions,
  ListSessions,
  PreparedRetry,
  RetryTurn,
  RewindSession,
  Session,
  SessionStore,
  SessionSummary,
} from './store/session-store.ts';
export type { SessionNames, Store, StoredEvent } from './store/store.ts';
export {
  Fenced,
  InvalidStoreUrl,
  MessageConflict,
  NoSuchPlace,
  SessionExists,
  SessionHasForks,
  SessionNotFound,
  StoreBehindHistory,
  StoreFailed,
  StoreInUse,
  StoreUnavailable,
  Unstorable,
} from './store/store-errors.ts';
export { BaseTool, type BaseToolParams, isBaseTool, type RunAsyncToolRequest } from './tools/base-tool.ts';
export { Context, Context as CallbackContext, Context as ToolContext, NoCallError } from './tools/context.ts';
export type { DurableOptions, ResolvedDurableOptions } from './tools/durable-options.ts';
export { FunctionTool, isFunctionTool } from './tools/function-tool.ts';
export { ReadonlyContext } from './tools/readonly-context.ts';
export type { RetryOptions } from './tools/retry-options.ts';
export { State } from './tools/state.ts';
export { tool } from './tools/tool.ts';
export {
  InvalidArgumentsError,
  InvalidResultError,
  isToolError,
  ToolError,
  type ToolErrorOptions,
  ToolExecutionError,
} from './tools/tool-error.ts';
export type {
  ToolExecuteArgument,
  ToolExecuteFunction,
  ToolExecuteResult,
  ToolInputParameters,
  ToolOptions,
  ToolOutputSchema,
} from './tools/tool-types.ts';
