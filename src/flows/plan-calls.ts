import type { Carried } from '../protocol/carried.ts';
import { callKeyOf } from '../protocol/identity.ts';
import { PAYLOAD_LIMIT } from '../protocol/sizes.ts';
import type { PlannedCall, ToolSchedule } from '../protocol/step.ts';
import type { PlannedRow } from '../store/store.ts';
import type { BaseTool } from '../tools/base-tool.ts';
import { carry, referenceTo } from './size-rule.ts';
import { unknownToolText } from './unknown-tool.ts';

/** More calls in one response than this are answered with an error: their plan would not fit one payload. */
const MOST_CALLS = 128;

/** The worker ends an attempt at the tool's timeout; Temporal only where the worker failed to. */
const TIMEOUT_MARGIN = 5_000;

/** The rest of the payload: usage, schedules, names. */
const PLAN_LIMIT = PAYLOAD_LIMIT - 12 * 1024;

export interface FunctionCallOfStep {
  callId: string;
  name: string;
  args: Record<string, unknown>;
}

export interface CallPlan {
  /** What the workflow runs. */
  calls: PlannedCall[];
  schedules: Record<string, ToolSchedule>;
  /** What the ledger keeps from the start. */
  rows: PlannedRow[];
  /** Every call in call order, for the merge of their responses. */
  all: Pick<PlannedCall, 'callKey' | 'callId' | 'tool'>[];
}

/** Turns a response's function calls into what the workflow carries out and what the ledger keeps. */
export function planCalls(
  runKey: string,
  step: number,
  functionCalls: readonly FunctionCallOfStep[],
  tools: ReadonlyMap<string, BaseTool>,
): CallPlan {
  const plan: CallPlan = { calls: [], schedules: {}, rows: [], all: [] };
  let bytes = 0;
  functionCalls.forEach(({ callId, name, args }, index) => {
    const callKey = callKeyOf(runKey, step, index);
    plan.all.push({ callKey, callId, tool: name });
    const tool = tools.get(name);
    const refusal =
      tool === undefined
        ? unknownToolText(name, [...tools.keys()])
        : index >= MOST_CALLS
          ? `at most ${MOST_CALLS} calls run at a time; call again with the rest`
          : undefined;
    if (tool === undefined || refusal !== undefined) {
      plan.rows.push({ callKey, index, callId, tool: name, response: { error: refusal ?? '' } });
      return;
    }
    let carried: Carried<Record<string, unknown>> = carry(callKey, args, sensitiveArguments(tool, args));
    const summary = summaryOf(tool, args);
    const size = Buffer.byteLength(JSON.stringify([callKey, callId, name, carried, summary]));
    if ('value' in carried && bytes + size > PLAN_LIMIT - (functionCalls.length - index) * 400) {
      carried = { ref: referenceTo(callKey, args, JSON.stringify(args), false) };
    }
    bytes += Buffer.byteLength(JSON.stringify([callKey, callId, name, carried, summary]));
    plan.schedules[name] ??= scheduleOf(tool);
    plan.calls.push({ callKey, callId, tool: name, args: carried, ...(summary === '' ? {} : { summary }) });
    if ('ref' in carried) plan.rows.push({ callKey, index, callId, tool: name, args });
  });
  return plan;
}

/** A list hides all arguments: the model may misspell the name of the secret one. */
function sensitiveArguments({ durable: { sensitive } }: BaseTool, args: Record<string, unknown>): boolean {
  if (typeof sensitive === 'boolean') return sensitive;
  return sensitive.some((name) => name !== 'result' || Object.hasOwn(args, 'result'));
}

/** By default the argument names: values may be anything, names are the tool author's own. */
function summaryOf(tool: BaseTool, args: Record<string, unknown>): string {
  const names = Object.keys(args).slice(0, 8).join(', ');
  if (tool.durable.summary === undefined || sensitiveArguments(tool, args)) return names;
  try {
    const summary: unknown = tool.durable.summary(args);
    return typeof summary === 'string' ? summary.toWellFormed().slice(0, 200) : names;
  } catch {
    // The model chose the arguments: a summary that they break is not worth a turn.
    return names;
  }
}

function scheduleOf({ durable }: BaseTool): ToolSchedule {
  const { initialInterval, maximumInterval, backoffCoefficient } = durable.retry;
  return {
    startToClose: durable.timeout + TIMEOUT_MARGIN,
    scheduleToClose: durable.totalTimeout + TIMEOUT_MARGIN,
    heartbeat: durable.heartbeatTimeout,
    initialInterval,
    maximumInterval,
    backoffCoefficient,
    ...(durable.execution === 'local' ? { local: true } : {}),
    ...(durable.isConcurrencySafe ? {} : { exclusive: true }),
  };
}
