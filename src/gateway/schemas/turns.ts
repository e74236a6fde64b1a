import { z } from '@hono/zod-openapi';
import { CONTENT } from '../../contract/events.ts';
import { PROGRESS } from '../../contract/jobs.ts';
import { USAGE } from '../../contract/sessions.ts';
import type { Content } from '../../events/content.ts';
import type { TurnResult, TurnStatus } from '../../protocol/turn.ts';
import { expected } from '../request-problems.ts';
import { bodyOf, name, record, text } from './fields.ts';

/** Bounds of numbers that JavaScript can tell apart, which zod heeds and doesn't document. */
const SAFE = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

const REFERENCE = z.looseObject({ key: z.string(), digest: z.string(), bytes: z.int(), gist: z.string() });

const OUTCOME = z.enum(['completed', 'failed', 'interrupted']);
const PLACE = z
  .object({ from: z.int(), to: z.int() })
  .openapi({ description: 'First and last seq of its events.' });

export const TURN_RESULT = z
  .looseObject({
    v: z.int(),
    invocationId: z.string(),
    status: OUTCOME,
    text: z.union([z.string(), REFERENCE]).optional().openapi({
      description: 'The final answer; over 4 KiB a reference, the text itself is in the turn’s last event.',
    }),
    output: z
      .union([z.looseObject({ value: z.unknown() }), z.looseObject({ ref: REFERENCE })])
      .optional()
      .openapi({
        description:
          'The answer’s value, of an agent with an output schema; a reference where it could not be read.',
      }),
    error: z.looseObject({ code: z.string(), message: z.string() }).optional(),
    usage: USAGE,
    events: PLACE,
    others: z
      .array(z.looseObject({ invocationId: z.string(), status: OUTCOME, events: PLACE }))
      .optional()
      .openapi({ description: 'What became of the messages that were queued meanwhile.' }),
  })
  .openapi('TurnResult') as unknown as z.ZodType<TurnResult>;

const STATUS = z.enum([
  'running',
  'waiting_approval',
  'waiting_credential',
  'waiting_input',
  'waiting_job',
  'completed',
  'failed',
  'interrupted',
]);

export const TURN_STATUS = z
  .looseObject({
    v: z.int(),
    status: STATUS,
    agent: z.string().optional(),
    step: z.int(),
    invocationId: z.string(),
    running: z.array(
      z.looseObject({
        callKey: z.string(),
        tool: z.string(),
        since: z.number().openapi({ description: 'Milliseconds since the epoch.' }),
      }),
    ),
    waiting: z
      .array(
        z.looseObject({
          requestId: z.string(),
          kind: z.enum(['confirmation', 'credential', 'input']),
          callKey: z.string(),
          callId: z.string(),
          tool: z.string(),
          hint: z.string(),
          since: z.number().openapi({ description: 'Milliseconds since the epoch.' }),
          until: z.number().optional().openapi({ description: 'Absent where it doesn’t expire.' }),
        }),
      )
      .optional()
      .openapi({ description: 'Requests that people have not answered yet.' }),
    jobs: z
      .array(
        z.looseObject({
          jobId: z.string(),
          callKey: z.string(),
          callId: z.string(),
          tool: z.string(),
          progress: PROGRESS.optional(),
          since: z.number().openapi({ description: 'Milliseconds since the epoch.' }),
          until: z.number().openapi({ description: 'Its deadline.' }),
        }),
      )
      .optional()
      .openapi({ description: 'Jobs that calls of the turn wait for.' }),
    children: z
      .array(
        z.looseObject({
          runKey: z.string(),
          agent: z.string(),
          path: z
            .array(z.string())
            .openapi({ description: 'Names of the agents from the root to this one.' }),
          workflowId: z.string(),
          status: STATUS,
          tool: z.string().optional().openapi({ description: 'The tool whose call waits.' }),
          since: z.number().openapi({ description: 'Milliseconds since the epoch.' }),
          waits: z
            .array(
              z.looseObject({
                runKey: z.string(),
                workflowId: z.string(),
                path: z.array(z.string()),
                status: STATUS,
                tool: z.string(),
                callId: z.string().optional().openapi({ description: 'Of the call that waits.' }),
                requestId: z.string().optional().openapi({ description: 'Absent where it is a job.' }),
                since: z.number(),
              }),
            )
            .optional()
            .openapi({ description: 'What it and the agents below it wait for, the first ones.' }),
          more: z.int().optional().openapi({ description: 'How many more wait.' }),
        }),
      )
      .optional()
      .openapi({ description: 'Agents that run as children of this turn.' }),
    queued: z.int().openapi({ description: 'Messages that wait for this one’s end.' }),
    usage: USAGE,
  })
  .openapi('TurnStatus') as unknown as z.ZodType<TurnStatus>;

export const SESSION_STATUS = z
  .object({ status: z.union([TURN_STATUS, z.null()]).openapi({ description: 'Null where no turn runs.' }) })
  .openapi('SessionStatus');

const LINKS = z
  .object({
    result: z.string(),
    events: z.string(),
    receipt: z.string(),
    session: z.string(),
    ui: z.string().optional().openapi({ description: 'The run in the Temporal UI, where that is known.' }),
  })
  .openapi('TurnLinks', { description: 'Paths of this gateway, and a page of the Temporal UI.' });

