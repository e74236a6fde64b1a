import { randomUUID } from 'node:crypto';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { ToolConfirmation } from '../../src/events/event-actions.ts';
import { transcriptView } from '../../src/flows/transcript.ts';
import type { CloseCallInput, ToolCallResult } from '../../src/protocol/step.ts';
import type { BegunAnsweredCall } from '../../src/store/approvals/approval-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import type { CallInit } from '../../src/tools/invocation-context.ts';
import { isOfApp, knownCaller } from '../agents.ts';
import { beginAnswered } from '../approvals/begin-answered.ts';
import { RecordedAnswers } from '../approvals/call-answers.ts';
import type { Attempt } from '../attempt.ts';
import { attemptServices } from '../context-services.ts';
import { afterTime, raceEndings } from '../deadline.ts';
import { type ActivityDependencies, currentTranscript } from '../dependencies.ts';
import { pluginsOf } from '../deployment.ts';
import { callLogger } from '../logging.ts';
import { digestOfCarried, plannedArguments } from './begin-call.ts';
import { callContext, contextInitOf, effectsOf, onceIn } from './call-context.ts';
import { ownTool, searchTool } from './find-tool.ts';
import { type CallOutcome, callbackTooLate, callResult, rejection } from './settle-call.ts';
import { type CalledTool, ToolCallbacks } from './tool-callbacks.ts';
import { describeFailure, storeErrorIn } from './tool-failure.ts';

/** Milliseconds that finding the tool, and its callbacks, may take. */
const CALLBACK_TIME = 20_000;

const EXPIRED = 'nobody has decided in time';

/** `holdfast.closeCall`: settles a call that people have not let run. Its tool is not run; callbacks hear of it as of a response. */
export async function closeCall(
  dependencies: ActivityDependencies,
  input: CloseCallInput,
  current: Attempt,
): Promise<ToolCallResult> {
  return await new ClosedCall(dependencies, input, current).run();
}

type Begun = Extract<BegunAnsweredCall, { kind: 'started' }>;

class ClosedCall {
  readonly #dependencies: ActivityDependencies;
  readonly #input: CloseCallInput;
  readonly #current: Attempt;

  constructor(dependencies: ActivityDependencies, input: CloseCallInput, current: Attempt) {
    this.#dependencies = dependencies;
    this.#input = input;
    this.#current = current;
  }

  async run(): Promise<ToolCallResult> {
    const { store, deployment, telemetry } = this.#dependencies;
    const { session, runKey, callKey, callId, tool: name, args, answered, agent: agentName } = this.#input;
    const beginning = {
      ...{ session, runKey, callKey, callId, tool: name },
      argsDigest: digestOfCarried(args),
      wantArgs: 'ref' in args,
      closes: true,
    };
    const begun = await beginAnswered(this.#dependencies, beginning, answered);
    const agent = knownCaller(deployment, this.#input);
    const own = agent && ownTool(agent, { name, callId });
    if (begun.kind === 'settled') return await callResult(this.#dependencies, this.#input, own, begun);
    const { app } = begun.kind === 'closed' ? begun.request : begun.names;
    const { tool = own, ...outcome } =
      begun.kind === 'closed' || agent === undefined || !isOfApp(deployment, app, this.#input)
        ? { ...this.#rejection, actions: {} }
        : await this.#heard(begun, agent);
    const settled = await store.turns.settleCall({ session, callKey, ...outcome, token: randomUUID() });
    if (settled.first) {
      telemetry.metrics.callFinished({ app, agent: agentName, tool: name }, settled.failed);
      telemetry.metrics.requestsEnded(begun.kind === 'closed' ? [begun.request] : begun.requests);
    }
    return await callResult(this.#dependencies, this.#input, tool, settled, false);
  }

  get #rejection(): Pick<CallOutcome, 'response' | 'failed'> {
    const { why, reason } = this.#input;
    return rejection(reason ?? (why === 'expired' ? EXPIRED : undefined));
  }

  /** As after-callbacks have it. */
  async #heard(
    begun: Begun,
    agent: LlmAgent,
  ): Promise<Omit<CallOutcome, 'answersError'> & { tool?: BaseTool }> {
    const unheard = { ...this.#rejection, actions: begun.prepared ?? {} };
    const callbacks = new ToolCallbacks(agent, pluginsOf(this.#dependencies.deployment, begun.names.app));
    if (!callbacks.has('afterToolCallback')) return unheard;
    const late = afterTime(CALLBACK_TIME);
    try {
      const call = await this.#called(begun, agent, late.signal);
      const { response } = await raceEndings(callbacks.after(call, unheard.response), [
        [this.#current.signal, this.#current.aborted],
        [late.signal, () => callbackTooLate(call, 'afterToolCallback', CALLBACK_TIME)],
      ]);
      const failed = Object.hasOwn(response, 'error');
      return { response, failed, actions: effectsOf(call.context), tool: call.tool };
    } catch (error) {
      if (this.#current.signal.aborted) throw this.#current.aborted();
      if (storeErrorIn(error) !== undefined) throw error;
      this.#warn(begun, error);
      return unheard;
    } finally {
      late.clear();
    }
  }

  async #called(begun: Begun, agent: LlmAgent, abortSignal: AbortSignal): Promise<CalledTool> {
    const { deployment } = this.#dependencies;
    const { session, tool: name, callKey, callId, prepared = false } = this.#input;
    const transcript = await currentTranscript(this.#dependencies, session, begun.names);
    const services = attemptServices(this.#dependencies, begun.names, this.#input, abortSignal);
    const view = transcriptView(transcript, begun.invocationId);
    const init = contextInitOf({ ...begun, agent, abortSignal, services, transcript: view });
    const edits = begun.remembered.toolEdits;
    const search = { deployment, agent, init, edits, current: this.#current, time: CALLBACK_TIME };
    const tool = await searchTool(search, { name, callId });
    const answers = new RecordedAnswers({
      ...{ callKey, prepared, requests: begun.requests },
      args: plannedArguments(this.#input, begun),
    });
    const { hint = '' } = answers.latest ?? {};
    const toolConfirmation = new ToolConfirmation({ hint, confirmed: false });
    const context = callContext(
      { ...init, toolConfirmation },
      this.#callInit(begun),
      abortSignal,
      begun.prepared,
    );
    return { tool, args: structuredClone(answers.args), context };
  }

  #callInit(begun: Begun): CallInit {
    const { session, callKey, callId } = this.#input;
    const { attempt } = begun;
    const once = onceIn(this.#dependencies.store, { session, callKey, attempt }, begun.once);
    return { callId, callKey, session, attempt, once, heartbeat: () => undefined };
  }

  #warn({ names: { app, sessionId }, invocationId }: Begun, error: unknown): void {
    const { callKey, agent, tool } = this.#input;
    const place = { app, sessionId, invocationId, callKey, agent, tool };
    callLogger(this.#dependencies, place).warn(
      'callbacks were not heard about a call that was not let run',
      this.#dependencies.conceal ? {} : { problem: describeFailure(error).message },
    );
  }
}
