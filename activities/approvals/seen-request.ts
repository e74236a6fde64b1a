import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import type { DraftEvent } from '../../src/store/sessions/session-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { type ContextInit, InvocationContext } from '../../src/tools/invocation-context.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { pluginsOf } from '../deployment.ts';
import { callLogger } from '../logging.ts';
import { StepTime, seenEvent, UserCode } from '../model/user-code.ts';
import { describeFailure, type StartedCall } from '../tool/tool-failure.ts';

/** A call whose attempt asks a person. */
export interface CallThatAsks {
  input: ToolCallInput;
  begun: StartedCall;
  agent: LlmAgent;
  tool: BaseTool;
  /** The parts of all contexts of the call. */
  init: ContextInit;
  current: Attempt;
}

/** The event of a request as plugins have made it. Their failure doesn't keep a person from being asked. */
export async function seenRequest(
  dependencies: ActivityDependencies,
  { input, begun, agent, tool, init, current }: CallThatAsks,
  event: DraftEvent,
): Promise<DraftEvent> {
  const plugins = pluginsOf(dependencies.deployment, begun.names.app);
  if (!plugins.has('onEventCallback')) return event;
  const time = new StepTime(current, agent);
  try {
    const code = new UserCode(agent, plugins, time);
    return await seenEvent(code, new InvocationContext(init), event, 'request');
  } catch (error) {
    if (time.isOver) throw error;
    const { callKey } = input;
    const { app, sessionId } = begun.names;
    callLogger(dependencies, { app, sessionId, callKey, agent: agent.name, tool: tool.name }).warn(
      'plugins were not heard about a request',
      dependencies.conceal ? {} : { problem: describeFailure(error).message },
    );
    return event;
  } finally {
    time.close();
  }
}
