import { z } from '@hono/zod-openapi';
import type { Confirmed } from '../../client/turns/steering.ts';
import type { DecisionReceipt, RequestStatus } from '../../protocol/gate.ts';
import type { ApprovalRow } from '../../store/approvals/approval-store.ts';
import { expected } from '../request-problems.ts';
import { bodyOf, record, text, time, wholeNumber } from './fields.ts';

const STATUSES = ['pending', 'approved', 'rejected', 'answered', 'expired', 'cancelled'] as const;
const KINDS = ['confirmation', 'credential', 'input'] as const;

/** Any JSON. */
function json(description: string) {
  return z.unknown().openapi({ description });
}

const VOTER = z.looseObject({
  principal: z.string().openapi({ description: '`unverified` without an attestation.' }),
  verified: z.boolean(),
  channel: z.string().optional(),
});

const moment = z.number().openapi({ description: 'Milliseconds since the epoch.' });

export const APPROVAL = z
  .looseObject({
    requestId: z.string(),
    ...{ app: z.string(), userId: z.string(), sessionId: z.string() },
    session: z.string().openapi({
      description:
        'The store’s id of the session, which no other one ever has: what an attestation is over, and what an audit is read by.',
    }),
    invocationId: z.string().openapi({ description: 'The turn that waits, or has waited.' }),
    kind: z.enum(KINDS),
    status: z.enum(STATUSES),
    callKey: z.string(),
    callId: z.string(),
    tool: z.string(),
    agent: z.string(),
    path: z.array(z.string()).openapi({ description: 'Agents from the root to the one that asks.' }),
    hint: z.string(),
    payload: json('What the tool shows beside the hint.').optional(),
    args: z
      .record(z.string(), z.unknown())
      .openapi({ description: 'Those that the call is to run with; what is sensitive is masked.' }),
    argsDigest: z
      .string()
      .openapi({ description: 'Of the arguments, unmasked: what an attestation is over.' }),
    terms: z.looseObject({}).openapi({ description: 'Who may decide, and until when.' }),
    responseSchema: json('Of an input: JSON Schema of the response.').optional(),
    authConfig: z.looseObject({}).optional().openapi({ description: 'Of a credential: without secrets.' }),
    requester: z.string().optional().openapi({ description: 'Attested sender of the message.' }),
    since: moment,
    until: moment.optional(),
    escalatedAt: moment.optional(),
    decidedAt: moment.optional(),
    votes: z.array(z.looseObject({ by: VOTER, confirmed: z.boolean(), at: moment })),
    reason: z.string().optional(),
  })
  .openapi('Approval', {
    description: 'A request to a person, by now.',
  }) as unknown as z.ZodType<ApprovalRow>;

export const APPROVAL_LIST = z.object({ approvals: z.array(APPROVAL) }).openapi('ApprovalList');

const STATUS_LIST = new RegExp(`^(${STATUSES.join('|')})(,(${STATUSES.join('|')}))*$`);

export const LIST_APPROVALS_QUERY = z.object({
  app: text('Of this app only.').optional(),
  user: text('Of this user’s sessions only.').optional(),
  session: text('Of this session only.').optional(),
  rootWorkflowId: text('Of this turn and the turns below it only.').optional(),
  kind: z
    .enum(KINDS, { error: expected(KINDS.join(', ')) })
    .optional()
    .openapi({ description: 'Of this kind only.' }),
  status: z
    .string({ error: expected('statuses') })
    .regex(STATUS_LIST, { error: expected(`some of ${STATUSES.join(', ')}, separated by commas`) })
    .transform((list) => list.split(',') as RequestStatus[])
    .optional()
    .openapi({
      type: 'string',
      pattern: STATUS_LIST.source,
      default: 'pending',
      description: `Some of ${STATUSES.join(', ')}, separated by commas.`,
    }),
  limit: wholeNumber('Requests of a page.', { min: 1, max: 1_000 }).optional().openapi({ default: 100 }),
  order: z
    .enum(['oldest', 'newest'], { error: expected('oldest or newest') })
    .optional()
    .openapi({ default: 'oldest', description: 'Which come first.' }),
  afterTime: time('`since` of the last request of the page before.').optional(),
  afterRequest: text('`requestId` of the last request of the page before.').optional(),
});

export const SESSION_APPROVAL_QUERY = z.object({
  requestId: text('Names the request; or its call does.').optional(),
  callKey: text('Key of the call that asks.').optional(),
  callId: text('The wire’s id of the call.').optional(),
});

const SHOWN = bodyOf({
  session: text('Its `session`.'),
  argsDigest: text('Its `argsDigest`.'),
})
  .optional()
  .openapi({
    description:
      'The request as the decider has seen it: where another one has its id by now, or other arguments, the answer is a 409.',
  });

export const CONFIRM_REQUEST = bodyOf({
  confirmed: z
    .boolean({ error: expected('true or false') })
    .openapi({ description: 'True approves, false rejects.' }),
  withdraw: z
    .boolean({ error: expected('true or false') })
    .optional()
    .openapi({ description: 'Takes an earlier vote back; `confirmed` says which one.' }),
  args: record('All arguments of the call, in place of those that were shown.').optional(),
  payload: json('For the tool.').optional(),
  reason: text('Recorded; told to the model with a rejection.').optional(),
  attestation: text('A compact JWS that proves who decides.').optional(),
  shown: SHOWN,
}).openapi('ConfirmRequest');

export const PROVIDE_INPUT = bodyOf({
  response: json('Checked by the request’s schema.').refine((value) => value !== undefined, {
    error: expected('JSON'),
  }),
  attestation: text('A compact JWS that proves who answers.').optional(),
  shown: SHOWN,
}).openapi('ProvideInput', { required: ['response'] });

export const PROVIDE_CREDENTIAL = bodyOf({
  credentialRef: text('Of a stored credential.'),
  shown: SHOWN,
}).openapi('ProvideCredential');

export const DECISION = z
  .looseObject({
    confirmed: z.boolean().openapi({
      description: 'False: the decision is in the run’s history, and counts as soon as a worker takes it up.',
    }),
    requestId: z.string().optional(),
    callKey: z.string().optional(),
    status: z
      .enum(['approved', 'rejected', 'answered', 'counted', 'withdrawn', 'duplicate', 'kept', 'forwarded'])
      .optional()
      .openapi({ description: '`counted` is one vote of several; `duplicate` was said before.' }),
    reason: z.string().optional(),
    approvals: z.int().optional(),
    quorum: z.int().optional(),
  })
  .openapi('Decision') as unknown as z.ZodType<Confirmed<DecisionReceipt>>;

const below = z.string().optional().openapi({
  description: 'Of the session that an agent’s tool has made below: its id. It has a chain of its own.',
});

export const AUDIT = z
  .object({
    rows: z.array(
      z.looseObject({
        n: z.int(),
        at: moment,
        kind: z.string(),
        facts: z.record(z.string(), z.unknown()),
        hash: z.string().openapi({ description: 'SHA-256 over the row before and this one.' }),
        sessionId: below,
      }),
    ),
  })
  .openapi('Audit');

const AUDIT_PROBLEMS = z.array(z.object({ n: z.int(), problem: z.string(), sessionId: below }));

export const AUDITED = z
  .object({
    ok: z.boolean(),
    rows: z.int(),
    problems: AUDIT_PROBLEMS,
    unchecked: AUDIT_PROBLEMS.optional().openapi({
      description: 'Signatures whose key is unknown by now; left out where there are none.',
    }),
  })
  .openapi('AuditVerification');
