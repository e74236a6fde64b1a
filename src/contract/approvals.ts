import { z } from 'zod';
import { getAudit, getAuditById, verifyAudit, verifyAuditById } from './audit.ts';
import { take } from './check.ts';
import {
  CREDENTIAL_REF,
  LONGEST_ATTESTATION,
  LONGEST_REASON,
  MOST_GIVEN_BYTES,
  RESPONSE_REF,
} from './decision-limits.ts';
import {
  duration,
  idName,
  jsonObject,
  name,
  PAGE,
  SESSION,
  SESSION_PATH,
  TIMEOUT,
  time,
  version,
  WHOSE,
  WHOSE_ON_THE_WIRE,
} from './fields.ts';
import { DEFAULT_REQUEST_STATUS, GATE_KINDS, MOST_HELD, REQUEST_STATUSES } from './lists.ts';
import { LONGEST_NAME } from './message-limits.ts';
import {
  checkOf,
  type Exact,
  type InputOf,
  type Noun,
  type Operation,
  type OperationsOf,
} from './operation.ts';
import { APPROVAL, type ApprovalRow, DECIDED, type DECISION_RECEIPT } from './requests.ts';

const requestId = name('The request, `rq-…`. URI-encoded.');
const anyJson = (description: string) => z.unknown().meta({ description });

const given = {
  'x-max-bytes': MOST_GIVEN_BYTES,
  'x-instead': 'keep it elsewhere, and say where it is',
  'x-flat': true,
};

const attestation = z
  .string()
  .min(1)
  .max(LONGEST_ATTESTATION)
  .meta({ description: 'A compact JWS that proves who decides.', 'x-expected': 'a compact JWS' })
  .optional();

const REASON = z.string().max(LONGEST_REASON);

const RESPONSE = z.unknown().meta({
  ...given,
  description: 'The answer; the request’s schema says what it may be.',
  'x-expected': 'JSON; null is a value, too',
});

/** The problem of a decision's reason, the same in all channels; undefined without a problem. */
export function reasonProblem(reason: string): string | undefined {
  return take(checkOf(REASON), reason).problem?.problem;
}

/** The problem of an answer to a request for input, before its own schema checks it; undefined without a problem. */
export function responseProblem(response: unknown): string | undefined {
  return take(checkOf(RESPONSE), response).problem?.problem;
}

/** A person's approval or rejection of a call. {@link decisionProblem} finds fields that don't go together. */
const CONFIRMATION = {
  confirmed: z.boolean().meta({
    description: 'True approves, false rejects.',
    'x-expected': 'true, which approves, or false, which rejects',
  }),
  withdraw: z
    .boolean()
    .optional()
    .meta({ description: 'Takes an earlier vote back; `confirmed` says which one.' }),
  args: jsonObject('All arguments of the call, in place of those that were shown.').meta(given).optional(),
  payload: anyJson('For the tool.').meta(given).optional(),
  reason: REASON.optional().meta({ description: 'Recorded; told to the model with a rejection.' }),
  attestation,
};

const INPUT = {
  response: RESPONSE,
  attestation,
};

const CREDENTIAL = {
  credentialRef: z.string().regex(CREDENTIAL_REF).meta({
    description: 'Names a stored credential, `cr-…`.',
    'x-expected': 'the credentialRef (cr-…) that credentials.put has given',
  }),
};

const ASKED = {
  shown: z
    .object({ session: name('Its `session`.'), argsDigest: name('Its `argsDigest`.') })
    .optional()
    .meta({
      description:
        'The request as the decider has seen it: where another one has its id by now, or other arguments, the answer is a 409.',
      'x-expected': '{ session, argsDigest } of the request',
    }),
  timeout: TIMEOUT,
};

/** A decider has to see the request. */
const SEES = ['read', 'approve'] as const;

const ANSWERS = {
  tag: 'Approvals',
  method: 'post',
  query: ['timeout'],
  output: DECIDED,
  errors: ['HOLDFAST_REQUEST_NOT_FOUND', 'HOLDFAST_REQUEST_NOT_PENDING', 'HOLDFAST_DECISION_REFUSED'],
} as const;

