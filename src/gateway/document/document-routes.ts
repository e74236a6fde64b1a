import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
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

/** Routes of the documents for programs and for people. Everybody gets the same ones. */
export function documentRoutes(app: GatewayHono, { options }: RouteSetting): void {
  let document: ReturnType<typeof openApiDocument> | undefined;
  let page: string | undefined;
  const read = () => {
    document ??= openApiDocument(app.document, options.about().version);
    return document;
  };
  const open = { tags: ['Gateway'], security: [] };
  app.document.addRoute('get', '/openapi.json', {
    ...open,
    operationId: 'getDocument',
    summary: 'This document',
    responses: { 200: app.document.json(z.looseObject({ openapi: z.string() }), 'In OpenAPI 3.1.') },
  });
  app.get('/openapi.json', (context) => context.json(read()));
  app.document.addRoute('get', '/docs', {
    ...open,
    operationId: 'getPage',
    summary: 'This document as a page',
    responses: { 200: { description: 'A page.', content: { 'text/html': { schema: { type: 'string' } } } } },
  });
  app.get('/docs', (context) => {
    page ??= documentPage(read());
    context.header('content-security-policy', PAGE_POLICY);
    return context.html(page);
  });
}
