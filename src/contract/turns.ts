import { z } from 'zod';
import {
  jsonObject,
  moment,
  name,
  PAGE,
  SESSION,
  SESSION_PATH,
  TIMEOUT,
  version,
  WHOSE,
  WHOSE_ON_THE_WIRE,
  WHOSE_WORK,
} from './fields.ts';
import { PROGRESS } from './jobs.ts';
import { GATE_KINDS, MOST_WAITS } from './lists.ts';
import { LONGEST_NAME } from './message-limits.ts';
import { MESSAGE_TERMS, SENT_CONTENT, SENT_MESSAGE, TURN_FIELDS, TURN_PATH } from './messages.ts';
import type { Exact, InputOf, Noun, Operation } from './operation.ts';
import { USAGE } from './sessions.ts';

const TURN_OUTCOMES = ['completed', 'failed', 'interrupted'] as const;

const WAITS = ['waiting_approval', 'waiting_credential', 'waiting_input', 'waiting_job'] as const;

const TURN_STATES = ['running', ...WAITS, ...TURN_OUTCOMES] as const;

/** Seconds of waiting for a turn's end, at most. */
const LONGEST_WAIT = 60;

const state = z.enum(TURN_STATES);
const outcome = z.enum(TURN_OUTCOMES);
const list = <Item extends z.ZodType>(item: Item, description: string) =>
  z.array(item).optional().meta({ description });

const REFERENCE = z.looseObject({ key: z.string(), digest: z.string(), bytes: z.int(), gist: z.string() });

const PLACE = z
  .object({ from: z.int(), to: z.int() })
  .meta({ description: 'First and last seq of its events.' });

const OTHER = z.looseObject({ invocationId: z.string(), status: outcome, events: PLACE });

const TURN_RESULT = z
  .looseObject({
    v: z.int(),
    invocationId: z.string(),
    status: outcome,
    text: z.union([z.string(), REFERENCE]).optional().meta({
      description: 'The final answer; over 4 KiB a reference, the text itself is in the turn’s last event.',
    }),
    output: z
      .union([z.looseObject({ value: z.unknown() }), z.looseObject({ ref: REFERENCE })])
      .optional()
      .meta({
        description:
          'The answer’s value, of an agent with an output schema; a reference where it could not be read.',
      }),
    error: z
      .looseObject({
        ...{ code: z.string(), message: z.string() },
        concealed: z
          .literal(true)
          .optional()
          .meta({ description: 'The message is for encrypted places only.' }),
      })
      .optional(),
    escalated: z
      .literal(true)
      .optional()
      .meta({ description: 'Of an agent that runs as a child: it has escalated.' }),
    usage: USAGE,
    events: PLACE,
    others: list(OTHER, 'Outcomes of the messages that were queued meanwhile.'),
  })
  .meta({ id: 'TurnResult' });

const CALL = { callKey: z.string(), tool: z.string(), since: moment() };

const REQUEST = z.looseObject({
  requestId: z.string(),
  kind: z.enum(GATE_KINDS),
  ...CALL,
  callId: z.string(),
  path: z.array(z.string()).meta({ description: 'Names of the agents from the root to the one that asks.' }),
  hint: z.string(),
  until: moment('Absent where it doesn’t expire.').optional(),
  votes: z
    .looseObject({ approvals: z.int(), quorum: z.int() })
    .meta({ description: 'Approvals so far, and how many it takes.' }),
});

const JOB = z.looseObject({
  jobId: z.string(),
  ...CALL,
  callId: z.string(),
  progress: PROGRESS.optional(),
  until: moment('Its deadline.'),
});

const WAIT = z.looseObject({
  runKey: z.string(),
  workflowId: z.string(),
  path: z.array(z.string()),
  status: z.enum(WAITS),
  tool: z.string(),
  callId: z.string().optional().meta({ description: 'Of the call that waits.' }),
  requestId: z.string().optional().meta({ description: 'Absent where it is a job.' }),
  since: moment(),
});

const CHILD = z.looseObject({
  runKey: z.string(),
  agent: z.string(),
  path: z.array(z.string()).meta({ description: 'Names of the agents from the root to this one.' }),
  workflowId: z.string(),
  status: state,
  tool: z.string().optional().meta({ description: 'The tool whose call waits.' }),
  since: moment(),
  waits: list(WAIT, 'The first waits of this agent and of those below it.'),
  more: z.int().optional().meta({ description: 'How many more wait.' }),
});

/** Payload of the signal `holdfast.turnEnded`, as far as it is looked at. */
export const TURN_ENDED = z.looseObject({
  invocationId: z.string(),
  status: outcome,
  text: TURN_RESULT.shape.text,
});

/** Payload of the signal `holdfast.child`. */
export const CHILD_STATE = z.object({
  runKey: z.string(),
  path: z.array(z.string()),
  status: z.enum(['running', ...WAITS]),
  since: moment(),
  waits: z.array(z.object(WAIT.shape)).max(MOST_WAITS).optional(),
  more: z.int().min(0).optional(),
});