export const listApprovals = {
  name: 'approvals.list',
  id: 'listApprovals',
  tag: 'Approvals',
  summary: 'List requests to people',
  description:
    'The oldest first unless `order` says otherwise; the pending ones unless `status` says otherwise.',
  method: 'get',
  path: '/v1/approvals',
  may: { permission: SEES, of: 'query' },
  input: z.object({
    ...WHOSE,
    rootWorkflowId: name('Of this turn and the turns below it only.').optional(),
    kind: z.enum(GATE_KINDS).optional().meta({ description: 'Of this kind only.' }),
    status: z
      .array(z.enum(REQUEST_STATUSES))
      .optional()
      .meta({
        description: `Some of ${REQUEST_STATUSES.join(', ')}, separated by commas.`,
        default: DEFAULT_REQUEST_STATUS,
        'x-expected': `a list of ${REQUEST_STATUSES.join(', ')}`,
      }),
    ...PAGE,
    after: z
      .object({
        since: time('`since` of the last request of the page before.'),
        requestId: idName('`requestId` of the last request of the page before.'),
      })
      .optional(),
  }),
  wire: { ...WHOSE_ON_THE_WIRE, 'after.since': 'afterTime', 'after.requestId': 'afterRequest' },
  output: z.object({ approvals: z.array(APPROVAL) }).meta({ id: 'ApprovalList' }),
  answer: 'A page of them.',
} as const satisfies Operation;

export const getApproval = {
  name: 'approvals.get',
  id: 'getApproval',
  tag: 'Approvals',
  summary: 'Show a request',
  method: 'get',
  path: '/v1/approvals/{requestId}',
  may: { permission: SEES, of: 'request' },
  absent: 'HOLDFAST_REQUEST_NOT_FOUND',
  input: z.object({ requestId }),
  output: APPROVAL,
  answer: 'The request, by now.',
} as const satisfies Operation;

export const getSessionApproval = {
  name: 'approvals.get',
  id: 'getSessionApproval',
  tag: 'Approvals',
  summary: 'Show a session’s request',
  description:
    'The only pending one, or that of a call: its pending one, or the latest that it made. Several that fit are a 409 with their ids.',
  method: 'get',
  path: `${SESSION_PATH}/approval`,
  may: { permission: SEES, of: 'path' },
  input: z.object({
    ...SESSION,
    requestId: name('Names the request; or its call does.').optional(),
    callKey: name('Key of the call that asks.').optional(),
    callId: name('The wire’s id of the call.').optional(),
  }),
  wire: WHOSE_ON_THE_WIRE,
  absent: 'HOLDFAST_REQUEST_NOT_FOUND',
  output: APPROVAL,
  answer: 'The request, by now.',
  errors: ['HOLDFAST_AMBIGUOUS_REQUEST'],
} as const satisfies Operation;

export const confirmRequest = {
  ...ANSWERS,
  name: 'approvals.confirm',
  id: 'confirmRequest',
  summary: 'Approve or reject a call',
  description: 'With several voters a decision is a vote. The same decision again changes nothing.',
  path: '/v1/approvals/{requestId}/confirm',
  may: { permission: 'approve', of: 'request' },
  input: z.object({ requestId, ...CONFIRMATION, ...ASKED }),
  answer: 'The outcome of the decision.',
} as const satisfies Operation;

export const provideInput = {
  ...ANSWERS,
  name: 'approvals.provideInput',
  id: 'provideInput',
  summary: 'Answer a request for input',
  path: '/v1/approvals/{requestId}/provide-input',
  may: { permission: 'approve', of: 'request' },
  input: z.object({ requestId, ...INPUT, ...ASKED }),
  answer: 'The outcome of the answer.',
} as const satisfies Operation;

