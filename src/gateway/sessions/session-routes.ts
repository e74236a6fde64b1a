import { createRoute } from '@hono/zod-openapi';
import { guarded, LONG_BODY } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { RouteSetting } from '../route-setting.ts';
import { bodyProblems, json, jsonBody, problems } from '../schemas/answers.ts';
import {
  APP_PATH,
  SESSION,
  SESSION_PATH,
  sessionNames,
  USER_PATH,
  USER_SESSIONS,
} from '../schemas/path-parts.ts';
import {
  CREATE_SESSION,
  DELETE_QUERY,
  DELETED,
  GET_SESSION_QUERY,
  LIST_QUERY,
  SESSION_BODY,
  SESSION_LIST,
} from '../schemas/sessions.ts';
import { demandSharedState } from './shared-state.ts';

const tags = ['Sessions'];

/** Sessions made, found, read and deleted. */
export function sessionRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { sessions } = setting.options.client;
  app.openapi(
    createRoute({
      method: 'post',
      path: USER_SESSIONS,
      tags,
      operationId: 'createSession',
      summary: 'Make a session',
      description: 'A message to a session that isn’t there makes it, too.',
      ...guarded(setting, 'run', undefined, LONG_BODY),
      request: { params: USER_PATH, body: jsonBody(CREATE_SESSION, false) },
      responses: { 201: json(SESSION_BODY, 'The session.'), ...bodyProblems(409) },
    }),
    async (context) => {
      const { app: name, user: userId } = context.req.valid('param');
      const { sessionId, state } = context.req.valid('json');
      demandSharedState(context, name, state);
      const session = await sessions.create({
        app: name,
        userId,
        ...(sessionId === undefined ? {} : { sessionId }),
        ...(state === undefined ? {} : { state }),
      });
      return context.json(session, 201);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: USER_SESSIONS,
      tags,
      operationId: 'listUserSessions',
      summary: 'List a user’s sessions',
      ...guarded(setting, 'read'),
      request: { params: USER_PATH, query: LIST_QUERY },
      responses: { 200: json(SESSION_LIST, 'A page of them.'), ...problems() },
    }),
    async (context) => {
      const { app: name, user: userId } = context.req.valid('param');
      return context.json(await sessions.list({ app: name, userId, ...context.req.valid('query') }), 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/apps/{app}/sessions',
      tags,
      operationId: 'listAppSessions',
      summary: 'List an app’s sessions, of all users',
      ...guarded(setting, 'read'),
      request: { params: APP_PATH, query: LIST_QUERY },
      responses: { 200: json(SESSION_LIST, 'A page of them.'), ...problems() },
    }),
    async (context) => {
      const { app: name } = context.req.valid('param');
      return context.json(await sessions.list({ app: name, ...context.req.valid('query') }), 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: SESSION,
      tags,
      operationId: 'getSession',
      summary: 'Read a session',
      ...guarded(setting, 'read'),
      request: { params: SESSION_PATH, query: GET_SESSION_QUERY },
      responses: { 200: json(SESSION_BODY, 'The session, with its state and events.'), ...problems() },
    }),
    async (context) => {
      const names = sessionNames(context.req.valid('param'));
      const session = await sessions.get({ ...names, ...context.req.valid('query') });
      if (session === undefined) throw new RequestRefused('HOLDFAST_SESSION_NOT_FOUND');
      return context.json(session, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'delete',
      path: SESSION,
      tags,
      operationId: 'deleteSession',
      summary: 'Delete a session',
      description:
        'Its content in the store and the histories of its runs. Refused while a turn runs. Deleting again is no error.',
      ...guarded(setting, 'operate'),
      request: { params: SESSION_PATH, query: DELETE_QUERY },
      responses: { 200: json(DELETED, 'What was deleted.'), ...bodyProblems(409) },
    }),
    async (context) => {
      const names = sessionNames(context.req.valid('param'));
      return context.json(await sessions.delete({ ...names, ...context.req.valid('query') }), 200);
    },
  );
}
