import { App, type Context, LlmAgent, ToolError, tool } from 'holdfast';
import { z } from 'zod';

export { calendarScript as geminiScript } from './script.ts';

const { CALENDAR_URL, CALENDAR_ISSUER, CALENDAR_CLIENT_ID, CALENDAR_CLIENT_SECRET } = process.env;

/** Tokens of the provider `calendar` below, with these scopes. */
const needs = (...scopes: string[]) => ({
  credentialKey: 'calendar',
  authScheme: { type: 'oauth2', scopes },
});

const listEvents = tool({
  name: 'list_events',
  description: 'Lists the events of the user’s calendar.',
  authConfig: needs('calendar.read'),
  isReadOnly: true,
  execute: async (_args, context) => await calendar('GET', context),
});

const addEvent = tool({
  name: 'add_event',
  description: 'Adds an event to the user’s calendar.',
  parameters: z.object({
    title: z.string(),
    start: z
      .string()
      .regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}$/)
      .describe('as 2026-12-04 12:00'),
  }),
  authConfig: needs('calendar.read', 'calendar.write'),
  // The service knows the key of a call: a second attempt adds nothing twice.
  idempotent: true,
  execute: async (event, context) => await calendar('POST', context, event),
});

async function calendar(method: string, context: Context, event?: object): Promise<unknown> {
  const ask = async (refused?: string) => {
    const { accessToken = '' } =
      (await context.credential(refused === undefined ? {} : { refused }))?.oauth2 ?? {};
    const answer = await fetch(`${CALENDAR_URL || 'http://127.0.0.1:8076'}/events`, {
      method,
      headers: { authorization: `Bearer ${accessToken}`, 'idempotency-key': context.idempotencyKey },
      ...(event === undefined ? {} : { body: JSON.stringify(event) }),
      signal: context.abortSignal,
    });
    return { answer, accessToken };
  };
  let { answer, accessToken } = await ask();
  // The token has ended before its time: others are good, or the person is asked again.
  if (answer.status === 401) ({ answer } = await ask(accessToken));
  if (!answer.ok) throw new ToolError(`the calendar answers ${answer.status}: ${await answer.text()}`);
  return await answer.json();
}

const desk = new LlmAgent({
  name: 'desk',
  model: 'gemini-2.5-flash',
  description: 'Looks after the calendars of its users.',
  instruction: `You look after the user's calendar.
- Look at the events before you add one, and say where two are at the same time.
- Answer in one sentence.`,
  tools: [listEvents, addEvent],
});

export const app = new App({
  name: 'calendar',
  rootAgent: desk,
  durable: {
    oauth: {
      calendar: {
        issuer: CALENDAR_ISSUER || 'http://127.0.0.1:8075',
        clientId: CALENDAR_CLIENT_ID || 'desk',
        clientSecret: CALENDAR_CLIENT_SECRET || 'secret-of-the-desk',
        scopes: ['openid', 'offline_access'],
      },
    },
  },
});
