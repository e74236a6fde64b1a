import { z } from 'zod';
import type { Content } from '../events/content.ts';
import { take } from './check.ts';
import { LONGEST_ATTESTATION } from './decision-limits.ts';
import { jsonObject, name, SESSION, SESSION_PATH, TIMEOUT, version, WHOSE_ON_THE_WIRE } from './fields.ts';
import { JOB_RECEIPT } from './jobs.ts';
import { MESSAGE_POLICIES, RECEIPT_STATUSES } from './lists.ts';
import { LONGEST_NAME, MOST_METADATA_BYTES, MOST_PARTS } from './message-limits.ts';
import { checkOf, type Operation } from './operation.ts';
import { DECISION_RECEIPT } from './requests.ts';

export const TURN_PATH = `${SESSION_PATH}/turns/{messageId}`;

const FLAT = { 'x-flat': true };

/** Fields that are null are left out, as other languages' serialisers write them. */
const WITHOUT_NULLS = { 'x-without-nulls': true };

const RESPONSE_ID = z
  .string()
  .nullish()
  .meta({ description: 'Of its call.', 'x-expected': 'the id of its call, text' });

/** A message to an agent; `responseId` is the id of a checked function response. */
function content(responseId: { id?: typeof RESPONSE_ID }) {
  const response = z.looseObject({
    ...responseId,
    name: z.string().min(1).meta({ 'x-expected': 'the name of its function' }),
    response: jsonObject('Content for the model.').meta({ 'x-expected': 'an object as its response' }),
  });
  return z.looseObject({
    text: z.string().nullish(),
    functionCall: z.null().optional().meta({
      'x-expected': 'null, since a message carries no function calls,',
    }),
    functionResponse: response.nullish(),
  });
}

function message(responseId: { id?: typeof RESPONSE_ID }) {
  const part = content(responseId).meta({
    description: 'A part as the Gemini API has it: text, inlineData, fileData, functionResponse, …',
    minProperties: 1,
    'x-expected': 'a part with at least one field',
    ...WITHOUT_NULLS,
  });
  const said = z
    .looseObject({
      role: z.literal('user').optional().meta({ 'x-expected': "'user'" }),
      parts: z.array(part).min(1).max(MOST_PARTS).meta({ 'x-expected': 'at least one part' }),
    })
    .meta(WITHOUT_NULLS);
  return z.union([z.string().regex(/\S/u), said as unknown as z.ZodType<Content>]).meta({
    description: 'Text means one part.',
    'x-expected': "text that isn’t blank, or a Content { role: 'user', parts: [{ text }] }",
    ...FLAT,
  });
}

const SAID = message({ id: RESPONSE_ID });

/** Any message, of clients and callbacks: not everybody who can write to Temporal is a client. */
const READ_MESSAGE = z.object({
  message: z
    .union([
      z.string(),
      z.looseObject({
        parts: z
          .array(content({ id: RESPONSE_ID }).meta({ 'x-expected': 'a part' }))
          .max(MOST_PARTS)
          .meta({ 'x-expected': 'a list of parts' }),
      }),
    ])
    .meta({ 'x-expected': 'text or a Content { role, parts }', ...FLAT }),
  stateDelta: z.unknown().optional().meta(FLAT),
});

/** The part of a message that no step of its session could read; undefined without a problem. */
export function unreadable(message: unknown, stateDelta?: unknown): string | undefined {
  const { problem } = take(checkOf(READ_MESSAGE), { message, stateDelta });
  return problem && `${problem.field}: ${problem.problem}`;
}

const RUN_CONFIG = z
  .object({
    maxLlmCalls: z.int().nullish().meta({
      description: 'Model calls that the turn may make; 0 or less means no limit.',
      default: 500,
    }),
    streamingMode: z.enum(['none', 'sse']).nullish().meta({
      description: '`sse` asks the model for a stream, so that followers get text as it comes.',
      default: 'none',
    }),
    pauseOnToolCalls: z.boolean().nullish().meta({
      description: 'The turn ends with any calls; their responses come with the next message.',
      default: false,
    }),
    customMetadata: jsonObject('Written on the event of the message; at most 16 KiB of JSON.')
      .meta({ 'x-max-bytes': MOST_METADATA_BYTES, ...FLAT })
      .nullish(),
  })
  .meta({ 'x-leaves-out': true });

/** Fields of every message, however it comes. */
export const MESSAGE_TERMS = {
  agent: name(
    'Agent that answers, sub-agents included. Defaults to the agent of the tree whose turn it is.',
    LONGEST_NAME,
  ).nullish(),
  rootAgent: name(
    'Root of the tree that answers where no `agent` is named. Defaults to the app’s.',
    LONGEST_NAME,
  ).nullish(),
  stateDelta: jsonObject('State that the message’s event carries.').nullish().meta(FLAT),
  runConfig: RUN_CONFIG.nullish(),
  attestation: z
    .string()
    .min(1)
    .max(LONGEST_ATTESTATION)
    .meta({ description: 'A compact JWS that proves who sends it.', 'x-expected': 'a compact JWS' })
    .nullish(),
  priority: z
    .int()
    .min(1)
    .max(5)
    .meta({
      description: 'Priority for the workers: 1 comes before 5.',
      default: 3,
      'x-expected': 'a whole number from 1, which goes first, to 5',
    })
    .nullish(),
};

