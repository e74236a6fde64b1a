import { z } from '@hono/zod-openapi';

const moment = z.number().openapi({ description: 'Milliseconds since the epoch.' });

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
