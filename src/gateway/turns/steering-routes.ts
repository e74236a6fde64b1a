import { createRoute } from '@hono/zod-openapi';
import { guarded } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import { turnView } from '../pages/links.ts';
import type { RouteSetting } from '../route-setting.ts';
import { bodyProblems, json, jsonBody, problems } from '../schemas/answers.ts';
import { ANSWER_QUERY } from '../schemas/fields.ts';
import { SESSION, SESSION_PATH, sessionNames } from '../schemas/path-parts.ts';
import { CANCEL_CALL, INTERRUPT, RETRY_TURN, SESSION_STATUS, STEERED, TURN_BODY } from '../schemas/turns.ts';

const tags = ['Steering'];

/** What is done to the turn that runs in a session, and to one that has ended. */
export function steeringRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { client, about } = setting.options;
  app.openapi(
    createRoute({
      method: 'get',
      path: `${SESSION}/status`,
      tags,
      operationId: 'getStatus',
      summary: 'Ask how the turn that runs stands',
      ...guarded(setting, 'read'),
      request: { params: SESSION_PATH, query: ANSWER_QUERY },
      responses: { 200: json(SESSION_STATUS, 'How it stands.'), ...problems(504) },
    }),
    async (context) => {
      const names = sessionNames(context.req.valid('param'));
      const status = (await client.status(names, context.req.valid('query'))) ?? null;
      return context.json({ status }, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${SESSION}/interrupt`,
      tags,
      operationId: 'interruptTurn',
      summary: 'End the turn that runs, politely',
      description:
        'Its open calls are answered, its status is `interrupted`, and messages that wait come next.',
      ...guarded(setting, 'operate'),
      request: { params: SESSION_PATH, query: ANSWER_QUERY, body: jsonBody(INTERRUPT, false) },
      responses: { 200: json(STEERED, 'What became of the order.'), ...bodyProblems() },
    }),
    async (context) => {
      const names = sessionNames(context.req.valid('param'));
      const order = { ...context.req.valid('json'), ...context.req.valid('query') };
      return context.json(await client.interrupt(names, order), 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${SESSION}/cancel-call`,
      tags,
      operationId: 'cancelCall',
      summary: 'Cancel one call of the turn that runs',
      description: 'The turn goes on, and its model is told.',
      ...guarded(setting, 'operate'),
      request: { params: SESSION_PATH, query: ANSWER_QUERY, body: jsonBody(CANCEL_CALL) },
      responses: { 200: json(STEERED, 'What became of the order.'), ...bodyProblems() },
    }),
    async (context) => {
      const names = sessionNames(context.req.valid('param'));
      const order = { ...context.req.valid('json'), ...context.req.valid('query') };
      return context.json(await client.cancelCall(names, order), 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${SESSION}/retry`,
      tags,
      operationId: 'retryTurn',
      summary: 'Run a turn anew from a call on',
      description: 'Settled siblings of the call keep their outcomes. Refused while a turn runs.',
      ...guarded(setting, 'operate'),
      request: { params: SESSION_PATH, body: jsonBody(RETRY_TURN) },
      responses: { 202: json(TURN_BODY, 'The turn.'), ...bodyProblems(409) },
    }),
    async (context) => {
      const names = sessionNames(context.req.valid('param'));
      const turn = await client.sessions.retry({ ...names, ...context.req.valid('json') });
      return context.json(turnView(names, turn, about()), 202);
    },
  );
}
