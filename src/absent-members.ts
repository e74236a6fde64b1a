import { BaseAgent } from './agents/base-agent.ts';
import { LlmAgent } from './agents/llm-agent.ts';
import { BaseLlm } from './models/base-llm.ts';
import { Gemini } from './models/gemini.ts';
import { PluginManager } from './plugins/plugin-manager.ts';
import { Runner } from './runner/runner.ts';
import { DefinitionError } from './schema/definition-error.ts';
import { BaseTool } from './tools/base-tool.ts';
import { InvocationContext } from './tools/invocation-context.ts';
import { MCPSessionManager } from './tools/mcp/mcp-session-manager.ts';
import { State } from './tools/state.ts';

/** Members of classes of `@google/adk` 2.0.0 that ours don't have: the class, the row of docs/adk-exports.md that says why, and they. */
export const ABSENT_MEMBERS: readonly (readonly [
  { readonly name: string; readonly prototype: object },
  string,
  string,
])[] = [
  [
    InvocationContext,
    'The Live API',
    'activeStreamingTools liveRequestQueue liveSessionResumptionHandle transcriptionCache',
  ],
  [InvocationContext, 'Graphs of nodes', 'eventQueue isolationScope nodeToolDepth workflowInstructionScope'],
  [InvocationContext, 'Credentials are kept by the store', 'credentialService'],
  [InvocationContext, '`InvocationContext`', 'clone incrementLlmCallCount pluginManager sessionService'],
  [BaseAgent, 'The Live API', 'runLive'],
  [
    BaseAgent,
    'Graphs of nodes',
    'inputSchema isolationScope outputSchema preparedRetryConfig requiresAllPredecessors rerunOnResume retryConfig run runImpl timeout toEvent validateInput validateOutput waitForOutput',
  ],
  [BaseAgent, '`BaseAgent`', 'createInvocationContext handleAfterAgentCallback handleBeforeAgentCallback'],
  [
    LlmAgent,
    '`LlmAgent`',
    'callLlmAsync canonicalGlobalInstruction canonicalInstruction includeContentsExplicit inputSchemaSource outputSchemaSource runAndHandleError',
  ],
  [Runner, 'The Live API', 'runLive'],
  [Runner, 'Credentials are kept by the store', 'credentialService'],
  [PluginManager, 'Graphs of nodes', 'runAfterNodeCallback runBeforeNodeCallback'],
  [BaseLlm, '`BaseLlm`', 'trackingHeaders'],
  [
    Gemini,
    '`Gemini`',
    'apiBackend getHttpOptions getLiveHttpOptions liveApiClient liveApiVersion useInteractionsApi',
  ],
  [MCPSessionManager, '`MCPSessionManager`', 'closeSession createSession getActiveSessions'],
  [BaseTool, '`BaseTool`', 'apiVariant checkRequireConfirmation'],
  [State, '`State`', 'schema validateDelta'],
];

/*
 * Not enumerable, and of the prototype: to spread, log or compare an object reads none. A class of a program may have a member of such
 * a name for itself.
 */
for (const [{ name: owner, prototype }, row, members] of ABSENT_MEMBERS) {
  for (const field of members.split(' ')) {
    Object.defineProperty(prototype, field, {
      configurable: true,
      get() {
        const problem = `a member of @google/adk that Holdfast does not have: see ${row} in docs/adk-exports.md`;
        throw new DefinitionError({ owner, field, problem });
      },
      set(value: unknown) {
        Object.defineProperty(this, field, { value, configurable: true, enumerable: true, writable: true });
      },
    });
  }
}
