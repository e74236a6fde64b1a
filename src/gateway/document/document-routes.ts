import { z } from 'zod';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { openApiDocument } from './open-api-document.ts';

/** The document of the routes. Everybody gets the same one. */
export function documentRoutes(app: GatewayHono, { options }: RouteSetting): void {
  let document: ReturnType<typeof openApiDocument> | undefined;
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
}
