/** Our declarations against those of `@google/adk`. Compiled, never run. */
import type * as adk from '@google/adk';
import { expectTypeOf } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import type * as ours from '../../src/index.ts';

const zod4 = z.object({ city: z.string(), days: z.number().default(1) });
const zod3 = z3.object({ city: z3.string(), days: z3.number().default(1) });

// Arguments of `execute`.
expectTypeOf<ours.ToolExecuteArgument<typeof zod4>>().toEqualTypeOf<adk.ToolExecuteArgument<typeof zod4>>();
expectTypeOf<ours.ToolExecuteArgument<typeof zod3>>().toEqualTypeOf<adk.ToolExecuteArgument<typeof zod3>>();
expectTypeOf<adk.ToolInputParameters>().toExtend<ours.ToolInputParameters>();

/** ADK's types with our context in the place of theirs, which has private members. */
type AdkToolOptions<P extends adk.ToolInputParameters> = Omit<
  adk.ToolOptions<P>,
  'execute' | 'requireConfirmation'
> & {
  execute: (input: adk.ToolExecuteArgument<P>, toolContext?: ours.Context) => unknown;
};
type AdkPredicate<P extends adk.ToolInputParameters> = (
  ...args: Parameters<Exclude<adk.RequireConfirmation<P>, boolean>> extends [infer Input, ...unknown[]]
    ? [input: Input, toolContext?: ours.Context]
    : never
) => ReturnType<Exclude<adk.RequireConfirmation<P>, boolean>>;
expectTypeOf<boolean | AdkPredicate<typeof zod4>>().toExtend<ours.RequireConfirmation<typeof zod4>>();
expectTypeOf<AdkPredicate<typeof zod3>>().toExtend<
  NonNullable<ours.ToolOptions<typeof zod3>['requireConfirmation']>
>();
expectTypeOf<AdkToolOptions<typeof zod4>>().toExtend<ours.ToolOptions<typeof zod4>>();
expectTypeOf<AdkToolOptions<typeof zod3>>().toExtend<ours.ToolOptions<typeof zod3>>();
expectTypeOf<adk.BaseToolParams>().toExtend<ours.BaseToolParams>();

// Tools. ADK brings an older @google/genai, whose types equal ours in name only, so these are compared one way.
type OfTool = 'name' | 'description' | 'isLongRunning';
expectTypeOf<Pick<ours.BaseTool, OfTool>>().toEqualTypeOf<Pick<adk.BaseTool, OfTool>>();
expectTypeOf<adk.BaseTool['_getDeclaration']>().toExtend<ours.BaseTool['_getDeclaration']>();
expectTypeOf<adk.FunctionTool['_getDeclaration']>().toExtend<ours.FunctionTool['_getDeclaration']>();
expectTypeOf<ReturnType<ours.BaseTool['runAsync']>>().toEqualTypeOf<ReturnType<adk.BaseTool['runAsync']>>();
// Chunks of streaming tools are ours.
expectTypeOf<Exclude<keyof ours.RunAsyncToolRequest, 'onChunk' | 'leftSignal'>>().toEqualTypeOf<
  keyof adk.RunAsyncToolRequest
>();
expectTypeOf<keyof ours.ToolProcessLlmRequest>().toEqualTypeOf<keyof adk.ToolProcessLlmRequest>();
expectTypeOf<ours.RunAsyncToolRequest['args']>().toEqualTypeOf<adk.RunAsyncToolRequest['args']>();

// Toolsets and tools that come with ADK.
type OfToolset = 'getTools' | 'close' | 'processLlmRequest' | 'toolFilter' | 'prefix';
expectTypeOf<Exclude<OfToolset, keyof ours.BaseToolset>>().toBeNever();
expectTypeOf<Exclude<OfToolset, keyof adk.BaseToolset>>().toBeNever();
expectTypeOf<ours.BaseToolset['close']>().toEqualTypeOf<adk.BaseToolset['close']>();
expectTypeOf<Exclude<keyof adk.BaseToolset, keyof ours.BaseToolset>>().toExtend<symbol>();
expectTypeOf<ReturnType<ours.ToolPredicate>>().toEqualTypeOf<ReturnType<adk.ToolPredicate>>();
expectTypeOf<ConstructorParameters<typeof ours.LongRunningFunctionTool>['length']>().toEqualTypeOf<
  ConstructorParameters<typeof adk.LongRunningFunctionTool>['length']
