import { GATE_KINDS } from '../contract/lists.ts';
import {
  absent,
  all,
  anything,
  count,
  duration,
  either,
  jsonText,
  list,
  name,
  number,
  object,
  oneOf,
  optional,
  record,
  type Shape,
  text,
  textOrObject,
  timer,
  wait,
  withOneOf,
} from './shape.ts';

// Every program that polls a task queue may answer its activities, with anything. This checks only for values at which workflows
// would throw, or for which they would wait in vain. Store and activities check the meaning, and other releases may say more or
// less.

const voter = object({ principal: text });
const usage = object({ cost: optional(number) });
const carried = object({ ref: optional(object({})) });
const inbox = list(object({ invocationId: text, agent: optional(text) }));

/** Two of its fields would make it another kind of answer. */
const outcome = object({ status: text, usage, kind: absent, inbox: absent });

const job = object({
  jobId: name,
  timeLeft: wait,
  look: object({ startToClose: duration, heartbeat: optional(wait) }),
});

const gate = object({
  requestId: name,
  kind: oneOf(...GATE_KINDS),
  hint: text,
  quorum: optional(number),
  fixed: optional(list(text)),
  expiresIn: optional(timer),
  escalateAfter: optional(timer),
  ended: optional(text),
  votes: optional(list(object({ by: voter }))),
});

const schedule = object({ startToClose: duration, scheduleToClose: duration, heartbeat: optional(wait) });

const agentToRun = { name, taskQueue: optional(name) };

const call = object({
  callKey: name,
  callId: text,
  tool: name,
  summary: optional(text),
  gate: optional(gate),
  runs: optional(object({ ...agentToRun, timeout: optional(duration), attempts: optional(number) })),
});

const step = {
  session: text,
  seq: number,
  agent: optional(text),
  inbox: optional(inbox),
  startedAt: optional(number),
  timeLeft: optional(wait),
  step: optional(count),
};

const ended = object({ ...step, from: number, outcome });

/** Each call is run by the schedule of its tool. */
const scheduled: Shape = (value, at) => {
  const { calls = [], schedules } = value as {
    calls?: { tool: string }[];
    schedules: Record<string, unknown>;
  };
  for (const [index, { tool }] of calls.entries()) {
    const own = Object.hasOwn(schedules, tool) ? schedules[tool] : undefined;
    const problem = schedule(own, `${at}.schedules of calls[${index}]`);
    if (problem !== undefined) return problem;
  }
  return undefined;
};

const callEnding = {
  error: absent,
  response: optional(carried),
  transferToAgent: optional(text),
  detached: optional(job),
  parks: optional(job),
  asks: optional(gate),
};

const toolCall = all(withOneOf('response', 'parks', 'runs', 'asks', 'ended'), object(callEnding));

const inlineCall = all(
  withOneOf('response', 'asks', 'goesOn', 'cancelled'),
  object({ ...callEnding, goesOn: optional(object({ after: wait, spent: wait, error: optional(text) })) }),
);

const turn = object({
  status: text,
  events: object({ to: number }),
  usage: optional(usage),
  error: optional(object({})),
  text: optional(textOrObject),
  output: optional(carried),
});

const steps = {
  calls: all(
    object({
      ...step,
      usage,
      calls: list(call),
      schedules: object({}),
      maxParallelCalls: count,
      ran: optional(record(inlineCall)),
    }),
    scheduled,
  ),
  agents: object({ ...step, usage, plan: object({ agents: list(object(agentToRun)) }) }),
  final: ended,
  failed: ended,
  finished: ended,
};

const settled = { seq: number, from: number };

/** Shapes that workflows check results of activities by. */
export const RESULTS = {
  step: either('kind', { ...steps, behind: object({ inbox }) }),
  /** Also for a child's first step, which no message supersedes. */
  stepOfChild: either('kind', steps),
  settledStep: object(settled),
  endedTurn: object({ ...settled, outcome }),
  toolCall,
  keptMessages: object({ messages: list(anything) }),
  verifiedDecision: either('counts', { true: object({ by: voter }), false: object({ by: optional(voter) }) }),
  jobReceipt: object({ status: text }),
  detachedJob: object({ status: text }),
  deliveredJob: object({}),
  expiredSessions: object({ deleted: number }),
  /** That of another workflow, too. */
  turn,
  answer: object({}),
  jsonText,
  decision: object({ by: list(voter) }),
} as const satisfies Record<string, Shape>;

/** The activity of a step reports the calls that it runs. */
export const INLINE_CALLS_TOLD = object({
  step: count,
  calls: list(object({ callKey: name, callId: text, tool: name, since: number })),
});

/** Code and type of the failure that a result becomes which can't be used. */
export const UNUSABLE = { code: 'HOLDFAST_UNUSABLE_RESULT' } as const;

/**
 * Why a workflow can't use what it was given, if so.
 *
 * @param from whose result it is: for people.
 */
export function resultProblem(from: string, shape: Shape, result: unknown): string | undefined {
  const problem = shape(result, 'result');
  return problem === undefined ? undefined : `${from} gave a result that can’t be used: ${problem}`;
}
