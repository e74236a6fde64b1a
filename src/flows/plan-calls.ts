import { areArgumentsSensitive, isAnySensitive } from '../approvals/sensitive.ts';
import type { Part } from '../events/content.ts';
import { sensitiveIn } from '../plugins/withheld.ts';
import type { AgentRef, ToolOfAgent } from '../protocol/agent-run.ts';
import type { Gate } from '../protocol/gate.ts';
import { callKeyOf } from '../protocol/identity.ts';
import type { AwaitedJob } from '../protocol/job.ts';
import { defined } from '../protocol/json.ts';
import type { AppTerms, RunTerms, ToolSchedule } from '../protocol/run-terms.ts';
import { MOST_CALLS, PAYLOAD_LIMIT, SUMMARY_LIMIT } from '../protocol/sizes.ts';
import type { PlannedCall } from '../protocol/step.ts';
import { visibleText } from '../protocol/visible-text.ts';
import type { CallActions } from '../store/turns/call-store.ts';
import type { PlannedRow } from '../store/turns/step-store.ts';
import { agentOfTool, type BaseTool } from '../tools/base-tool.ts';
import { howItWasMade } from '../tools/turn-registry.ts';
import { termsOfCall } from './budgets.ts';
import { carry, cutToBytes, referenceTo } from './size-rule.ts';

/**
 * The worker ends an attempt at the tool's timeout, and callbacks hear of it; Temporal ends it only where the worker failed to.
 * Milliseconds.
 */
export const TIMEOUT_MARGIN = 5_000;

/** Most bytes of a request's hint in the plan; the store has all of it. */
const HINT_LIMIT = 200;

/** Bytes of a payload that the plan leaves to the rest of the step's outcome. */
const PLAN_LIMIT = PAYLOAD_LIMIT - 4 * 1024;

export interface FunctionCallOfStep {
  /** `''` for code that the model wrote. */
  callId: string;
  name: string;
  args: Record<string, unknown>;
  /** Answers the call, which isn't run. */
  response?: Record<string, unknown>;
  /** Before-tool callbacks have been asked about it: the arguments are what they made of them. */
  prepared?: true;
  /** Their other actions; with a response the outcome has them. */
  actions?: CallActions;
  /** It waits for a person. */
  gate?: Gate;
}

/**
 * The calls of a response, in the order of its parts: function calls, which must have their ids, and code that the agent's executor runs.
 */
export function callsOf(parts: readonly Part[], codeTool: BaseTool | undefined): FunctionCallOfStep[] {
  return parts.flatMap(({ functionCall, executableCode }) => {
    if (functionCall !== undefined) {
      const { id = '', name = '', args = {} } = functionCall;
      return [{ callId: id, name, args }];
    }
    if (executableCode === undefined || codeTool === undefined) return [];
    return [{ callId: '', name: codeTool.name, args: { ...executableCode } }];
  });
}

/** The agent that has asked for calls. */
interface Caller extends AgentRef {
  app?: string;
  session?: string;
  invocationId?: string;
  terms?: RunTerms & { timeLeft?: number };
  appTerms?: AppTerms;
}

export interface CallPlan {
  /** The calls that the workflow runs. */
  calls: PlannedCall[];
  schedules: Record<string, ToolSchedule>;
  /** The calls that the ledger keeps from the start. */
  rows: PlannedRow[];
  /** Every call in call order, for the merge of their responses. */
  all: Pick<PlannedCall, 'callKey' | 'callId' | 'tool'>[];
}

/**
 * Turns a response's function calls into the plan for the workflow and the rows for the ledger. The plan always fits one payload:
 * first each call gets its barest form, then arguments and summaries share the room that is left, in call order.
 *
 * @param tools by name, those of the request.
 * @param codeTool runs code that the model wrote.
 * @param caller who has asked for the calls.
 */
