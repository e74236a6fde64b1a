import { transferToAgentTool } from '../agents/agent-transfer.ts';
import { CallbackFailed } from '../agents/callbacks.ts';
import type { LlmAgent } from '../agents/llm-agent.ts';
import { tasksTools } from '../agents/mode-tools.ts';
import { type CompactionHooks, setSite, type ToolChoice } from '../agents/processors/base-llm-processor.ts';
import { takesSchemaWithTools } from '../models/gemini-generation.ts';
import { appendInstructions, appendTools, removeTools } from '../models/llm-request.ts';
import type { PluginManager } from '../plugins/plugin-manager.ts';
import type { ToolEdit } from '../protocol/run-terms.ts';
import type { JsonSchemaObject } from '../schema/compiled-schema.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { thrownMessage } from '../schema/thrown-message.ts';
import type { DraftEvent } from '../store/sessions/session-store.ts';
import type { BaseTool, LlmRequest, ToolFactory } from '../tools/base-tool.ts';
import { MODE_INSTRUCTIONS } from '../tools/built-in/finish-task-tool.ts';
import {
  SET_MODEL_RESPONSE,
  SET_MODEL_RESPONSE_INSTRUCTION,
  SetModelResponseTool,
} from '../tools/built-in/set-model-response-tool.ts';
import { type ContextInit, InvocationContext } from '../tools/invocation-context.ts';
import { ReadonlyContext } from '../tools/readonly-context.ts';
import { markUntrusted } from './mark-untrusted.ts';
import { assertLasting, namesOf, offerTools } from './offer-tools.ts';
import { RequestTools } from './request-tools.ts';
import { resolveTools, type ToolGroup } from './resolve-tools.ts';
import { assertWhole, runProcessors } from './run-processors.ts';
import { queriesOf } from './spooled-queries.ts';

export { InstructionFailed } from '../agents/processors/request-processors.ts';

export interface RequestSite {
  agent: LlmAgent;
  /**
   * The step's parts of a context: agent, live state, transcript, abort signal, run config, invocation. Its event actions are the
   * model event's. State that processors yield is laid over its state.
   */
  init: ContextInit;
  plugins: PluginManager;
  /** Tool factories of the app. */
  toolFactories: ReadonlyMap<string, ToolFactory>;
  /** Tools that the invocation has added or removed. */
  toolEdits: readonly ToolEdit[];
  /** Whether untrusted content is sent in envelopes. */
  markUntrusted: boolean;
  /** Is told once of an optional toolset that fails. */
  warn?: (message: string) => void;
}

export interface BuiltRequest {
  /** Its `toolsDict` holds the tools to plan with. */
  request: LlmRequest;
  /** The events that processors yielded, in order. */
  events: DraftEvent[];
  /** All edits of the invocation by now, those made later by callbacks included: to be asked when the step is recorded. */
  toolEdits(): readonly ToolEdit[];
  /**
   * To be called when callbacks have edited the request, before it is sent.
   *
   * @throws CallbackFailed for a request that can't be sent, DefinitionError for a tool that another worker could not find.
   */
  settle(): void;
}

const AGENT_LABEL = 'adk_agent_name';

/**
 * Builds the request to the model. The agent's request processors fill an empty request; then come its toolsets and tools, and the
 * tools that the invocation has added. The array of contents is the request's own; the contents in it are frozen and shared with
 * later steps until user code gets to see them.
 *
 * @throws InstructionFailed, MissingTemplateValue, CallbackFailed, PluginFailed, ToolsetFailed, ToolFactoryFailed, and
 * DefinitionError where tools clash.
 */
export async function buildRequest(site: RequestSite): Promise<BuiltRequest> {
  const { agent, plugins, toolFactories: factories } = site;
  const invocation = site.init.invocation ?? new InvocationContext(site.init);
  const init = site.init.invocation === undefined ? { ...site.init, invocation } : site.init;
  const resolved = resolveTools(agent, () => new ReadonlyContext(init), site.warn);
  const groups = resolved instanceof Promise ? await resolved : resolved;
  const addsTools = site.toolEdits.some((edit) => 'add' in edit);
  const answering = responseTools(agent, addsTools);
  const tools = new RequestTools({
    expected: () => [...groups.flatMap((group) => group.tools), ...answering],
    factories,
    edits: site.toolEdits,
  });
  const request: LlmRequest = { contents: [], config: {}, toolsDict: {}, tools };
  const choosing = plugins.has('beforeToolSelection');
  const compaction = compactionHooks(plugins);
  if (addsTools || choosing || compaction !== undefined) {
    const chooseTools: ToolChoice = (params) => plugins.run('beforeToolSelection', params);
    setSite(request, { addsTools, chooseTools: choosing ? chooseTools : undefined, compaction });
  }
  const events = await runProcessors({ agent, invocation, init, request });
  if (agent.mode !== undefined) appendInstructions(request, [MODE_INSTRUCTIONS[agent.mode]]);
  await offerTools({ agent, init, request, groups, edits: tools.edits });
  appendTools(request, answering);
  tools.takeOver(request);
  const offered = Object.keys(request.toolsDict);
  leaveAllowed(request, tools.edits, answering);
  const queries = offerQueries(site, groups, request);
  answerByCall(agent, request);
  label(request, agent.name);
  request.contents = markUntrusted(request.contents, site.markUntrusted);
  return {
    request,
    events,
    toolEdits: () => tools.edits,
    settle() {
      assertEdited(agent, request);
      const known = [...namesOf(groups), ...offered, SET_MODEL_RESPONSE, ...tools.added, ...queries];
      assertLasting(agent, request, new Set(known));
      answerByCall(agent, request);
    },
  };
}