>();
type NoArguments = [];
expectTypeOf<ConstructorParameters<typeof ours.ExitLoopTool>>().toEqualTypeOf<NoArguments>();
expectTypeOf<ConstructorParameters<typeof ours.GoogleSearchTool>>().toEqualTypeOf<NoArguments>();
expectTypeOf<adk.VertexAiSearchToolParams>().toExtend<ours.VertexAiSearchToolParams>();
expectTypeOf<ours.VertexAISearchConfig>().toEqualTypeOf<adk.VertexAISearchConfig>();

// Contexts: what ADK's readers read, ours have.
type Identity = 'invocationId' | 'userId' | 'sessionId' | 'agentName';
expectTypeOf<Pick<ours.ReadonlyContext, Identity>>().toEqualTypeOf<Pick<adk.ReadonlyContext, Identity>>();
expectTypeOf<adk.Context['userContent']>().toExtend<ours.Context['userContent']>();
type OfCall = Identity | 'functionCallId' | 'abortSignal';
expectTypeOf<Pick<ours.Context, OfCall>>().toExtend<Pick<adk.Context, OfCall>>();
expectTypeOf<ours.Context>().toExtend<ours.ReadonlyContext>();
// All that ADK's contexts have, ours have.
expectTypeOf<Exclude<keyof adk.Context, keyof ours.Context>>().toBeNever();
expectTypeOf<Exclude<keyof adk.ReadonlyContext, keyof ours.ReadonlyContext>>().toBeNever();
expectTypeOf<keyof ours.ContextParams>().toEqualTypeOf<keyof ConstructorParameters<typeof adk.Context>[0]>();
expectTypeOf<ours.InvocationContext>().toExtend<ConstructorParameters<typeof ours.ReadonlyContext>[0]>();
type OfServices = 'loadArtifact' | 'saveArtifact' | 'listArtifacts' | 'searchMemory';
expectTypeOf<{ [Name in OfServices]: Parameters<ours.Context[Name]>['length'] }>().toEqualTypeOf<{
  [Name in OfServices]: Parameters<adk.Context[Name]>['length'];
}>();
expectTypeOf<Awaited<ReturnType<ours.Context['saveArtifact']>>>().toEqualTypeOf<number>();
expectTypeOf<Parameters<ours.Context['requestConfirmation']>>().toEqualTypeOf<
  Parameters<adk.Context['requestConfirmation']>
>();
expectTypeOf<keyof ours.AuthCredential>().toEqualTypeOf<keyof adk.AuthCredential>();
expectTypeOf<Omit<adk.AuthCredential, 'authType'>>().toEqualTypeOf<Omit<ours.AuthCredential, 'authType'>>();
expectTypeOf<ours.AuthCredential['authType']>().toEqualTypeOf<`${adk.AuthCredentialTypes}`>();
expectTypeOf<keyof typeof ours.AuthCredentialTypes>().toEqualTypeOf<keyof typeof adk.AuthCredentialTypes>();
expectTypeOf<adk.AuthConfig>().toExtend<Parameters<ours.Context['requestCredential']>[0]>();
expectTypeOf<adk.AuthConfig>().toExtend<Parameters<ours.Context['getAuthResponse']>[0]>();
expectTypeOf<keyof ours.UserInputRequest>().toEqualTypeOf<keyof adk.UserInputRequest>();
expectTypeOf<ours.UserInputKind>().toEqualTypeOf<adk.UserInputKind>();
expectTypeOf<adk.BasePolicyEngine['evaluate']>().returns.toEqualTypeOf<
  ReturnType<ours.BasePolicyEngine['evaluate']>
>();
expectTypeOf<`${ours.PolicyOutcome}`>().toEqualTypeOf<`${adk.PolicyOutcome}`>();
expectTypeOf<ours.Context['actions']>().toEqualTypeOf<ours.EventActions>();
expectTypeOf<ours.Context['eventActions']>().toEqualTypeOf<ours.EventActions>();

// State, member by member: classes with private members never equal each other.
expectTypeOf<ours.State['get']>().toEqualTypeOf<adk.State['get']>();
expectTypeOf<ours.State['set']>().toEqualTypeOf<adk.State['set']>();
expectTypeOf<ours.State['has']>().toEqualTypeOf<adk.State['has']>();
expectTypeOf<ours.State['hasDelta']>().toEqualTypeOf<adk.State['hasDelta']>();
expectTypeOf<ours.State['toRecord']>().toEqualTypeOf<adk.State['toRecord']>();
expectTypeOf<adk.State['update']>().toExtend<ours.State['update']>();

