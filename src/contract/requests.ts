import { z } from 'zod';
import type { AuthConfig } from '../events/event-actions.ts';
import { jsonObject, moment } from './fields.ts';
import { EXPIRY_RULES, GATE_KINDS, REQUEST_ANSWERS, REQUEST_EVENTS, REQUEST_STATUSES } from './lists.ts';
import type { Exact } from './operation.ts';

const anyJson = (description: string) => z.unknown().meta({ description });
const milliseconds = (description: string) =>
  z.number().meta({ description: `${description} Milliseconds.` });

const VOTER = z.looseObject({
  principal: z.string().meta({ description: '`unverified` without an attestation.' }),
  verified: z.boolean().meta({ description: 'By an attestation.' }),
  channel: z.string().optional().meta({ description: 'Where the decision was made: `cli`, `slack`, …' }),
  attestation: z
    .string()
    .optional()
    .meta({ description: 'Digest of the attestation, by which it is known again: one counts once.' }),
});

const TERMS = z
  .looseObject({
    approvers: z
      .array(z.string())
      .optional()
      .meta({ description: 'Those who may decide; anybody where it is left out.' }),
    quorum: z
      .int()
      .optional()
      .meta({ description: 'Approvals of different people that it takes.', default: 1 }),
    expiresIn: milliseconds(
      'From its beginning to its expiry; it never expires where it is left out.',
    ).optional(),
    onExpiry: z
      .enum(EXPIRY_RULES)
      .optional()
      .meta({ description: 'Effect of an expiry.', default: 'reject' }),
    escalateAfter: milliseconds('From its beginning until those of `escalateTo` may decide, too.').optional(),
    escalateTo: z.array(z.string()).optional(),
    allowEdit: z.boolean().optional().meta({ description: 'An approval may change the arguments.' }),
    notRequester: z.boolean().optional().meta({ description: 'The sender of the message may not decide.' }),
  })
  .meta({ description: 'Deciders and deadline of the request.' });

const HISTORY = z
  .array(
    z.looseObject({
      entryId: z.string(),
      kind: z.enum(REQUEST_EVENTS).meta({ description: '`refused`: a decision that does not count.' }),
      at: moment(),
      by: VOTER.optional(),
      confirmed: z
        .boolean()
        .optional()
        .meta({ description: 'Of a vote, or of a decision that was refused.' }),
      reason: z
        .string()
        .optional()
        .meta({ description: 'The person’s words, or why the decision does not count.' }),
    }),
  )
  .meta({
    description: 'Its steps, the oldest first; of the decisions that do not count the newest 20.',
  });

