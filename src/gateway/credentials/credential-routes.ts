import { createRoute } from '@hono/zod-openapi';
import { guarded } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { bodyProblems, json, jsonBody, problems } from '../schemas/answers.ts';
import {
  CREDENTIAL_LIST,
  PUT_CREDENTIAL,
  REMOVED_CREDENTIAL,
  STORED_CREDENTIAL,
} from '../schemas/credentials.ts';
import { APP_PATH, CREDENTIAL_PATH, USER_CREDENTIALS, USER_PATH } from '../schemas/path-parts.ts';

const tags = ['Credentials'];

/** Secrets of users, stored and removed; none is ever answered. */
export function credentialRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { credentials } = setting.options.client;
  app.openapi(
    createRoute({
      method: 'post',
      path: USER_CREDENTIALS,
      tags,
      operationId: 'putCredential',
      summary: 'Store a credential',
      description: 'Encrypted, in place of the user’s one of the same key. It can’t be read again.',
      ...guarded(setting, 'operate'),
      request: { params: USER_PATH, body: jsonBody(PUT_CREDENTIAL) },
      responses: { 201: json(STORED_CREDENTIAL, 'What names it.'), ...bodyProblems() },
    }),
    async (context) => {
      const { app: name, user: userId } = context.req.valid('param');
      const { credentialKey, credential, label } = context.req.valid('json');
      const stored = await credentials.put({
        ...{ app: name, userId, credentialKey, credential },
        ...(label === undefined ? {} : { label }),
      });
      return context.json(stored, 201);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: USER_CREDENTIALS,
      tags,
      operationId: 'listUserCredentials',
      summary: 'List a user’s credentials',
      ...guarded(setting, 'read'),
      request: { params: USER_PATH },
      responses: { 200: json(CREDENTIAL_LIST, 'Without the secrets.'), ...problems() },
    }),
    async (context) => {
      const { app: name, user: userId } = context.req.valid('param');
      return context.json({ credentials: await credentials.list({ app: name, userId }) }, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/apps/{app}/credentials',
      tags,
      operationId: 'listAppCredentials',
      summary: 'List an app’s credentials, of all users',
      ...guarded(setting, 'read'),
      request: { params: APP_PATH },
      responses: { 200: json(CREDENTIAL_LIST, 'Without the secrets.'), ...problems() },
    }),
    async (context) => {
      const { app: name } = context.req.valid('param');
      return context.json({ credentials: await credentials.list({ app: name }) }, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'delete',
      path: `${USER_CREDENTIALS}/{credentialRef}`,
      tags,
      operationId: 'removeCredential',
      summary: 'Remove a credential',
      description: 'Removing again is no error.',
      ...guarded(setting, 'operate'),
      request: { params: CREDENTIAL_PATH },
      responses: { 200: json(REMOVED_CREDENTIAL, 'It is gone.'), ...bodyProblems() },
    }),
    async (context) => {
      const { app: name, user: userId, credentialRef } = context.req.valid('param');
      return context.json({ removed: await credentials.remove({ app: name, userId, credentialRef }) }, 200);
    },
  );
}