expectTypeOf<undefined>().not.toExtend<ours.BaseLlm['connect']>();
expectTypeOf<(typeof ours.LogLevel)[number]>().toEqualTypeOf<(typeof adk.LogLevel)[number]>();
expectTypeOf<Parameters<ours.Logger['log']>[0]>().toEqualTypeOf<0 | 1 | 2 | 3>();

// Events: ADK's are ours, and ours are read by ADK's functions.
expectTypeOf<adk.Event>().toExtend<ours.Event>();
expectTypeOf<adk.EventActions>().toExtend<ours.EventActions>();
// adk-python's rewind is not there yet.
expectTypeOf<Exclude<keyof ours.EventActions, 'rewindBeforeInvocationId'>>().toEqualTypeOf<
  keyof adk.EventActions
>();
type Native =
  | 'id'
  | 'invocationId'
  | 'author'
  | 'branch'
  | 'timestamp'
  | 'longRunningToolIds'
  | 'partial'
  | 'turnComplete'
  | 'interrupted'
  | 'errorCode'
  | 'errorMessage'
  | 'customMetadata'
  | 'modelVersion'
  | 'output'
  | 'route'
  | 'nodeInfo'
  | 'isolationScope';
expectTypeOf<Pick<ours.Event, Native>>().toEqualTypeOf<Pick<adk.Event, Native>>();
expectTypeOf<Exclude<keyof ours.Event, keyof adk.Event>>().toBeNever();
expectTypeOf<ours.LlmResponse>().toExtend<Partial<ours.Event>>();
expectTypeOf<Exclude<keyof ours.LlmResponse, keyof ours.Event>>().toBeNever();

// Agents: ADK's configuration, as far as this release has it.
type Coming =
  | 'parentAgent'
  | 'rerunOnResume'
  | 'waitForOutput'
  | 'retryConfig'
  | 'timeout'
  | 'isolationScope';
expectTypeOf<Exclude<keyof adk.LlmAgentConfig, keyof ours.LlmAgentConfig>>().toEqualTypeOf<Coming>();
type Plain =
  | 'name'
  | 'description'
  | 'outputKey'
  | 'includeContents'
  | 'disallowTransferToParent'
  | 'disallowTransferToPeers';
expectTypeOf<Pick<ours.LlmAgentConfig, Plain>>().toEqualTypeOf<Pick<adk.LlmAgentConfig, Plain>>();
expectTypeOf<adk.LlmAgentConfig['generateContentConfig']>().toExtend<
  ours.LlmAgentConfig['generateContentConfig']
>();
expectTypeOf<Extract<adk.LlmAgentConfig['model'], string>>().toExtend<ours.LlmAgentConfig['model']>();
expectTypeOf<adk.LlmAgentConfig['outputSchema']>().toExtend<ours.LlmAgentConfig['outputSchema']>();
expectTypeOf<adk.LlmAgentConfig['inputSchema']>().toExtend<ours.LlmAgentConfig['inputSchema']>();
expectTypeOf<ours.LlmAgent['name']>().toEqualTypeOf<adk.LlmAgent['name']>();
expectTypeOf<ours.LlmAgent['outputKey']>().toEqualTypeOf<adk.LlmAgent['outputKey']>();
expectTypeOf<Parameters<ours.BaseAgent['findAgent']>>().toEqualTypeOf<
  Parameters<adk.BaseAgent['findAgent']>
>();
expectTypeOf<ReturnType<ours.InstructionProvider>>().toEqualTypeOf<ReturnType<adk.InstructionProvider>>();

// Agents that run others. What is ours stands beside what is ADK's.
type OfParallel = 'continueOnError' | 'maxParallel';
expectTypeOf<Exclude<keyof ours.ParallelAgentConfig, OfParallel>>().toExtend<keyof adk.BaseAgentConfig>();
expectTypeOf<keyof ours.LoopAgentConfig>().toExtend<keyof adk.LoopAgentConfig>();
expectTypeOf<ours.LoopAgentConfig['maxIterations']>().toEqualTypeOf<adk.LoopAgentConfig['maxIterations']>();
expectTypeOf<Exclude<keyof adk.BaseAgentConfig, keyof ours.BaseAgentConfig>>().toExtend<
  Exclude<Coming, 'contextCompactors'> | 'inputSchema' | 'outputSchema'
