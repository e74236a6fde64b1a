import { randomUUID } from 'node:crypto';
import { activityInfo } from '@temporalio/activity';
import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import { defined } from '../../src/protocol/json.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import type { StoreUnavailable } from '../../src/store/store-errors.ts';
import type { BeginCall, BegunCall, CallAsPlanned } from '../../src/store/turns/call-store.ts';
import { agentOfTool, type BaseTool } from '../../src/tools/base-tool.ts';
import { isPlannedOnly } from '../../src/tools/tool-gate.ts';
import { assertOfApp, knownCaller } from '../agents.ts';
import { approvalNotProven, beginAnswered, beginUnanswered } from '../approvals/begin-answered.ts';
import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import type { Deployment } from '../deployment.ts';
import { retryUntilAvailable } from '../store-retries.ts';
import { hasNotRun, type StartedCall, type TriedCall } from './tool-failure.ts';

/** Milliseconds of the margin of a call's schedule that may pass before it has begun. */
const LATE_BEGINNING = 500;

type Begun = BegunCall | Awaited<ReturnType<typeof beginAnswered>>;

/**
 * Begins a call in the ledger. If the store's answer got lost, the begun call would be an attempt of unknown outcome, so the store
 * is asked until it answers. If that has used up the tool's time, another attempt runs the tool.
 *
 * @param own the tool, where it is its agent's own.
 * @throws StoreUnavailable, HOLDFAST_APPROVAL_NOT_PROVEN
 */
export async function beginCall(
  dependencies: ActivityDependencies,
  { input, agent, own }: { input: ToolCallInput; agent: LlmAgent; own: BaseTool | undefined },
  current: Attempt,
): Promise<Begun> {
  let away: StoreUnavailable | undefined;
  const began = performance.now();
  const beginning = beginningOf(input, own, current);
  const { answered } = input;
  const begun = await retryUntilAvailable(
    async (): Promise<Begun> => {
      if (answered === undefined) return await beginUnanswered(dependencies, beginning);
      return await beginAnswered(dependencies, beginning, answered, agent);
    },
    current,
    (reason) => {
      away = reason;
    },
  );
  if (away === undefined || begun.kind !== 'started' || performance.now() - began < LATE_BEGINNING)
    return begun;
  await hasNotRun(dependencies, { input, begun }, away);
  throw away;
}

function beginningOf(
  input: ToolCallInput,
  own: BaseTool | undefined,
  { isInline = false }: Attempt,
): BeginCall {
  const { activityType: tool, currentAttemptScheduledTimestampMs: scheduledAt } = activityInfo();
  const { session, runKey, callKey, callId, args, exclusive = false } = input;
  return {
    ...{ session, runKey, callKey, callId, tool },
    argsDigest: digestOfCarried(args),
    wantArgs: 'ref' in args,
    seesSiblings: own === undefined ? exclusive : !own.durable.isConcurrencySafe,
    token: randomUUID(),
    isRepeatable: own !== undefined && isRepeatable(own),
    scheduledAt,
    isInline,
  };
}

/** By the tool's own terms. A gate's answer is for one start, and an agent's turn is begun in Temporal. */
function isRepeatable(tool: BaseTool): boolean {
  return (
    tool.gate === undefined && agentOfTool(tool) === undefined && tool.durable.onUnknownOutcome === 'retry'
  );
}

/** Work of a call that has begun, before its tool runs: where it fails, the next attempt finds no unknown outcome. */
export async function beforeRun<T>(
  { store }: Pick<ActivityDependencies, 'store'>,
  call: Pick<TriedCall, 'input' | 'begun'>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await hasNotRun({ store }, call, error);
    throw error;
  }
}

/**
 * The input of a call that has begun, as far as it is trusted. The input can name any agent, and claim anything.
 *
 * @throws NotDeployedHere, HOLDFAST_APPROVAL_NOT_PROVEN: nothing has run.
 */
export async function trustedInput(
  dependencies: ActivityDependencies,
  { begun, ...claimed }: ClaimedCall & { begun: StartedCall },
): Promise<ToolCallInput> {
  const { input } = claimed;
  return await beforeRun(dependencies, { input, begun }, async () => {
    assertOfApp(dependencies.deployment, begun.names.app, input);
    return await asPlanned(dependencies, claimed);
  });
}

