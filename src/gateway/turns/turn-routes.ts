import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { SentMessage } from '../../client/holdfast-api.ts';
import type { Receipt } from '../../client/messages/message-receipt.ts';
import type { OutgoingMessage } from '../../client/messages/outgoing-message.ts';
import { isResponsesOnly } from '../../client/messages/reply-parts.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import { ANSWER_TIMEOUT } from '../../contract/fields.ts';
import { getReceipt, sendMessage } from '../../contract/messages.ts';
import { getTurn, TURNS } from '../../contract/turns.ts';
import type { GatewayHono } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import { turnView } from '../pages/links.ts';
import type { RouteSetting } from '../route-setting.ts';
import { serve, serveAll } from '../serve.ts';
import { demandSharedState } from '../sessions/shared-state.ts';
import { demandAnswers } from './answers-of-message.ts';
import { pollTurn } from './long-poll.ts';

/** Turns started and awaited. */
export function turnRoutes(app: GatewayHono, setting: RouteSetting): void {
  const { client, about } = setting.options;
  serve(app, setting, sendMessage, async ({ app: ofApp, userId, sessionId, ...given }, context) => {
    const names = { app: ofApp, userId, sessionId };
    const message = { ...names, messageId: randomUUID(), ...given } as SentBy;
    await demandAnswers(context, setting, names, message.message);
    demandSharedState(context, ofApp, message.stateDelta);
    const { person } = context.get('principal');
    const turn = await client.sendMessage(
      person === undefined ? message : await setting.attester.attestMessage(person, message),
    );
    // An answer to a waiting turn begins no other one.
    const isAnswer = isResponsesOnly(message.message) && turn.disposition === 'attached';
    const receipt = isAnswer ? { receipt: await turn.receipt() } : {};
    return { ...turnView(names, turn, about()), ...receipt };
  });
  serveAll(app, setting, TURNS);
  serve(app, setting, getTurn, async ({ wait = 0, ...message }, context) => {
    const turn = await find(message);
    const signal = AbortSignal.any([context.req.raw.signal, setting.closing]);
    const polled = await pollTurn(client, message, turn, wait * 1_000, signal);
    return { ...turnView(message, turn, about()), ...polled };
  });
  serve(app, setting, getReceipt, async ({ timeout, ...message }, context) => {
    const signal = AbortSignal.any([context.req.raw.signal, setting.closing]);
    return await awaitReceipt(() => find(message), { timeout, signal });
  });

  async function find(message: SentMessage): Promise<TurnHandle> {
    const turn = await client.turn(message);
    if (turn === undefined) throw new RequestRefused('HOLDFAST_GATEWAY_NO_SUCH_TURN');
    return turn;
  }
}

type SentBy = OutgoingMessage & { messageId: string };

const FIRST_PAUSE = 50;

/**
 * The receipt of a message. The turn that is found by its id alone has nothing to ask the worker with, as its sender's handle
 * has: it is looked for until the worker has taken the message up.
 *
 * @param timeout milliseconds.
 * @param signal ends the looking.
 */
async function awaitReceipt(
  find: () => Promise<TurnHandle>,
  { timeout = ANSWER_TIMEOUT, signal }: { timeout: number | undefined; signal: AbortSignal },
): Promise<Receipt> {
  const deadline = Date.now() + timeout;
  for (let pause = FIRST_PAUSE; ; pause *= 2) {
    const turn = await find();
    const receipt = await turn.receipt({ timeout: Math.max(0, deadline - Date.now()) });
    if (receipt.confirmed || signal.aborted || Date.now() + pause > deadline) return receipt;
    await setTimeout(pause, undefined, { signal }).catch(() => undefined);
  }
}