const messageId = name('One message id is one turn, for ever. Defaults to a random one.', LONGEST_NAME);

const policy = z.enum(MESSAGE_POLICIES).nullish().meta({
  description: 'Effect on a session that answers another message.',
  default: 'enqueue',
});

/** Fields that cross Temporal with the content of a message or in its place. */
export const SENT_CONTENT = {
  v: version(),
  message: message({}).optional(),
  stored: z
    .object({ digest: z.string(), bytes: z.number() })
    .optional()
    .meta({ 'x-expected': '{ digest, bytes } of a message in the store' }),
  ...MESSAGE_TERMS,
  /** A malformed one is ignored. */
  traceparent: z.custom<string>().optional(),
};

/** Payload of the signal and the update `sendMessage`. */
export const MESSAGE_PAYLOAD = z.object({
  ...SENT_CONTENT,
  messageId,
  policy,
  /** Names a part that a workflow sends on; a malformed one is ignored. */
  partOf: z.custom<object>().optional().meta(FLAT),
});

/** The names of a message, valid or not. */
export const NAMED_MESSAGE = z.object({ messageId });

export const RECEIPT = z
  .looseObject({
    v: z.int().optional(),
    confirmed: z.boolean().meta({ description: 'False: it is in a history, and no worker has said so yet.' }),
    status: z.enum([...RECEIPT_STATUSES, 'accepted']),
    messageId: z.string().optional(),
    invocationId: z.string().optional(),
    position: z.int().optional().meta({ description: 'Of a queued message: 1 is the next one.' }),
    reason: z.string().optional(),
    replies: z
      .array(DECISION_RECEIPT)
      .optional()
      .meta({ description: 'Outcomes of the message’s answers to requests.' }),
    jobs: z
      .array(JOB_RECEIPT)
      .optional()
      .meta({ description: 'Outcomes of the message’s responses to calls that wait for jobs.' }),
  })
  .meta({ id: 'Receipt' });

const LINKS = z
  .object({
    result: z.string(),
    events: z.string(),
    receipt: z.string(),
    session: z.string(),
    ui: z.string().optional().meta({ description: 'The run in the Temporal UI, where that is known.' }),
  })
  .meta({ id: 'TurnLinks', description: 'Paths of this gateway, and a page of the Temporal UI.' });

/** A gateway's description of a message's turn. */
export const TURN_FIELDS = {
  workflowId: z.string(),
  runId: z.string().meta({ description: 'The run that the message was given to.' }),
  invocationId: z.string(),
  messageId: z.string(),
  taskQueue: z.string(),
  attached: z.boolean().meta({ description: 'The turn was under way already.' }),
  disposition: z.enum(['started', 'attached', 'sent']),
  links: LINKS,
};

export const TURN = z
  .looseObject({
    ...TURN_FIELDS,
    receipt: RECEIPT.optional().meta({
      description: 'Outcome of a message that only answers the waiting turn. The turn is that one.',
    }),
  })
  .meta({ id: 'Turn' });

export const sendMessage = {
  name: 'sendMessage',
  id: 'sendMessage',
  tag: 'Turns',
  summary: 'Send a message, which a turn answers',
  description:
    'The message is kept when this answers. One message id is one turn, for ever: sending it again attaches to its turn. A message that only answers requests, or has the responses that calls wait for, goes to the turn that waits; answering requests needs the permission to approve, too, and ending jobs that to operate.',
  method: 'post',
  path: `${SESSION_PATH}/messages`,
  may: { permission: 'run', of: 'path' },
  // As many as the gateway takes.
  mostBytes: Number.POSITIVE_INFINITY,
  // One message id is one turn.
  repeats: true,
  input: z.object({
    ...SESSION,
    message: SAID,
    messageId: messageId.meta({ 'x-path-part': true }).optional(),
    policy,
    ...MESSAGE_TERMS,
  }),
  wire: WHOSE_ON_THE_WIRE,
  output: TURN,
  answer: 'The turn, and where its result and events are.',
  status: 202,
  errors: ['HOLDFAST_MESSAGE_REJECTED', 'HOLDFAST_NO_ANSWER'],
} as const satisfies Operation;

export const SENT_MESSAGE = {
  ...SESSION,
  messageId: name('The id of the message that the turn answers. URI-encoded.', LONGEST_NAME),
};

export const MESSAGE_NAMES = z.object(SENT_MESSAGE);

export const getReceipt = {
  name: 'receipt',
  id: 'getReceipt',
  tag: 'Turns',
  summary: 'Ask for the outcome of a message',
  method: 'get',
  path: `${TURN_PATH}/receipt`,
  may: { permission: 'read', of: 'path' },
  input: z.object({ ...SENT_MESSAGE, timeout: TIMEOUT }),
  wire: WHOSE_ON_THE_WIRE,
  output: RECEIPT,
  answer: 'The known outcome.',
  errors: ['HOLDFAST_MESSAGE_REJECTED'],
} as const satisfies Operation;

/** Effect of a message on a session that answers another one. */
export type MessagePolicy = (typeof MESSAGE_POLICIES)[number];
/** Outcome of a message. */
export type MessageStatus = (typeof RECEIPT_STATUSES)[number];
