import { activityInfo } from '@temporalio/activity';
import type { LlmAgent } from '../src/agents/llm-agent.ts';
import { createEventActions } from '../src/events/event-actions.ts';
import { digestOf } from '../src/flows/canonical-json.ts';
import { carry } from '../src/flows/size-rule.ts';
import type { ToolCallInput, ToolCallResult } from '../src/protocol/step.ts';
import { PROTOCOL_VERSION } from '../src/protocol/version.ts';
import type { BegunCall, CallActions, SettledCall } from '../src/store/store.ts';
import type { BaseTool } from '../src/tools/base-tool.ts';
import { Context } from '../src/tools/context.ts';
import { toFunctionResponse } from '../src/tools/function-response.ts';
import { type Attempt, attempt, retryLater, waitedSoFar } from './attempt.ts';
import type { ActivityDependencies } from './dependencies.ts';
import { agentOf } from './deployment.ts';
import { NOT_DEPLOYED_PATIENCE, NotDeployedHere } from './not-deployed-here.ts';

type StartedCall = Extract<BegunCall, { kind: 'started' }>;

const UNKNOWN_OUTCOME = 'outcome unknown: this call may have run; check before repeating it';

/** The activity of every call: its type is the tool's name. */
export function runTool(
  dependencies: ActivityDependencies,
): (input: ToolCallInput) => Promise<ToolCallResult> {
  return (input) =>
    attempt(async (current) => {
      const { store, deployment } = dependencies;
      const name = activityInfo().activityType;
      let tool: BaseTool;
      try {
        tool = toolOf(agentOf(deployment, input.agent), name);
      } catch (error) {
        if (!(error instanceof NotDeployedHere) || waitedSoFar() < NOT_DEPLOYED_PATIENCE) throw error;
        return resultOf(
          input,
          undefined,
          await settle(dependencies, input, { error: error.message }, true, {}),
        );
      }
      const begun = await store.beginCall({
        session: input.session,
        runKey: input.runKey,
        callKey: input.callKey,
        callId: input.callId,
        tool: name,
        argsDigest: 'ref' in input.args ? input.args.ref.digest : digestOf(input.args.value),
        wantArgs: 'ref' in input.args,
        ...(tool.durable.isConcurrencySafe ? {} : { seesSiblings: true }),
      });
      if (begun.kind === 'settled') return resultOf(input, tool, begun);
      if (begun.unknown && tool.durable.onUnknownOutcome === 'fail') {
        return resultOf(input, tool, await settle(dependencies, input, { error: UNKNOWN_OUTCOME }, true, {}));
      }
      return resultOf(input, tool, await runOnce(dependencies, input, tool, begun, current));
    });
}

function toolOf(agent: LlmAgent, name: string): BaseTool {
  const tool = agent.tools.find((candidate) => candidate.name === name);
  if (tool === undefined)
    throw new NotDeployedHere(
      'tool',
      name,
      agent.tools.map((candidate) => candidate.name),
    );
  return tool;
}

async function runOnce(
  dependencies: ActivityDependencies,
  input: ToolCallInput,
  tool: BaseTool,
  begun: StartedCall,
  current: Attempt,
): Promise<SettledCall> {
  const { store } = dependencies;
  const timeout = AbortSignal.timeout(tool.durable.timeout);
  const actions = createEventActions();
  const toolContext = new Context({
    appName: begun.names.app,
    userId: begun.names.userId,
    sessionId: begun.names.sessionId,
    invocationId: begun.invocationId,
    agentName: input.agent,
    ...(begun.userContent === undefined ? {} : { userContent: begun.userContent }),
    state: begun.state,
    eventActions: actions,
    abortSignal: AbortSignal.any([current.signal, timeout]),
    call: {
      callId: input.callId,
      callKey: input.callKey,
      attempt: begun.attempt,
      once: {
        get: (key) => begun.once[key],
        put: async (key, value) => {
          begun.once[key] = await store.recordOnce({ ...input, key, value });
        },
      },
      heartbeat: current.heartbeat,
    },
  });
  const args = 'value' in input.args ? input.args.value : (begun.args ?? {});
  let response: Record<string, unknown>;
  try {
    const value = await whicheverComesFirst(tool.runAsync({ args: structuredClone(args), toolContext }), [
      [current.signal, current.aborted],
      [timeout, () => new ToolTimeout(tool)],
    ]);
    response = toFunctionResponse(value);
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    return await failCall(dependencies, input, tool, begun, error);
  }
  return await settle(dependencies, input, response, false, actionsOf(actions));
}