const TURN_STATUS = z
  .looseObject({
    v: z.int(),
    status: state,
    agent: z.string().optional(),
    step: z.int(),
    invocationId: z.string(),
    since: moment('When the invocation began; absent before one has.').optional(),
    running: z.array(z.looseObject({ ...CALL, progress: PROGRESS.optional() })),
    waiting: z.array(REQUEST).meta({ description: 'Requests that people have not answered yet.' }),
    jobs: z.array(JOB).meta({ description: 'Jobs that calls of the turn wait for.' }),
    children: list(CHILD, 'Agents that run as children of this turn.'),
    queued: z.int().meta({ description: 'Messages that wait for this one’s end.' }),
    usage: USAGE,
  })
  .meta({ id: 'TurnStatus' });

const STEERED = {
  confirmed: z.boolean().meta({
    description: 'False: the order is in the run’s history, and counts as soon as a worker takes the run up.',
  }),
  v: z.int().optional(),
  reason: z.string().optional().meta({ description: 'Says whether a worker polls the task queue.' }),
};

const INTERRUPTED = z
  .looseObject({
    ...STEERED,
    invocationId: z.string().optional().meta({ description: 'Absent where no invocation was running.' }),
  })
  .meta({ id: 'Interrupted' });

const CANCELLED = z
  .looseObject({
    ...STEERED,
    callKey: z.string(),
    status: z.enum(['cancelling', 'forwarded']).meta({
      description: '`forwarded`: the agent whose call it is was told, in the workflow `workflowId`.',
    }),
    workflowId: z.string().optional(),
  })
  .partial({ callKey: true, status: true })
  .meta({ id: 'Cancelled' });

const STEERS = {
  tag: 'Steering',
  wire: WHOSE_ON_THE_WIRE,
  query: ['timeout'],
} as const;

const reason = z.string().optional().meta({ description: 'Told to the model, up to 500 characters of it.' });

export const getTurn = {
  name: 'turn',
  id: 'getTurn',
  tag: 'Turns',
  summary: 'Wait for a turn’s result',
  method: 'get',
  path: TURN_PATH,
  may: { permission: 'read', of: 'path' },
  input: z.object({
    ...SENT_MESSAGE,
    wait: z.int().min(0).max(LONGEST_WAIT).optional().meta({
      description: 'Seconds to wait for the turn’s end.',
      default: 0,
    }),
  }),
  wire: WHOSE_ON_THE_WIRE,
  output: z.looseObject({ ...TURN_FIELDS, result: TURN_RESULT }).meta({ id: 'EndedTurn' }),
  answer: 'The turn has ended.',
  unfinished: {
    without: 'result',
    output: z
      .looseObject({
        ...TURN_FIELDS,
        status: TURN_STATUS.optional().meta({
          description:
            'How the session’s running turn stands: of another invocation where this message waits.',
        }),
        reason: z.string().optional().meta({ description: 'Why there is no status.' }),
      })
      .meta({ id: 'RunningTurn' }),
    answer: 'It has not: ask again.',
  },
  errors: ['HOLDFAST_MESSAGE_REJECTED'],
} as const satisfies Operation;

export const listTurns = {
  name: 'turns',
  id: 'listTurns',
  tag: 'Turns',
  summary: 'List turns',
  description: 'The newest first, as Temporal’s search attributes show them, which come a moment late.',
  method: 'get',
  path: '/v1/turns',
  may: { permission: 'read', of: 'query' },
  input: z.object({
    ...WHOSE,
    status: z
      .enum(['running', ...WAITS, 'failed'])
      .optional()
      .meta({ description: 'The state of the turns. Defaults to all that have not ended.' }),
    limit: PAGE.limit,
  }),
  wire: WHOSE_ON_THE_WIRE,
  output: z
    .object({
      turns: z.array(
        z.looseObject({
          ...{ app: z.string(), userId: z.string(), sessionId: z.string(), agent: z.string().optional() },
          status: z.string(),
          since: moment('When its run began.'),
          ...{ workflowId: z.string(), runId: z.string() },
        }),
      ),
    })
    .meta({ id: 'TurnList' }),
  answer: 'Turns of sessions; those of agents below them are not among them.',
} as const satisfies Operation;

export const getStatus = {
  ...STEERS,
  name: 'status',
  id: 'getStatus',
  summary: 'Show the running turn',
  method: 'get',
  path: `${SESSION_PATH}/status`,
  may: { permission: 'read', of: 'path' },
  input: z.object({ ...SESSION, timeout: TIMEOUT }),
  output: z
    .object({ status: TURN_STATUS.nullable().meta({ description: 'Null where no turn runs.' }) })
    .meta({ id: 'SessionStatus' }),
  answer: 'The state of the turn.',
  errors: ['HOLDFAST_NO_ANSWER'],
} as const satisfies Operation;

