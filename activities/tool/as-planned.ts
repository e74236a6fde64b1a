import type { LlmAgent } from '../../src/agents/llm-agent.ts';
import { digestOf } from '../../src/protocol/canonical-json.ts';
import type { ToolCallInput } from '../../src/protocol/step.ts';
import type { ApprovalRow } from '../../src/store/approvals/approval-store.ts';
import { asStored } from '../../src/store/engine/json-text.ts';
import type { CallAsPlanned } from '../../src/store/turns/call-store.ts';
import { assertOfApp, knownCaller } from '../agents.ts';
import { ApprovalNotProven } from '../approvals/begin-answered.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import type { Deployment } from '../deployment.ts';
import { hasNotRun, type StartedCall, type TriedCall } from './tool-failure.ts';

/**
 * A call that has just begun may name an agent of another app: its attempt ends, and has run nothing.
 *
 * @throws NotDeployedHere
 */
export async function assertCallOfApp(
  { deployment, store }: Pick<ActivityDependencies, 'deployment' | 'store'>,
  call: Pick<TriedCall, 'input' | 'begun'>,
): Promise<void> {
  try {
    assertOfApp(deployment, call.begun.names.app, call.input);
  } catch (error) {
    await hasNotRun({ store }, call, error);
    throw error;
  }
}

/** A call as its activity begins it. */
interface ClaimedCall {
  input: ToolCallInput;
  /** Who runs it. */
  agent: LlmAgent;
  /** The tool's name. */
  tool: string;
  /** What the call has asked people. */
  requests: readonly ApprovalRow[];
}

/**
 * The input without claims that the plan in the store doesn't confirm. An input can claim that the call's gate and callbacks were asked
 * when it was planned. Where the plan of this agent doesn't say so, they are asked now.
 *
 * @throws ApprovalNotProven for a call that has asked people and is not as it was planned: it would run by the activity's word.
 */
export async function asPlanned(
  { store, deployment }: Pick<ActivityDependencies, 'store' | 'deployment'>,
  { input, agent, tool, requests }: ClaimedCall,
): Promise<ToolCallInput> {
  const { session, callKey, callId, args, prepared } = input;
  const hasAsked = requests.length > 0;
  if (prepared !== true && !hasAsked) return input;
  const planned = await store.turns.findPlannedCall({ session, callKey });
  const isSame =
    planned !== undefined &&
    planned.tool === tool &&
    planned.callId === callId &&
    isBy(deployment, planned, input, agent);
  if (isSame && prepared === true && planned.prepared === true) {
    // The answers decide with which arguments this call runs; those of the input don't count.
    if (hasAsked) return input;
    if (planned.gate === undefined && digestOfCarried(planned.args) === digestOfCarried(args)) return input;
  }
  const { prepared: _claimed, ...unprepared } = input;
  if (!hasAsked) return unprepared;
  const digest = digestOfStored(args);
  const isKnown =
    isSame &&
    (digestOfCarried(planned.args) === digest ||
      requests.some(({ editedArgs }) => editedArgs !== undefined && digestOf(editedArgs) === digest));
  if (isKnown && planned.prepared !== true) return unprepared;
  throw new ApprovalNotProven('its agent, its tool or its arguments are not those that were planned');
}

/** Whether this agent has planned it: others of the worker may have its name. */
function isBy(
  deployment: Deployment,
  { by: { agent: name, root, place } }: CallAsPlanned,
  { agent: said, root: saidRoot, within }: ToolCallInput,
  agent: LlmAgent,
): boolean {
  // Older releases kept no place.
  if (name !== said || (place !== undefined && place !== digestOf(within ?? []))) return false;
  if (root === undefined || root === saidRoot) return true;
  return (
    knownCaller(deployment, { agent: name, root, ...(within === undefined ? {} : { within }) }) === agent
  );
}

/** The model's, or what callbacks have made of them when the call was planned. */
export function plannedArguments(
  { args }: Pick<ToolCallInput, 'args'>,
  begun: Pick<StartedCall, 'args'>,
): Record<string, unknown> {
  // Whoever schedules the activity may say both: what was compared with the plan is the digest of the reference.
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