function assertEdited(agent: LlmAgent, request: LlmRequest): void {
  try {
    assertWhole(request);
  } catch (cause) {
    const problem = thrownMessage(cause);
    throw new CallbackFailed({
      agent: agent.name,
      callback: 'beforeModelCallback',
      problem,
      cause,
      retryable: false,
    });
  }
}

function compactionHooks(plugins: PluginManager): CompactionHooks | undefined {
  if (!plugins.has('beforeContextCompaction') && !plugins.has('afterContextCompaction')) return undefined;
  return {
    before: async (params) => void (await plugins.run('beforeContextCompaction', params)),
    after: async (params) => void (await plugins.run('afterContextCompaction', params)),
  };
}

/** Offers the tools that query what the turn has spooled. */
function offerQueries(
  { agent, init, toolEdits }: RequestSite,
  groups: readonly ToolGroup[],
  request: LlmRequest,
): string[] {
  const spooling = [...groups.flatMap(({ tools }) => tools), ...Object.values(request.toolsDict)].filter(
    ({ spool }) => spool,
  );
  if (spooling.length === 0) return [];
  const removed = new Set(toolEdits.flatMap((edit) => ('remove' in edit ? [edit.remove] : [])));
  const queries = queriesOf(spooling, init.transcript?.toolCalls() ?? []).filter(
    ({ name }) => !removed.has(name),
  );
  for (const { name } of queries) {
    if (!Object.hasOwn(request.toolsDict, name)) continue;
    const problem = `the tool "${name}" has the name of one that queries spooled results; rename it`;
    throw new DefinitionError({ owner: `LlmAgent "${agent.name}"`, field: 'tools', problem });
  }
  appendTools(request, queries);
  return queries.map(({ name }) => name);
}

const responseTool = new WeakMap<LlmAgent, BaseTool>();

/** `set_model_response`, where the model can't have both tools and a response schema; those of a task. */
function responseTools(agent: LlmAgent, addsTools: boolean): BaseTool[] {
  if (agent.mode === 'task') return tasksTools(agent);
  const { outputJsonSchema, tools } = agent;
  if (outputJsonSchema === undefined || (tools.length === 0 && !addsTools)) return [];
  if (takesSchemaWithTools(agent.canonicalModel)) return [];
  return [responseToolOf(agent, outputJsonSchema)];
}

function responseToolOf(agent: LlmAgent, schema: JsonSchemaObject): BaseTool {
  const known = responseTool.get(agent) ?? new SetModelResponseTool(schema);
  responseTool.set(agent, known);
  return known;
}

/** An agent without tools has got some only now. */
function answerByCall(agent: LlmAgent, request: LlmRequest): void {
  const { outputJsonSchema: schema, generateContentConfig } = agent;
  const { config, toolsDict } = request;
  if (schema === undefined || config?.responseJsonSchema !== schema) return;
  if (Object.keys(toolsDict).length === 0 || takesSchemaWithTools(agent.canonicalModel)) return;
  delete config.responseJsonSchema;
  delete config.responseMimeType;
  const { responseMimeType } = generateContentConfig;
  if (responseMimeType !== undefined) config.responseMimeType = responseMimeType;
  appendTools(request, [responseToolOf(agent, schema)]);
  appendInstructions(request, [SET_MODEL_RESPONSE_INSTRUCTION]);
}

/** Tools that earlier steps have added stand in the request by now, whether they are allowed or not. */
function leaveAllowed(request: LlmRequest, edits: readonly ToolEdit[], answering: readonly BaseTool[]): void {
  const { allowedTools } = request;
  if (allowedTools === undefined || edits.length === 0) return;
  const isLeft = (name: string) =>
    allowedTools.includes(name) ||
    answering.some((tool) => tool.name === name) ||
    request.toolsDict[name] === transferToAgentTool;
  removeTools(
    request,
    Object.keys(request.toolsDict).filter((name) => !isLeft(name)),
  );
}

function label(request: LlmRequest, agent: string): void {
  request.config ??= {};
  const { labels } = request.config;
  if (!labels?.[AGENT_LABEL]) request.config.labels = { ...labels, [AGENT_LABEL]: agent };
}