>();
expectTypeOf<Exclude<keyof adk.AgentToolConfig, keyof ours.AgentToolConfig>>().toBeNever();
expectTypeOf<ours.AgentToolConfig['skipSummarization']>().toEqualTypeOf<
  adk.AgentToolConfig['skipSummarization']
>();
expectTypeOf<Parameters<ours.LlmAgent['clone']>>().toEqualTypeOf<
  [overrides?: Partial<ours.LlmAgentConfig>]
>();
expectTypeOf<Parameters<typeof ours.determineAgentForResumption>['length']>().toEqualTypeOf<
  Parameters<typeof adk.determineAgentForResumption>['length']
>();
expectTypeOf<ReturnType<ours.BaseAgent['runAsync']>>().toEqualTypeOf<
  AsyncGenerator<ours.Event, void, void>
>();
expectTypeOf<ReturnType<adk.BaseAgent['runAsync']>>().toEqualTypeOf<AsyncGenerator<adk.Event, void, void>>();

// Callbacks are told the same, and answer the same way: one or a list, at once or later.
type Told<Callback> = Callback extends (params: infer Params) => unknown ? keyof Params : never;
expectTypeOf<Told<ours.SingleBeforeModelCallback>>().toEqualTypeOf<Told<adk.SingleBeforeModelCallback>>();
expectTypeOf<Told<ours.SingleAfterModelCallback>>().toEqualTypeOf<Told<adk.SingleAfterModelCallback>>();
expectTypeOf<Told<ours.SingleBeforeToolCallback>>().toEqualTypeOf<Told<adk.SingleBeforeToolCallback>>();
expectTypeOf<Told<ours.SingleAfterToolCallback>>().toEqualTypeOf<Told<adk.SingleAfterToolCallback>>();
expectTypeOf<ReturnType<ours.SingleBeforeToolCallback>>().toEqualTypeOf<
  ReturnType<adk.SingleBeforeToolCallback>
>();
expectTypeOf<ours.SingleBeforeModelCallback[]>().toExtend<ours.BeforeModelCallback>();
expectTypeOf<ours.SingleAgentCallback[]>().toExtend<ours.BeforeAgentCallback>();

// Code executors.
type OfExecutor =
  | 'executeCode'
  | 'optimizeDataFile'
  | 'stateful'
  | 'errorRetryAttempts'
  | 'codeBlockDelimiters';
expectTypeOf<Exclude<OfExecutor, keyof ours.BaseCodeExecutor>>().toBeNever();
expectTypeOf<Exclude<OfExecutor, keyof adk.BaseCodeExecutor>>().toBeNever();
expectTypeOf<ours.CodeExecutionResult['stdout']>().toEqualTypeOf<adk.CodeExecutionResult['stdout']>();
expectTypeOf<keyof ours.CodeExecutionResult>().toEqualTypeOf<keyof adk.CodeExecutionResult>();
expectTypeOf<keyof ours.CodeExecutionInput>().toEqualTypeOf<keyof adk.CodeExecutionInput>();
expectTypeOf<keyof ours.File>().toEqualTypeOf<keyof adk.File>();
expectTypeOf<keyof typeof ours.CodeExecutionLanguage>().toEqualTypeOf<
  keyof typeof adk.CodeExecutionLanguage
>();
expectTypeOf<adk.UnsafeLocalCodeExecutorOptions>().toExtend<ours.UnsafeLocalCodeExecutorOptions>();
expectTypeOf<keyof ours.ResumabilityConfig>().toEqualTypeOf<keyof adk.ResumabilityConfig>();

// A context's agent can be handed to whatever takes an agent, as in ADK.
expectTypeOf<ours.InvocationContext['agent']>().toEqualTypeOf<ours.BaseAgent | undefined>();

// OpenAPI. Documents and operations of ADK's programs fit.
expectTypeOf<adk.ParsedOperation>().toExtend<ours.ParsedOperation>();
expectTypeOf<adk.ApiParameter>().toExtend<ours.ApiParameter>();
expectTypeOf<adk.OperationEndpoint>().toEqualTypeOf<ours.OperationEndpoint>();
expectTypeOf<Parameters<adk.OpenApiSpecParser['parse']>>().toExtend<
  Parameters<ours.OpenApiSpecParser['parse']>
>();
type OfAdk<Options> = Omit<NonNullable<Options>, 'toolFilter' | 'headerProvider' | 'authCredential'>;
expectTypeOf<
  OfAdk<ConstructorParameters<typeof adk.OpenAPIToolset>[0]>
>().toExtend<ours.OpenAPIToolsetOptions>();