export const provideCredential = {
  ...ANSWERS,
  name: 'approvals.provideCredential',
  id: 'provideCredential',
  summary: 'Answer a request for a credential',
  description: 'With one that was stored before.',
  path: '/v1/approvals/{requestId}/provide-credential',
  may: { permission: 'approve', of: 'request' },
  input: z.object({ requestId, ...CREDENTIAL, ...ASKED }),
  answer: 'The outcome of the answer.',
} as const satisfies Operation;

/** Names a request; no name at all fits the only one. */
const REQUEST = {
  v: version(),
  requestId: idName().optional(),
  callKey: idName().optional(),
  callId: idName().optional(),
};

/** By their methods; routes of the gateway stand in this order. */
export const APPROVALS = {
  list: listApprovals,
  get: [getApproval, getSessionApproval],
  confirm: confirmRequest,
  provideInput,
  provideCredential,
  audit: [getAudit, getAuditById],
  verifyAudit: [verifyAudit, verifyAuditById],
} as const satisfies Noun;
export type ApprovalOperation = OperationsOf<typeof APPROVALS>;

/** A request, as a client names it: by one of them. */
export const NAMED_REQUEST = z.object({
  requestId: name('The request.', LONGEST_NAME).optional(),
  callKey: name('Key of the call that asks.', LONGEST_NAME).optional(),
  callId: name('The wire’s id of the call.', LONGEST_NAME).optional(),
});

/** Payload of the update `expireRequest`, and of others that name the request. */
export const REQUEST_NAME = z.object(REQUEST);

/** Payload of the signal `holdfast.hold`. It gives no right: whether there is such a question, and what answers it, says the store. */
export const HELD_QUESTION = z.object({
  v: version(),
  callKey: idName('The call, whose activity is under way.'),
  n: z.int().min(1).max(MOST_HELD).meta({ description: 'Number of the question within the call.' }),
  hint: z.string().max(200).optional().meta({ description: 'For operators.' }),
  expiresIn: duration('Until it is too late for an answer.').optional(),
  concealed: z.boolean().optional(),
  notifies: z.boolean().optional(),
  notifiesEnd: z.boolean().optional(),
  ends: z
    .enum(['expired', 'cancelled'])
    .optional()
    .meta({ description: 'It has ended so, if it was still open.' }),
});

const session = idName('The store’s id of the session whose request was shown.').optional();

/** Payload of the signal and the update `confirm`. */
export const CONFIRM_PAYLOAD = z.object({ ...REQUEST, session, ...CONFIRMATION });

/** Payload of the signal and the update `provideInput`: one of the two is the answer. */
export const INPUT_PAYLOAD = z.object({
  ...REQUEST,
  session,
  ...INPUT,
  response: INPUT.response.optional(),
  responseRef: z
    .string()
    .regex(RESPONSE_REF)
    .optional()
    .meta({ 'x-expected': 'a reference to an answer in the store, ri-…, as the client makes it' }),
});

/** Names a request: by its own id, or by its call where that has one pending request. No name at all fits the only pending one. */
export type RequestName = Exact<z.output<typeof NAMED_REQUEST>>;
export type Confirm = Exact<z.output<typeof CONFIRM_PAYLOAD>>;
export type ProvideInput = Exact<z.output<typeof INPUT_PAYLOAD>>;
export type HeldQuestion = Exact<z.output<typeof HELD_QUESTION>>;
export type ListApprovals = Partial<InputOf<typeof listApprovals>>;
/** Which request somebody has seen: of which session, and with which arguments. Fields of `ApprovalRow`. */
export type ShownRequest = Exact<NonNullable<z.output<typeof ASKED.shown>>>;
export type ConfirmOptions = Omit<InputOf<typeof confirmRequest>, 'requestId'>;
export type ProvideInputOptions = Omit<InputOf<typeof provideInput>, 'requestId'>;
export type ProvideCredentialOptions = Omit<InputOf<typeof provideCredential>, 'requestId'>;
/** The person or key that has decided. */
export type Voter = ApprovalRow['votes'][number]['by'];
/** Answer of the updates `confirm`, `provideInput` and `provideCredential`. */
export type DecisionReceipt = Exact<z.output<typeof DECISION_RECEIPT>>;