export const APPROVAL = z
  .looseObject({
    requestId: z.string(),
    ...{ app: z.string(), userId: z.string(), sessionId: z.string() },
    session: z.string().meta({
      description:
        'The store’s id of the session, which no other one ever has: attestations and audits name it.',
    }),
    invocationId: z.string().meta({ description: 'The turn that waits, or has waited.' }),
    runKey: z.string().meta({ description: 'The run of the agent that asks.' }),
    workflowId: z.string().meta({ description: 'The workflow that waits for the answer.' }),
    rootWorkflowId: z.string().meta({ description: 'The workflow of the session’s turn.' }),
    kind: z.enum(GATE_KINDS),
    status: z.enum(REQUEST_STATUSES),
    ...{ callKey: z.string(), callId: z.string(), tool: z.string(), agent: z.string() },
    path: z.array(z.string()).meta({ description: 'Agents from the root to the one that asks.' }),
    hint: z.string().meta({ description: 'For people.' }),
    payload: anyJson('Data that the tool shows beside the hint.').optional(),
    args: jsonObject('Arguments of the call; sensitive ones are masked.'),
    argsDigest: z
      .string()
      .meta({ description: 'Digest of the unmasked arguments; an attestation is over it.' }),
    gateDigest: z.string().meta({
      description: 'Of how the tool asks, and of its parameters: a tool that has changed since is not run.',
    }),
    sensitive: z
      .union([z.boolean(), z.array(z.string())])
      .meta({ description: 'Names of arguments that are masked; true where all are, and the result.' }),
    terms: TERMS,
    responseSchema: anyJson('Of an input: JSON Schema of the response.').optional(),
    authConfig: z
      .custom<AuthConfig>()
      .optional()
      .meta({ type: 'object', description: 'Of a credential: without secrets.' }),
    requester: z.string().optional().meta({ description: 'Attested sender of the message.' }),
    since: moment(),
    until: moment('When it expires.').optional(),
    escalatedAt: moment().optional(),
    decidedAt: moment().optional(),
    votes: z
      .array(
        z.looseObject({
          ...{ by: VOTER, confirmed: z.boolean(), at: moment() },
          of: z.string().optional().meta({
            description:
              'Equal for approvals of the same arguments with the same payload: only those add up.',
          }),
        }),
      )
      .meta({ description: 'Decisions that count by now, in order, without those that were taken back.' }),
    history: HISTORY,
    reason: z.string().optional().meta({ description: 'That of the decision.' }),
    editedArgs: jsonObject(
      'Arguments that an approval has put in place of `args`; sensitive ones are masked.',
    ).optional(),
    answerPayload: anyJson('Payload of the decision, for the tool.').optional(),
    response: anyJson('The answer to a request for input; masked where it is sensitive.').optional(),
    responseRef: z
      .string()
      .optional()
      .meta({ description: 'Names a response that was kept in the store before it was sent.' }),
    credentialRef: z
      .string()
      .optional()
      .meta({ description: 'Names the stored credential that answers it; no secret.' }),
  })
  .meta({ id: 'Approval', description: 'A request to a person, by now.' });

const DECISION_STATUSES = [
  ...REQUEST_ANSWERS,
  ...(['counted', 'withdrawn', 'duplicate', 'kept', 'forwarded'] as const),
] as const;

const RECEIPT = {
  ...{ v: z.int(), requestId: z.string(), callKey: z.string() },
  workflowId: z
    .string()
    .optional()
    .meta({ description: 'Workflow of the agent that the decision was forwarded to.' }),
  reason: z.string().optional(),
  approvals: z.int().optional().meta({ description: 'So far, of a request that takes several.' }),
  quorum: z.int().optional().meta({ description: 'How many approvals it takes.' }),
};

const STATUS =
  '`approved`, `rejected`, `answered`: the request is closed by this. `counted`: a vote, more are needed. `withdrawn`: a vote was taken back. `duplicate`: the same was said before. `kept`: the request is not there yet, and is decided by this once it is. `forwarded`: it was sent on to the agent that has asked.';

/** The outcome of a decision, or of an answer in a message. */
export const DECISION_RECEIPT = z.looseObject({
  ...RECEIPT,
  status: z
    .enum([...DECISION_STATUSES, 'refused'])
    .meta({ description: `${STATUS} \`refused\`: it does not count; \`reason\` says why.` }),
});

/** A refusal is an error; without a worker the answer is only `confirmed`. */
export const DECIDED = z
  .looseObject({
    confirmed: z.boolean().meta({
      description: 'False: the decision is in the run’s history, and counts as soon as a worker takes it up.',
    }),
    ...z.object(RECEIPT).partial().shape,
    status: z.enum(DECISION_STATUSES).optional().meta({ description: STATUS }),
  })
  .meta({ id: 'Decision' });

export type GateKind = (typeof GATE_KINDS)[number];
export type RequestStatus = (typeof REQUEST_STATUSES)[number];
/** Decides about a request without an answer in time. */
export type OnExpiry = (typeof EXPIRY_RULES)[number];
/** Rules of a request's decision; durations in milliseconds. */
export type ApprovalTerms = Exact<z.output<typeof TERMS>>;
/** A request by now. */
export type ApprovalRow = Exact<z.output<typeof APPROVAL>>;
/** An entry of a request's history, without what the person gave. */
export type RecordedEntry = ApprovalRow['history'][number];
