import { createRoute, z } from '@hono/zod-openapi';
import { guarded } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { json, problems } from '../schemas/answers.ts';
import { AUDIT, AUDITED } from '../schemas/approvals.ts';
import { SESSION, SESSION_PATH, sessionNames } from '../schemas/path-parts.ts';

const tags = ['Approvals'];

const AUDIT_PATH = z.object({
  id: z.string().openapi({
    param: { name: 'id', in: 'path' },
    description: 'The store’s id of a session, which may be deleted.',
  }),
});

/** What is recorded of a session's requests, and whether it holds. */
export function auditRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { approvals } = setting.options.client;
  app.openapi(
    createRoute({
      method: 'get',
      path: `${SESSION}/audit`,
      tags,
      operationId: 'getAudit',
      summary: 'Read a session’s audit',
      description: 'A chain of hashes: each request, vote, edit and expiry is a row.',
      ...guarded(setting, 'read'),
      request: { params: SESSION_PATH },
      responses: { 200: json(AUDIT, 'Its rows, in order.'), ...problems() },
    }),
    async (context) => {
      const rows = await approvals.audit(sessionNames(context.req.valid('param')));
      return context.json({ rows: [...rows] }, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: `${SESSION}/audit/verification`,
      tags,
      operationId: 'verifyAudit',
      summary: 'Verify a session’s audit',
      ...guarded(setting, 'read'),
      request: { params: SESSION_PATH },
      responses: { 200: json(AUDITED, 'Whether the chain holds, and where it does not.'), ...problems() },
    }),
    async (context) =>
      context.json(await approvals.verifyAudit(sessionNames(context.req.valid('param'))), 200),
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/audits/{id}',
      tags,
      operationId: 'getAuditById',
      summary: 'Read the audit of a session that may be deleted',
      ...guarded(setting, 'read'),
      request: { params: AUDIT_PATH },
      responses: { 200: json(AUDIT, 'Its rows, in order.'), ...problems() },
    }),
    async (context) => {
      const rows = await approvals.audit({ session: context.req.valid('param').id });
      return context.json({ rows: [...rows] }, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/audits/{id}/verification',
      tags,
      operationId: 'verifyAuditById',
      summary: 'Verify the audit of a session that may be deleted',
      ...guarded(setting, 'read'),
      request: { params: AUDIT_PATH },
      responses: { 200: json(AUDITED, 'Whether the chain holds, and where it does not.'), ...problems() },
    }),
    async (context) =>
      context.json(await approvals.verifyAudit({ session: context.req.valid('param').id }), 200),
  );
}
