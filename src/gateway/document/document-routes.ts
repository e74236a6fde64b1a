import { createHash } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { json } from '../schemas/answers.ts';
import { documentPage, STYLE } from './document-page.ts';
import { openApiDocument } from './open-api-document.ts';

/** A page that can run nothing and load nothing; its style is told by its hash. */
const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** What the gateway says of itself: to programs, and to people. They are the same for everybody. */
export function documentRoutes(app: GatewayHono, { options }: RouteSetting): void {
  let document: ReturnType<typeof openApiDocument> | undefined;
  let page: string | undefined;
  const read = () => {
    document ??= openApiDocument(app, options.about().version);
    return document;
  };
  app.openapi(
    createRoute({
      method: 'get',
      path: '/openapi.json',
      tags: ['Gateway'],
      operationId: 'getDocument',
      summary: 'This document',
      security: [],
      responses: { 200: json(z.looseObject({ openapi: z.string() }), 'In OpenAPI 3.1.') },
    }),
    (context) => context.json({ ...read() }, 200),
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: '/docs',
      tags: ['Gateway'],
      operationId: 'getPage',
      summary: 'This document as a page',
      security: [],
      responses: { 200: { description: 'A page.', content: { 'text/html': { schema: z.string() } } } },
    }),
    (context) => {
      page ??= documentPage(read());
      context.header('content-security-policy', PAGE_POLICY);
      return context.html(page);
    },
  );
}