/** A tool that doesn't heed its signal must not hold the attempt. */
async function whicheverComesFirst<T>(work: Promise<T>, ends: [AbortSignal, () => Error][]): Promise<T> {
  const done = new AbortController();
  const ended = ends.map(
    ([signal, failure]) =>
      new Promise<never>((_resolve, reject) => {
        if (signal.aborted) reject(failure());
        signal.addEventListener('abort', () => reject(failure()), { signal: done.signal });
      }),
  );
  try {
    return await Promise.race([work, ...ended]);
  } finally {
    done.abort();
  }
}

async function failCall(
  dependencies: ActivityDependencies,
  input: ToolCallInput,
  tool: BaseTool,
  begun: StartedCall,
  error: unknown,
): Promise<SettledCall> {
  const { store, logger } = dependencies;
  const { message, stack, retryable } = describeFailure(error);
  if (retryable) {
    const failures = await store.recordCallFailure({ ...input, error: message });
    logger.warn('tool failed', {
      tool: tool.name,
      callKey: input.callKey,
      failures,
      ...(stack ? { stack } : {}),
    });
    if (failures < tool.durable.retry.maximumAttempts) {
      throw retryLater(
        'ToolFailed',
        tool.durable.sensitive === false ? message : `Error in tool '${tool.name}'`,
        {
          delay: delayOf(tool, begun.failures),
        },
      );
    }
  }
  return await settle(dependencies, input, { error: message }, true, {}, stack);
}

function delayOf({ durable: { retry } }: BaseTool, failures: number): number {
  return Math.min(retry.initialInterval * retry.backoffCoefficient ** failures, retry.maximumInterval);
}

function describeFailure(error: unknown): { message: string; stack?: string; retryable: boolean } {
  const retryable = !(
    typeof error === 'object' &&
    error !== null &&
    'retryable' in error &&
    error.retryable === false
  );
  if (error instanceof Error) {
    const cause = error.cause instanceof Error ? error.cause.stack : undefined;
    const stack = cause ?? error.stack;
    return { message: error.message, ...(stack === undefined ? {} : { stack }), retryable };
  }
  return { message: String(error), retryable };
}

function settle(
  { store }: ActivityDependencies,
  { session, callKey }: ToolCallInput,
  response: Record<string, unknown>,
  failed: boolean,
  actions: CallActions,
  stack?: string,
): Promise<SettledCall> {
  return store.settleCall({
    session,
    callKey,
    response,
    failed,
    actions,
    ...(stack === undefined ? {} : { stack }),
  });
}

function actionsOf(actions: ReturnType<typeof createEventActions>): CallActions {
  const { stateDelta, artifactDelta, skipSummarization, transferToAgent, escalate } = actions;
  return {
    ...(Object.keys(stateDelta).length > 0 ? { stateDelta } : {}),
    ...(Object.keys(artifactDelta).length > 0 ? { artifactDelta } : {}),
    ...(skipSummarization ? { skipSummarization } : {}),
    ...(transferToAgent ? { transferToAgent } : {}),
    ...(escalate ? { escalate } : {}),
  };
}

function resultOf(
  { callKey }: ToolCallInput,
  tool: BaseTool | undefined,
  settled: Pick<SettledCall, 'response' | 'failed' | 'actions'>,
): ToolCallResult {
  const { sensitive } = tool?.durable ?? { sensitive: false };
  const hidden =
    sensitive === true || (Array.isArray(sensitive) && (settled.failed || sensitive.includes('result')));
  return {
    v: PROTOCOL_VERSION,
    response: carry(callKey, settled.response, hidden),
    ...(settled.failed ? { failed: true } : {}),
    ...(settled.actions.skipSummarization ? { skipSummarization: true } : {}),
  };
}

class ToolTimeout extends Error {
  readonly code = 'HOLDFAST_TOOL_TIMEOUT';

  constructor(tool: BaseTool) {
    super(`Error in tool '${tool.name}': no result within ${tool.durable.timeout} ms (its timeout)`);
  }
}
