import type { BaseAgent } from '../src/agents/base-agent.ts';
import type { CallOfAgent } from '../src/protocol/agent-run.ts';
import type { CallModelInput } from '../src/protocol/step.ts';
import type { OpenStep, Store } from '../src/store/store.ts';
import { requestText } from '../src/tools/agent-tool.ts';

/** What an agent is asked by the call of its tool. */
export async function messageOfCall(
  store: Pick<Store, 'callArguments'>,
  agent: BaseAgent,
  { session, callKey, args }: CallOfAgent,
): Promise<string> {
  const given = 'value' in args ? args.value : await store.callArguments({ session, callKey });
  return requestText(agent, given ?? {});
}

/** Whose child a run is, as far as its first step says it. */
export function parentOf({
  call,
  path,
  plannedBy,
}: CallModelInput): Pick<OpenStep, 'child' | 'parent' | 'plannedBy'> {
  return {
    ...(path === undefined ? {} : { child: true }),
    ...(call === undefined
      ? {}
      : { parent: { session: call.session, runKey: call.runKey, callKey: call.callKey, path: path ?? [] } }),
    ...(plannedBy === undefined ? {} : { plannedBy }),
  };
}