export const interruptTurn = {
  ...STEERS,
  name: 'interrupt',
  id: 'interruptTurn',
  summary: 'End the turn that runs, politely',
  description: 'Its open calls are answered, its status is `interrupted`, and messages that wait come next.',
  method: 'post',
  path: `${SESSION_PATH}/interrupt`,
  may: { permission: 'operate', of: 'path' },
  input: z.object({
    ...SESSION,
    reason,
    invocationId: name('Ends this turn only. Defaults to whichever runs.', LONGEST_NAME).optional(),
    timeout: TIMEOUT,
  }),
  output: INTERRUPTED,
  answer: 'The outcome of the order.',
} as const satisfies Operation;

export const cancelCall = {
  ...STEERS,
  name: 'cancelCall',
  id: 'cancelCall',
  summary: 'Cancel one call of the turn that runs',
  description: 'The turn goes on, and its model is told.',
  method: 'post',
  path: `${SESSION_PATH}/cancel-call`,
  may: { permission: 'operate', of: 'path' },
  input: z.object({
    ...SESSION,
    callKey: name('Names the call; or `callId` does.', LONGEST_NAME).optional(),
    callId: name('The wire’s id of the call, where one open call only has it.', LONGEST_NAME).optional(),
    reason,
    timeout: TIMEOUT,
  }),
  output: CANCELLED,
  answer: 'The outcome of the order.',
} as const satisfies Operation;

/** By their methods; routes of the gateway stand in this order. */
export const TURNS = { turns: listTurns } as const satisfies Noun;
export const STEERING = { status: getStatus, interrupt: interruptTurn, cancelCall } as const satisfies Noun;

const orderId = z
  .string()
  .max(200)
  .optional()
  .meta({ description: 'One order id is one order, however often it is sent.' });

/** Payload of the signal and the update `interrupt`. */
export const INTERRUPT_PAYLOAD = z.object({
  v: version(),
  invocationId: z.string().optional().meta({ 'x-expected': 'an invocation’s id' }),
  ...{ reason: z.string().optional(), queued: z.boolean().optional() },
  orderId,
});

/** Payload of the signal and the update `cancelCall`. */
export const CANCEL_PAYLOAD = z.object({
  v: version(),
  ...{ callKey: z.string().optional(), callId: z.string().optional(), reason: z.string().optional() },
  orderId,
});

/** Start arguments of the workflow `agentTurn`. */
export const TURN_START = z.object({
  ...WHOSE_WORK,
  ...SENT_CONTENT,
  messageId: name('One message id is one turn, for ever.', LONGEST_NAME).optional(),
  retryOf: z
    .object({ invocationId: z.string(), generation: z.int() })
    .optional()
    .meta({ 'x-expected': '{ invocationId, generation }' }),
  ownCall: z
    .object({
      tool: z.string(),
      args: jsonObject('Of the call.'),
      question: jsonObject('The question to people before it runs.').optional(),
    })
    .optional()
    .meta({ 'x-expected': '{ tool, args }', 'x-flat': true }),
});

const named = z.string().min(1);

/** Start arguments of `agentTurn` for an agent below another one, as far as they are looked at. */
export const CHILD_START = z.object({
  v: version(),
  ...WHOSE_WORK,
  runConfig: MESSAGE_TERMS.runConfig,
  priority: MESSAGE_TERMS.priority,
  traceparent: SENT_CONTENT.traceparent,
  child: z.looseObject({
    ...{ rootWorkflowId: named, runKey: named, invocationId: named },
    agent: z.looseObject({
      name: named,
      root: named.optional(),
      within: z.array(z.unknown()).optional(),
    }),
    path: z.array(named).min(1).meta({ 'x-expected': 'at least one name' }),
    branch: named.optional(),
    fence: z.looseObject({ startedAt: z.number(), invocation: z.number() }),
    seq: z.number(),
    plannedBy: named.optional(),
    session: named.optional(),
    call: z
      .looseObject({
        ...{ session: named, runKey: named, callKey: named, callId: named, tool: named },
        args: z.looseObject({}),
      })
      .optional(),
  }),
});

export type Interrupt = Exact<z.output<typeof INTERRUPT_PAYLOAD>>;
export type CancelCall = Exact<z.output<typeof CANCEL_PAYLOAD>>;
/** Options of {@link HoldfastClient.turns}. */
export type ListTurns = Partial<InputOf<typeof listTurns>>;
/** A turn of a list. */
export type TurnRow = Exact<z.output<typeof listTurns.output>>['turns'][number];
/** Options of {@link HoldfastClient.interrupt}. */
export type InterruptOptions = Omit<InputOf<typeof interruptTurn>, keyof typeof SESSION>;
/** Options of {@link HoldfastClient.cancelCall}: one of the two names the call. */
export type CallToCancel = Omit<InputOf<typeof cancelCall>, keyof typeof SESSION>;
