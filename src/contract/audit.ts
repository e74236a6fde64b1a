import { z } from 'zod';
import { jsonObject, moment, name, SESSION, SESSION_PATH, WHOSE_ON_THE_WIRE } from './fields.ts';
import { AUDITED_EVENTS } from './lists.ts';
import type { Exact, Operation } from './operation.ts';

const below = z.string().optional().meta({
  description: 'Of the session that an agent’s tool has made below: its id. It has a chain of its own.',
});

const AUDIT_ROW = z
  .looseObject({
    n: z.int().meta({ description: 'From 1, gapless within a session.' }),
    at: moment(),
    kind: z.enum(AUDITED_EVENTS),
    facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).meta({
      description:
        'Those of a request have the digest of its content: `contentDigest`, SHA-256, hex, of a salt and the content in the text that the store keeps.',
    }),
    content: jsonObject(
      'Of a request only: texts of people and tools, sensitive values masked; deleted with the session.',
    ).optional(),
    hash: z.string().meta({
      description:
        'SHA-256, hex, of the canonical JSON (keys sorted, no white space) of `[hash of the row before, or "", internal id of the session, n, at, kind, facts]`.',
    }),
    sessionId: below,
  })
  .meta({
    id: 'AuditRow',
    description:
      'An event of a session or of one of its requests. Rows stay after the deletion of the session, without content.',
  });

const AUDIT = z.object({ rows: z.array(AUDIT_ROW) }).meta({ id: 'Audit' });

const AUDIT_PROBLEMS = z.array(z.object({ n: z.int(), problem: z.string(), sessionId: below }));

const AUDITED = z
  .object({
    ...{ ok: z.boolean(), problems: AUDIT_PROBLEMS },
    rows: z.int().meta({ description: 'Rows that were looked at.' }),
    unchecked: AUDIT_PROBLEMS.optional().meta({
      description: 'Signatures whose key is unknown by now; absent when all keys are known.',
    }),
  })
  .meta({ id: 'AuditVerification' });

const READS_AUDIT = {
  name: 'approvals.audit',
  tag: 'Approvals',
  method: 'get',
  output: AUDIT,
  answer: 'Its rows, in order.',
} as const;

const VERIFIES_AUDIT = {
  name: 'approvals.verifyAudit',
  tag: 'Approvals',
  method: 'get',
  output: AUDITED,
  answer: 'Whether the chain holds, and where it does not.',
} as const;

const OF_SESSION = { input: z.object(SESSION), wire: WHOSE_ON_THE_WIRE } as const;

const BY_STORE_ID = {
  input: z.object({ session: name('The store’s id of a session, which may be deleted.') }),
  wire: { session: 'id' },
} as const;

export const getAudit = {
  ...{ ...READS_AUDIT, ...OF_SESSION },
  id: 'getAudit',
  summary: 'Read a session’s audit',
  description: 'A chain of hashes: each request, vote, edit and expiry is a row.',
  path: `${SESSION_PATH}/audit`,
  may: { permission: 'read', of: 'path' },
} as const satisfies Operation;

export const verifyAudit = {
  ...{ ...VERIFIES_AUDIT, ...OF_SESSION },
  id: 'verifyAudit',
  summary: 'Verify a session’s audit',
  path: `${SESSION_PATH}/audit/verification`,
  may: { permission: 'read', of: 'path' },
} as const satisfies Operation;

export const getAuditById = {
  ...{ ...READS_AUDIT, ...BY_STORE_ID },
  id: 'getAuditById',
  summary: 'Read the audit of a session that may be deleted',
  path: '/v1/audits/{id}',
  may: { permission: 'read', of: 'path' },
} as const satisfies Operation;

export const verifyAuditById = {
  ...{ ...VERIFIES_AUDIT, ...BY_STORE_ID },
  id: 'verifyAuditById',
  summary: 'Verify the audit of a session that may be deleted',
  path: '/v1/audits/{id}/verification',
  may: { permission: 'read', of: 'path' },
} as const satisfies Operation;

/** An event of a session or of one of its requests. Rows of a session are chained by their hashes. */
export type AuditRow = Exact<z.output<typeof AUDIT_ROW>>;
/** Whether an audit's chain holds, and its signatures. */
export type AuditVerification = Exact<z.output<typeof AUDITED>>;
/** A failed check, with the number of its row, and the name of a session below the one that was asked for. */
export type AuditProblem = AuditVerification['problems'][number];