export function planCalls(
  runKey: string,
  step: number,
  functionCalls: readonly FunctionCallOfStep[],
  tools: ReadonlyMap<string, BaseTool>,
  codeTool?: BaseTool,
  caller: Caller = { name: '' },
): CallPlan {
  const plan: CallPlan = { calls: [], schedules: {}, rows: [], all: [] };
  const drafts: {
    index: number;
    args: Record<string, unknown>;
    actions: CallActions | undefined;
    forms: PlannedCall[];
  }[] = [];
  let room = PLAN_LIMIT;
  for (const [index, functionCall] of functionCalls.entries()) {
    const { callId, name, args, response, actions } = functionCall;
    const call = { callKey: callKeyOf(runKey, step, index), callId, tool: name };
    plan.all.push(call);
    if (response !== undefined) {
      plan.rows.push({ ...call, index, response, ...defined({ actions }) });
      continue;
    }
    // No function call runs code, under any name.
    const tool = callId === '' ? codeTool : tools.get(name);
    if (tool === undefined) {
      plan.rows.push({ ...call, index, response: { error: unknownToolText(name, [...tools.keys()]) } });
      continue;
    }
    const forms = formsOf(call, functionCall, tool, caller);
    const schedule = Object.hasOwn(plan.schedules, name) ? {} : { [name]: scheduleOf(tool) };
    const size = bytesOf(forms.at(-1)) + bytesOf(schedule);
    if (drafts.length === MOST_CALLS || size > room) {
      const error = `at most ${drafts.length} calls run at a time; call again with the rest`;
      plan.rows.push({ ...call, index, response: { error } });
      continue;
    }
    room -= size;
    Object.assign(plan.schedules, schedule);
    drafts.push({ index, args, actions, forms });
  }
  for (const { index, args, actions, forms } of drafts) {
    const barest = bytesOf(forms.at(-1));
    const call = forms.find((form) => bytesOf(form) - barest <= room);
    if (call === undefined) throw new Error('the barest form of a call always fits');
    room -= bytesOf(call) - barest;
    plan.calls.push(call);
    const { callKey, callId, tool } = call;
    const row = {
      ...('ref' in call.args ? { args } : {}),
      ...defined({ actions }),
    };
    if (Object.keys(row).length > 0) plan.rows.push({ callKey, callId, tool, index, ...row });
  }
  return plan;
}

/** The forms that a call can have in the plan, the richest first. */
function formsOf(
  given: Pick<PlannedCall, 'callKey' | 'callId' | 'tool'>,
  { args, prepared, gate }: FunctionCallOfStep,
  tool: BaseTool,
  caller: Caller,
): PlannedCall[] {
  const sensitive = areArgumentsSensitive(sensitiveIn(tool, args), args);
  const reference = referenceTo(given.callKey, args, JSON.stringify(args), sensitive);
  const summary = summaryOf(tool, args, sensitive);
  const carried = carry(given.callKey, args, sensitive);
  const barest = {
    ...given,
    ...(prepared ? { prepared } : {}),
    ...runsOf(tool, caller),
    ...(gate === undefined ? {} : { gate: { ...gate, hint: '' } }),
  };
  const call = gate === undefined ? barest : { ...barest, gate: shownGate(gate, tool) };
  const bare = { ...barest, args: { ref: { ...reference, gist: '' } } };
  const forms: PlannedCall[] = [{ ...call, args: { ref: reference } }, bare];
  if (summary !== '') forms.unshift({ ...call, args: { ref: reference }, summary });
  if ('value' in carried) forms.unshift({ ...call, args: carried, ...(summary === '' ? {} : { summary }) });
  return forms;
}

/** Where the agent of a tool is found again. */
function hopOf(tool: BaseTool, { app, agent }: { app?: string | undefined; agent: string }): ToolOfAgent {
  const made = howItWasMade(tool);
  return {
    ...{ agent, tool: tool.name },
    ...(made === undefined || app === undefined ? {} : { made: { app, ...made } }),
  };
}

/** The run of a tool's agent in the tool's place. */
function runsOf(
  tool: BaseTool,
  { name: agent, root, within = [], app, session = '', invocationId = '', terms = {}, appTerms }: Caller,
): Pick<PlannedCall, 'runs'> {
  const runs = agentOfTool(tool);
  if (runs === undefined) return {};
  const { attempts, taskQueue, timeout } = runs;
  const { name } = runs.agent;
  // Where it lives elsewhere, it is a root there.
  const place =
    taskQueue === undefined
      ? { ...defined({ root }), within: [...within, hopOf(tool, { app, agent })] }
      : { root: name, taskQueue, ...defined({ appTerms }) };
  return {
    runs: {
      name,
      ...place,
      ...defined({ timeout }),
      ...(attempts === 1 ? {} : { attempts }),
      ...defined({ appTerms: terms.appTerms }),
      ...termsOfCall(runs.budget, { ...terms, session, invocationId }),
      ...(tool.gate === undefined ? {} : { begins: true as const }),
    },
  };
}