const TURN_FIELDS = {
  workflowId: z.string(),
  runId: z.string().openapi({ description: 'The run that the message was given to.' }),
  invocationId: z.string(),
  messageId: z.string(),
  taskQueue: z.string(),
  attached: z.boolean().openapi({ description: 'The turn was under way already.' }),
  disposition: z.enum(['started', 'attached', 'sent']),
  links: LINKS,
};

export const ENDED_TURN = z.looseObject({ ...TURN_FIELDS, result: TURN_RESULT }).openapi('EndedTurn');

export const RUNNING_TURN = z
  .looseObject({
    ...TURN_FIELDS,
    status: TURN_STATUS.optional().openapi({
      description: 'How the session’s running turn stands: of another invocation where this message waits.',
    }),
    reason: z.string().optional().openapi({ description: 'Why there is no status.' }),
  })
  .openapi('RunningTurn');

export const SEND_MESSAGE = bodyOf({
  message: z.union([z.string(), CONTENT], {
    error: expected("text, or a Content { role: 'user', parts: [{ text }] }"),
  }) as unknown as z.ZodType<string | Content>,
  messageId: name('One message id is one turn, for ever. Defaults to a random one.').optional(),
  policy: z
    .enum(['enqueue', 'interrupt', 'reject'], { error: expected("'enqueue', 'interrupt' or 'reject'") })
    .optional()
    .openapi({ default: 'enqueue', description: 'What it does while the session answers another message.' }),
  agent: text(
    'Who answers: any agent, sub-agents included. Defaults to whoever of the tree has to go on.',
  ).nullish(),
  rootAgent: text(
    'Root of the tree that answers where no `agent` is named. Defaults to the app’s.',
  ).nullish(),
  stateDelta: record('State that the message’s event carries.')
    .nullish()
    .openapi({ type: ['object', 'null'] }),
  runConfig: z
    .looseObject(
      {
        maxLlmCalls: z
          .int({ error: expected('a whole number') })
          .nullish()
          .openapi({ default: 500, ...SAFE }),
        streamingMode: z
          .enum(['none', 'sse'], { error: expected("'none' or 'sse'") })
          .nullish()
          .openapi({
            default: 'none',
            description: '`sse` asks the model for a stream, so that followers get text as it comes.',
          }),
        pauseOnToolCalls: z
          .boolean({ error: expected('true or false') })
          .nullish()
          .openapi({
            default: false,
            description: 'The turn ends with any calls; their responses come with the next message.',
          }),
        customMetadata: record('Written on the event of the message; at most 16 KiB of JSON.')
          .nullish()
          .openapi({ type: ['object', 'null'] }),
      },
      { error: expected('an object') },
    )
    .nullish(),
  attestation: text('A compact JWS that proves who sends it.').nullish(),
  priority: z
    .int({ error: expected('a whole number from 1 to 5') })
    .min(1, { error: expected('a whole number from 1 to 5') })
    .max(5, { error: expected('a whole number from 1 to 5') })
    .nullish()
    .openapi({ default: 3, description: 'Whose work the workers do first: 1 comes before 5.' }),
}).openapi('SendMessage');

export const RECEIPT = z
  .looseObject({
    confirmed: z
      .boolean()
      .openapi({ description: 'False: it is in a history, and no worker has said so yet.' }),
    status: z.enum(['running', 'queued', 'finished', 'rejected', 'queue full', 'duplicate', 'accepted']),
    messageId: z.string().optional(),
    invocationId: z.string().optional(),
    position: z.int().optional().openapi({ description: 'Of a queued message: 1 is the next one.' }),
    reason: z.string().optional(),
    replies: z
      .array(z.looseObject({ requestId: z.string(), status: z.string() }))
      .optional()
      .openapi({ description: 'What became of the answers to requests that the message carried.' }),
    jobs: z
      .array(z.looseObject({ jobId: z.string(), status: z.string(), job: z.string() }))
      .optional()
      .openapi({ description: 'What became of the responses to calls that wait for their jobs.' }),
  })
  .openapi('Receipt');

export const TURN_BODY = z
  .looseObject({
    ...TURN_FIELDS,
    receipt: RECEIPT.optional().openapi({
      description:
        'Of a message that only has answers for the turn that waits: what became of it. The turn is that one.',
    }),
  })
  .openapi('Turn');

export const INTERRUPT = bodyOf({
  reason: text('Told to the model, up to 500 characters of it.').optional(),
  invocationId: text('Ends this turn only. Defaults to whichever runs.').optional(),
}).openapi('Interrupt');

export const CANCEL_CALL = bodyOf({
  callKey: text('Names the call; or `callId` does.').optional(),
  callId: text('The wire’s id of the call, where one open call only has it.').optional(),
  reason: text('Told to the model, up to 500 characters of it.').optional(),
}).openapi('CancelCall');

export const STEERED = z
  .looseObject({
    confirmed: z.boolean().openapi({
      description:
        'False: the order is in the run’s history, and counts as soon as a worker takes the run up.',
    }),
    v: z.int().optional(),
    invocationId: z.string().optional(),
    callKey: z.string().optional(),
    status: z.string().optional(),
    reason: z.string().optional().openapi({ description: 'Says whether a worker polls the task queue.' }),
  })
  .openapi('Steered');

export const RETRY_TURN = bodyOf({
  callKey: text('Key of the call that runs anew, with all that came after its step.'),
}).openapi('RetryTurn');
