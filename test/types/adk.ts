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
expectTypeOf<AdkToolOptions<typeof zod4>>().toExtend<ours.ToolOptions<typeof zod4>>();
expectTypeOf<AdkToolOptions<typeof zod3>>().toExtend<ours.ToolOptions<typeof zod3>>();
expectTypeOf<adk.BaseToolParams>().toExtend<ours.BaseToolParams>();

// Tools. ADK brings an older @google/genai, whose types equal ours in name only, so these are compared one way.
type OfTool = 'name' | 'description' | 'isLongRunning';
expectTypeOf<Pick<ours.BaseTool, OfTool>>().toEqualTypeOf<Pick<adk.BaseTool, OfTool>>();
expectTypeOf<adk.BaseTool['_getDeclaration']>().toExtend<ours.BaseTool['_getDeclaration']>();
expectTypeOf<adk.FunctionTool['_getDeclaration']>().toExtend<ours.FunctionTool['_getDeclaration']>();
expectTypeOf<ReturnType<ours.BaseTool['runAsync']>>().toEqualTypeOf<ReturnType<adk.BaseTool['runAsync']>>();
expectTypeOf<keyof ours.RunAsyncToolRequest>().toEqualTypeOf<keyof adk.RunAsyncToolRequest>();
expectTypeOf<ours.RunAsyncToolRequest['args']>().toEqualTypeOf<adk.RunAsyncToolRequest['args']>();

// Contexts: what ADK's readers read, ours have.
type Identity = 'invocationId' | 'userId' | 'sessionId' | 'agentName';
expectTypeOf<Pick<ours.ReadonlyContext, Identity>>().toEqualTypeOf<Pick<adk.ReadonlyContext, Identity>>();
expectTypeOf<adk.Context['userContent']>().toExtend<ours.Context['userContent']>();
type OfCall = Identity | 'functionCallId' | 'abortSignal';
expectTypeOf<Pick<ours.Context, OfCall>>().toExtend<Pick<adk.Context, OfCall>>();
expectTypeOf<ours.Context>().toExtend<ours.ReadonlyContext>();
expectTypeOf<ours.Context['actions']>().toEqualTypeOf<ours.EventActions>();
expectTypeOf<ours.Context['eventActions']>().toEqualTypeOf<ours.EventActions>();

// State, member by member: classes with private members never equal each other.
expectTypeOf<ours.State['get']>().toEqualTypeOf<adk.State['get']>();
expectTypeOf<ours.State['set']>().toEqualTypeOf<adk.State['set']>();
expectTypeOf<ours.State['has']>().toEqualTypeOf<adk.State['has']>();
expectTypeOf<ours.State['hasDelta']>().toEqualTypeOf<adk.State['hasDelta']>();
expectTypeOf<ours.State['toRecord']>().toEqualTypeOf<adk.State['toRecord']>();
expectTypeOf<adk.State['update']>().toExtend<ours.State['update']>();

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
type Shared = keyof ours.LlmAgentConfig & keyof adk.LlmAgentConfig;
expectTypeOf<Shared>().toEqualTypeOf<
  'name' | 'description' | 'model' | 'instruction' | 'tools' | 'generateContentConfig' | 'outputKey'
>();
type Plain = 'name' | 'description' | 'outputKey';
expectTypeOf<Pick<ours.LlmAgentConfig, Plain>>().toEqualTypeOf<Pick<adk.LlmAgentConfig, Plain>>();
expectTypeOf<adk.LlmAgentConfig['generateContentConfig']>().toExtend<
  ours.LlmAgentConfig['generateContentConfig']
>();
expectTypeOf<Extract<adk.LlmAgentConfig['model'], string>>().toExtend<ours.LlmAgentConfig['model']>();
expectTypeOf<ours.LlmAgent['name']>().toEqualTypeOf<adk.LlmAgent['name']>();
expectTypeOf<ours.LlmAgent['outputKey']>().toEqualTypeOf<adk.LlmAgent['outputKey']>();
expectTypeOf<Parameters<ours.BaseAgent['findAgent']>>().toEqualTypeOf<
  Parameters<adk.BaseAgent['findAgent']>
>();
expectTypeOf<ReturnType<ours.InstructionProvider>>().toEqualTypeOf<ReturnType<adk.InstructionProvider>>();