/** As the history carries it: its hint may quote what the tool keeps to itself. */
export function shownGate(gate: Gate, { durable: { sensitive } }: BaseTool): Gate {
  return { ...gate, hint: isAnySensitive(sensitive) ? '' : cutToBytes(gate.hint, HINT_LIMIT) };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

const LONGEST_VALUE = 40;
const MOST_ARGUMENTS = 8;

/** One line that can be seen: by default `order: A-1, cents: 4200`, and the names alone where values may be sensitive. */
function summaryOf(tool: BaseTool, args: Record<string, unknown>, sensitive: boolean): string {
  // JSON leaves out what is undefined: a model of somebody's own may write it.
  const given = Object.entries(args).filter(([, value]) => value !== undefined);
  const shown = given.slice(0, MOST_ARGUMENTS);
  const line = (text: string) => cutToBytes(visibleText(text.slice(0, SUMMARY_LIMIT + 1)), SUMMARY_LIMIT);
  if (sensitive) return line(shown.map(([name]) => short(name)).join(', '));
  const values = line(shown.map(([name, value]) => `${short(name)}: ${short(value)}`).join(', '));
  if (tool.durable.summary === undefined) return values;
  try {
    const summary: unknown = tool.durable.summary(args);
    return typeof summary === 'string' ? line(summary) : values;
  } catch {
    // The model chose the arguments: a summary that they break is not worth a turn.
    return values;
  }
}

function short(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE - 1).toWellFormed()}…`;
}

/** The longest run of a call that `execution: 'auto'` has the activity of its step wait for, milliseconds. */
const LONGEST_INLINE = 10_000;

/** Whether calls of the tool may run in the activity of their step: they have neither job nor agent, and need not run alone. */
function isInline(tool: BaseTool): boolean {
  const { execution, idempotent, isConcurrencySafe, timeout } = tool.durable;
  const { poll, inProcess } = tool.job;
  if (execution === 'activity' || !isConcurrencySafe || agentOfTool(tool) !== undefined) return false;
  if (tool.isLongRunning || poll !== undefined || inProcess) return false;
  return execution === 'inline' || (idempotent && tool.gate === undefined && timeout <= LONGEST_INLINE);
}

function scheduleOf(tool: BaseTool): ToolSchedule {
  const { durable } = tool;
  return {
    startToClose: durable.timeout + TIMEOUT_MARGIN,
    scheduleToClose: durable.totalTimeout + TIMEOUT_MARGIN,
    heartbeat: durable.heartbeatTimeout,
    ...(isInline(tool) ? { inline: true } : {}),
    ...(durable.isConcurrencySafe ? {} : { exclusive: true }),
  };
}

/** The response for a tool that the agent doesn't have; ADK's text. */
export function unknownToolText(name: string, available: readonly string[]): string {
  return [
    `tool '${name.slice(0, 128)}' not found.`,
    `Available tools: ${available.join(', ') || '(none)'}`,
    '',
    'Possible causes:',
    '  1. LLM hallucinated the function name - review agent instruction clarity',
    '  2. Tool not registered - verify agent.tools list',
    '  3. Name mismatch - check for typos',
    '',
    'Suggested fixes:',
    '  - Call one of the available tools by its exact name',
    '  - Answer without a tool if none of them fits',
  ].join('\n');
}

/** One look at a job that nobody polls reads a row, milliseconds. A worker that dies meanwhile costs as much. */
const LOOK_TIMEOUT = 60_000;

/**
 * A job as a workflow waits for it.
 *
 * @param tool undefined where it isn't known here.
 * @param timeLeft until its deadline, milliseconds.
 */
export function awaitedJob(
  tool: Pick<BaseTool, 'job' | 'durable'> | undefined,
  jobId: string,
  timeLeft: number,
): AwaitedJob {
  if (tool?.job.poll === undefined) return { jobId, timeLeft, look: { startToClose: LOOK_TIMEOUT } };
  const { timeout, heartbeatTimeout } = tool.durable;
  return {
    jobId,
    timeLeft,
    look: { startToClose: timeout + TIMEOUT_MARGIN, heartbeat: heartbeatTimeout },
  };
}
