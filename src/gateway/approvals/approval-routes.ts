import { createRoute } from '@hono/zod-openapi';
import type {
  ConfirmOptions,
  ProvideCredentialOptions,
  ProvideInputOptions,
  WhichRequest,
} from '../../client/approvals/approvals.ts';
import { RequestNotFound } from '../../client/client-errors.ts';
import { guarded } from '../access/guarded.ts';
import { type SubjectOf, subjectOfQuery } from '../access/screen.ts';
import type { GatewayHono } from '../gateway-app.ts';
import type { RouteSetting } from '../route-setting.ts';
import { bodyProblems, json, jsonBody, problems } from '../schemas/answers.ts';
import {
  APPROVAL,
  APPROVAL_LIST,
  CONFIRM_REQUEST,
  DECISION,
  LIST_APPROVALS_QUERY,
  PROVIDE_CREDENTIAL,
  PROVIDE_INPUT,
  SESSION_APPROVAL_QUERY,
} from '../schemas/approvals.ts';
import { ANSWER_QUERY } from '../schemas/fields.ts';
import { REQUEST, REQUEST_PATH, SESSION, SESSION_PATH, sessionNames } from '../schemas/path-parts.ts';

const tags = ['Approvals'];

/** A decider has to see the request. */
const SEES = ['read', 'approve'] as const;

/** Requests to people: listed, shown and answered. */
export function approvalRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { approvals } = setting.options.client;
  const missing = () => new RequestNotFound('there is no such request');
  const find = async (which: WhichRequest) => {
    const row = await approvals.get(which);
    if (row === undefined) throw missing();
    return row;
  };
  // An id tells nothing of whose the request is.
  const ofRequest: SubjectOf = async ({ req }) => {
    const { app: ofApp, userId } = await find({ requestId: req.param('requestId') ?? '' });
    return { names: { app: ofApp, userId }, missing };
  };
  app.openapi(
    createRoute({
      method: 'get',
      path: '/v1/approvals',
      tags,
      operationId: 'listApprovals',
      summary: 'List requests to people',
      description:
        'The oldest first unless `order` says otherwise; the pending ones unless `status` says otherwise.',
      ...guarded(setting, SEES, subjectOfQuery),
      request: { query: LIST_APPROVALS_QUERY },
      responses: { 200: json(APPROVAL_LIST, 'A page of them.'), ...problems() },
    }),
    async (context) => {
      const { user, session, afterTime, afterRequest, ...query } = context.req.valid('query');
      const listed = await approvals.list({
        ...query,
        ...(user === undefined ? {} : { userId: user }),
        ...(session === undefined ? {} : { sessionId: session }),
        // One half of a place is the page's begin.
        ...(afterTime === undefined ? {} : { after: { since: afterTime, requestId: afterRequest ?? '-' } }),
      });
      return context.json({ approvals: listed }, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: REQUEST,
      tags,
      operationId: 'getApproval',
      summary: 'Show a request',
      ...guarded(setting, SEES, ofRequest),
      request: { params: REQUEST_PATH },
      responses: { 200: json(APPROVAL, 'The request, by now.'), ...problems() },
    }),
    async (context) => context.json(await find(context.req.valid('param')), 200),
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: `${SESSION}/approval`,
      tags,
      operationId: 'getSessionApproval',
      summary: 'Show a session’s request',
      description:
        'The only pending one, or that of a call: its pending one, or the latest that it made. Several that fit are a 409 with their ids.',
      ...guarded(setting, SEES),
      request: { params: SESSION_PATH, query: SESSION_APPROVAL_QUERY },
      responses: { 200: json(APPROVAL, 'The request, by now.'), ...problems(409) },
    }),
    async (context) => {
      const names = sessionNames(context.req.valid('param'));
      const row = await find({ ...names, ...context.req.valid('query') } as WhichRequest);
      return context.json(row, 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${REQUEST}/confirm`,
      tags,
      operationId: 'confirmRequest',
      summary: 'Approve or reject a call',
      description: 'Or vote, where it takes several people. The same decision again changes nothing.',
      ...guarded(setting, 'approve', ofRequest),
      request: { params: REQUEST_PATH, query: ANSWER_QUERY, body: jsonBody(CONFIRM_REQUEST) },
      responses: { 200: json(DECISION, 'What became of the decision.'), ...bodyProblems(409) },
    }),
    async (context) => {
      const decision = { ...context.req.valid('json'), ...context.req.valid('query') } as ConfirmOptions;
      const which = context.req.valid('param');
      const { person } = context.get('principal');
      if (person === undefined || decision.attestation !== undefined) {
        return context.json(await approvals.confirm(which, decision), 200);
      }
      const decider = { person, channel: 'http' as const };
      const { shown, ...said } = decision;
      return context.json(await setting.attester.confirm(decider, which, said, shown), 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${REQUEST}/provide-input`,
      tags,
      operationId: 'provideInput',
      summary: 'Answer a request for input',
      ...guarded(setting, 'approve', ofRequest),
      request: { params: REQUEST_PATH, query: ANSWER_QUERY, body: jsonBody(PROVIDE_INPUT) },
      responses: { 200: json(DECISION, 'What became of the answer.'), ...bodyProblems(409) },
    }),
    async (context) => {
      const answer = { ...context.req.valid('json'), ...context.req.valid('query') } as ProvideInputOptions;
      const which = context.req.valid('param');
      const { person } = context.get('principal');
      if (person === undefined || answer.attestation !== undefined) {
        return context.json(await approvals.provideInput(which, answer), 200);
      }
      const decider = { person, channel: 'http' as const };
      const { shown, ...said } = answer;
      return context.json(await setting.attester.provideInput(decider, which, said, shown), 200);
    },
  );
  app.openapi(
    createRoute({
      method: 'post',
      path: `${REQUEST}/provide-credential`,
      tags,
      operationId: 'provideCredential',
      summary: 'Answer a request for a credential',
      description: 'With one that was stored before.',
      ...guarded(setting, 'approve', ofRequest),
      request: { params: REQUEST_PATH, query: ANSWER_QUERY, body: jsonBody(PROVIDE_CREDENTIAL) },
      responses: { 200: json(DECISION, 'What became of the answer.'), ...bodyProblems(409) },
    }),
    async (context) => {
      const answer = {
        ...context.req.valid('json'),
        ...context.req.valid('query'),
      } as ProvideCredentialOptions;
      return context.json(await approvals.provideCredential(context.req.valid('param'), answer), 200);
    },
  );
}
