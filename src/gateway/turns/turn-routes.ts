import { randomUUID } from 'node:crypto';
import { createRoute, z } from '@hono/zod-openapi';
import type { OutgoingMessage } from '../../client/messages/outgoing-turn.ts';
import { isResponsesOnly } from '../../client/messages/reply-parts.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { guarded, LONG_BODY } from '../access/guarded.ts';
import type { GatewayHono } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import { turnView } from '../pages/links.ts';
import type { RouteSetting } from '../route-setting.ts';
import { bodyProblems, json, jsonBody, problems } from '../schemas/answers.ts';
import { ANSWER_QUERY, wholeNumber } from '../schemas/fields.ts';
import { SESSION, SESSION_PATH, sessionNames, TURN, TURN_PATH } from '../schemas/path-parts.ts';
import { ENDED_TURN, RECEIPT, RUNNING_TURN, SEND_MESSAGE, TURN_BODY } from '../schemas/turns.ts';
import { demandSharedState } from '../sessions/shared-state.ts';
import { demandAnswers } from './answers-of-message.ts';
import { awaitReceipt } from './await-receipt.ts';
import { pollTurn } from './long-poll.ts';

const tags = ['Turns'];

const WAIT_QUERY = z.object({
  wait: wholeNumber('How long the turn’s end is waited for, seconds.', { max: 60 })
    .optional()
    .openapi({ default: 0 }),
});

/** Turns started and awaited. */
export function turnRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { client, about } = setting.options;
  app.openapi(
    createRoute({
      method: 'post',
      path: `${SESSION}/messages`,
      tags,
      operationId: 'sendMessage',
      summary: 'Send a message, which a turn answers',
      description:
        'The message is kept when this answers. One message id is one turn, for ever: sending it again attaches to its turn. A message that only answers requests, or has the responses that calls wait for, goes to the turn that waits; answering requests needs the permission to approve, too, and ending jobs that to operate.',
      ...guarded(setting, 'run', undefined, LONG_BODY),
      request: { params: SESSION_PATH, body: jsonBody(SEND_MESSAGE) },
      responses: {
        202: json(TURN_BODY, 'The turn, and where its result and events are.'),
        ...bodyProblems(409, 504),
      },
    }),
    async (context) => {
      const names = sessionNames(context.req.valid('param'));
      const message = context.req.valid('json') as Message;
      await demandAnswers(context, setting, names, message.message);
      demandSharedState(context, names.app, message.stateDelta);
      const { person } = context.get('principal');
      const sent = { ...names, ...message, messageId: message.messageId ?? randomUUID() };
      const turn = await client.sendMessage(
        person === undefined ? sent : await setting.attester.sentBy(person, sent),
      );
      // Of what a turn waits for no other one begins.
      const isAnswer = isResponsesOnly(message.message) && turn.disposition === 'attached';
      const receipt = isAnswer ? { receipt: await turn.receipt() } : {};
      return context.json({ ...turnView(names, turn, about()), ...receipt }, 202);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: TURN,
      tags,
      operationId: 'getTurn',
      summary: 'Wait for a turn’s result',
      ...guarded(setting, 'read'),
      request: { params: TURN_PATH, query: WAIT_QUERY },
      responses: {
        200: json(ENDED_TURN, 'The turn has ended.'),
        202: json(RUNNING_TURN, 'It has not: ask again.'),
        ...problems(409),
      },
    }),
    async (context) => {
      const { names, turn } = await find(context.req.valid('param'));
      const view = turnView(names, turn, about());
      const { wait = 0 } = context.req.valid('query');
      const signal = AbortSignal.any([context.req.raw.signal, setting.closing]);
      const polled = await pollTurn(client, names, turn, wait * 1_000, signal);
      if ('result' in polled) return context.json({ ...view, ...polled }, 200);
      return context.json({ ...view, ...polled }, 202);
    },
  );
  app.openapi(
    createRoute({
      method: 'get',
      path: `${TURN}/receipt`,
      tags,
      operationId: 'getReceipt',
      summary: 'Ask what became of a message',
      ...guarded(setting, 'read'),
      request: { params: TURN_PATH, query: ANSWER_QUERY },
      responses: { 200: json(RECEIPT, 'What is known.'), ...problems(409) },
    }),
    async (context) => {
      const { timeout } = context.req.valid('query');
      const signal = AbortSignal.any([context.req.raw.signal, setting.closing]);
      const path = context.req.valid('param');
      const receipt = await awaitReceipt(async () => (await find(path)).turn, { timeout, signal });
      return context.json(receipt, 200);
    },
  );

  async function find(path: z.output<typeof TURN_PATH>): Promise<{ names: SessionNames; turn: TurnHandle }> {
    const names = sessionNames(path);
    const turn = await client.turn({ ...names, messageId: path.messageId });
    if (turn === undefined) throw new RequestRefused('HOLDFAST_GATEWAY_NO_SUCH_TURN');
    return { names, turn };
  }
}

/** The client takes null for absent, as its schema does. */
type Message = Omit<OutgoingMessage, keyof SessionNames>;