interface ClaimedCall {
  input: ToolCallInput;
  requests: readonly ApprovalRow[];
}

type Planning = Pick<ActivityDependencies, 'store' | 'deployment'>;

/** A call as the store has it planned for the agent that its input names: undefined where this tool isn't what was planned. */
export async function planOf(
  { store, deployment }: Planning,
  input: ToolCallInput,
  tool: string,
): Promise<CallAsPlanned | undefined> {
  const { session, callKey, callId } = input;
  const planned = await store.turns.findPlannedCall({ session, callKey });
  const isSame = planned?.tool === tool && planned.callId === callId && isBy(deployment, planned, input);
  return isSame ? planned : undefined;
}

/**
 * Before a tool runs that may run planned calls only. The arguments of a call that has asked people are those that they were shown.
 *
 * @throws HOLDFAST_APPROVAL_NOT_PROVEN: nothing has run.
 */
export async function assertPlanned(
  dependencies: Planning,
  { input, begun, requests }: ClaimedCall & { begun: StartedCall },
  tool: BaseTool,
): Promise<void> {
  if (!isPlannedOnly(tool)) return;
  await beforeRun(dependencies, { input, begun }, async () => {
    const planned = await planOf(dependencies, input, tool.name);
    const isKnown =
      planned !== undefined &&
      (requests.length > 0 || digestOfCarried(planned.args) === digestOfStored(input.args));
    if (!isKnown) throw approvalNotProven('nothing has planned it with these arguments');
  });
}

/**
 * The input without claims that the plan in the store doesn't confirm. An input can claim that the call's gate and callbacks were asked
 * when it was planned. Where the plan of this agent doesn't say so, they are asked now.
 *
 * @throws HOLDFAST_APPROVAL_NOT_PROVEN for a call that has asked people and is not as it was planned: it would run by the activity's word.
 */
async function asPlanned(dependencies: Planning, { input, requests }: ClaimedCall): Promise<ToolCallInput> {
  const { args, prepared } = input;
  const hasAsked = requests.length > 0;
  if (prepared !== true && !hasAsked) return input;
  const planned = await planOf(dependencies, input, activityInfo().activityType);
  if (planned?.prepared === true && prepared === true) {
    // The answers decide with which arguments this call runs; those of the input don't count.
    if (hasAsked) return input;
    if (planned.gate === undefined && digestOfCarried(planned.args) === digestOfCarried(args)) return input;
  }
  const { prepared: _claimed, ...unprepared } = input;
  if (!hasAsked) return unprepared;
  const digest = digestOfStored(args);
  const isKnown =
    planned !== undefined &&
    (digestOfCarried(planned.args) === digest ||
      requests.some(({ editedArgs }) => editedArgs !== undefined && digestOf(editedArgs) === digest));
  if (isKnown && planned.prepared !== true) return unprepared;
  throw approvalNotProven('its agent, its tool or its arguments are not those that were planned');
}

/** Whether this agent has planned it: others of the worker may have its name. */
function isBy(
  deployment: Deployment,
  { by: { agent: name, root, place } }: CallAsPlanned,
  input: ToolCallInput,
): boolean {
  const { agent: said, root: saidRoot, within } = input;
  // Older releases kept no place.
  if (name !== said || (place !== undefined && place !== digestOf(within ?? []))) return false;
  if (root === undefined || root === saidRoot) return true;
  const agent = knownCaller(deployment, { agent: name, root, ...defined({ within }) });
  return agent !== undefined && agent === knownCaller(deployment, input);
}

/** The model's arguments, as callbacks changed them when the call was planned. */
export function plannedArguments(
  { args }: Pick<ToolCallInput, 'args'>,
  begun: Pick<StartedCall, 'args'>,
): Record<string, unknown> {
  // A made-up activity may name both: the digest of the reference was compared with the plan.
  return 'ref' in args ? (begun.args ?? {}) : args.value;
}

/** SHA-256 of the canonical arguments that an activity's input carries, or refers to. */
export function digestOfCarried(args: ToolCallInput['args']): string {
  return 'ref' in args ? args.ref.digest : digestOf(args.value);
}

/** As {@link digestOfCarried}, of the arguments as the plan in the store has them: no database keeps NUL and lone surrogates. */
function digestOfStored(args: ToolCallInput['args']): string {
  return 'ref' in args ? args.ref.digest : digestOf(asStored(args.value));
}
