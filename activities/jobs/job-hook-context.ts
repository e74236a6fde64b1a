import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { ContextArtifacts } from '../../src/artifacts/context-artifacts.ts';
import type { JobRow } from '../../src/contract/jobs.ts';
import { transcriptView } from '../../src/flows/transcript.ts';
import { placeOfCall } from '../../src/protocol/identity.ts';
import { defined } from '../../src/protocol/json.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import type { CallActions, KnownCall } from '../../src/store/turns/call-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { CallQuestions } from '../../src/tools/call-questions.ts';
import type { Context } from '../../src/tools/context.ts';
import type { CallInit, ContextInit } from '../../src/tools/invocation-context.ts';
import type { JobView } from '../../src/tools/job-options.ts';
import { assertOfApp, callerOf, type NamedAgent } from '../agents.ts';
import type { Attempt } from '../attempt.ts';
import { attemptServices } from '../context-services.ts';
import { type ActivityDependencies, currentTranscript } from '../dependencies.ts';
import { pluginsOf } from '../deployment.ts';
import {
  CallCredentials,
  type ContextParts,
  callContext,
  contextInitOf,
  onceIn,
} from '../tool/call-context.ts';
import { deployedTool, searchTool } from '../tool/find-tool.ts';
import { ToolCallbacks } from '../tool/tool-callbacks.ts';
import { type JobNotes, notesIn } from './job-notes.ts';
import { jobInit } from './job-of-call.ts';

/** Milliseconds that finding a tool may take. */
const SEARCH_TIME = 20_000;

/** A job's tool, where nobody need be asked for it: undefined for one that a toolset may have. */
export function ownToolOfJob(
  { deployment }: Pick<ActivityDependencies, 'deployment'>,
  caller: NamedAgent,
  { app, tool, callId }: JobRow,
): BaseTool | undefined {
  assertOfApp(deployment, app, caller);
  const agent = callerOf(deployment, caller);
  return deployedTool(deployment, agent, { name: tool, callId });
}

interface HookContextParts {
  dependencies: ActivityDependencies;
  row: JobRow;
  agent: LlmAgent;
  tool: BaseTool;
  init: ContextInit;
  known: Pick<KnownCall, 'attempts' | 'once'>;
  args: Record<string, unknown>;
  credentials: CallCredentials;
}

/** The tool, arguments, contexts and credentials of a job's hooks, long after its call has run. */
export class JobHookContext {
  readonly row: JobRow;
  readonly agent: LlmAgent;
  readonly tool: BaseTool;
  readonly callbacks: ToolCallbacks;
  /** Those that the call ran with. */
  readonly args: Record<string, unknown>;
  readonly notes: JobNotes;
  readonly #parts: HookContextParts;

  private constructor(parts: HookContextParts) {
    const { dependencies, row, agent, tool, known, args } = parts;
    this.row = row;
    this.agent = agent;
    this.tool = tool;
    this.callbacks = new ToolCallbacks(agent, pluginsOf(dependencies.deployment, row.app));
    this.args = args;
    this.notes = notesIn(known.once);
    this.#parts = parts;
  }

  /** @throws NotDeployedHere, ToolsetFailed, ToolFactoryFailed */
  static async open(
    dependencies: ActivityDependencies,
    input: ToolCallInput,
    row: JobRow,
    current: Attempt,
  ): Promise<JobHookContext> {
    const { deployment, store } = dependencies;
    const { session, runKey, callKey } = input;
    const { invocationId } = row;
    ownToolOfJob(dependencies, input, row);
    const agent = callerOf(deployment, input);
    const { step } = placeOfCall(callKey);
    const [peeked, found, planned] = await Promise.all([
      store.turns.peekStep({ session, invocationId, runKey, step }),
      store.turns.findCall({ session, callKey }),
      // Not those of the activity, which a made-up input could name freely.
      store.turns.callArguments({ session, callKey }),
    ]);
    const known = found ?? { attempts: 1, once: {} };
    const { names } = peeked;
    const { signal } = current;
    const credentials = new CallCredentials(dependencies, names);
    const parts: ContextParts = {
      ...{ ...peeked, invocationId, agent, abortSignal: signal, services: { credentials } },
    };
    const edits = peeked.remembered.toolEdits;
    const search = { deployment, agent, init: contextInitOf(parts), edits, current, time: SEARCH_TIME };
    const tool = await searchTool(search, { name: row.tool, callId: row.callId });
    parts.services = { ...attemptServices(dependencies, names, input, signal, tool), credentials };
    const callbacks = new ToolCallbacks(agent, pluginsOf(deployment, row.app));
    if (!callbacks.isEmpty || tool.durable.needsTranscript) {
      const transcript = await currentTranscript(dependencies, session, names);
      parts.transcript = transcriptView(transcript, invocationId);
    }
    const init = contextInitOf(parts);
    const notes = notesIn(known.once);
    const args = notes.args ?? planned ?? {};
    return new JobHookContext({ dependencies, row, agent, tool, init, known, args, credentials });
  }

  /** The job as a hook sees it. */
  async view(): Promise<JobView> {
    const { jobId: id, intermediate, progress, since, until } = this.row;
    const args = (await this.tool.readArguments(structuredClone(this.args))) as Record<string, unknown>;
    return {
      id,
      args,
      since,
      until,
      ...defined({ intermediate, progress }),
    };
  }

  get artifacts(): ContextArtifacts | undefined {
    return this.#parts.init.artifacts;
  }

  /** As the run of the call had them. */
  async openCredentials(): Promise<void> {
    const { credentials, tool } = this.#parts;
    await credentials.openGiven(new Map(this.notes.credentials).keys());
    const wanted = tool.gate?.credential;
    if (wanted !== undefined) await credentials.open(wanted);
  }

  /** @param before what was done before, with which the effects of this context begin. */
  toolContext(signal: AbortSignal, before?: CallActions): Context {
    return callContext({ ...this.#parts.init }, this.#callInit(), signal, before);
  }

  #callInit(): CallInit {
    const { dependencies, row, tool, known, credentials } = this.#parts;
    const { session, callKey, callId, runKey, jobId, agent, until } = row;
    return {
      callId,
      callKey,
      session,
      attempt: Math.max(known.attempts, 1),
      once: onceIn(dependencies.store, { session, callKey }, known.once),
      heartbeat: () => undefined,
      questions: new CallQuestions({
        inputs: [],
        credentials,
        wanted: tool.gate?.credential,
        passed: tool.gate,
        terms: undefined,
      }),
      job: jobInit(dependencies, {
        claims: () => ({ jobId, session, runKey, callKey, callId, tool: row.tool, agent, until }),
        until,
        longRunning: true,
        opened: async () => row,
      }),
    };
  }
}
