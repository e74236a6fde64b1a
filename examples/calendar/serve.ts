import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import { AuthorizationServer } from './authorization-server.ts';
import { CalendarService } from './calendar-service.ts';

/** Both services, until Ctrl-C. Typed lines: `forget` ends all access tokens, `events ACCOUNT` prints a calendar. */
const {
  CALENDAR_CLIENT_ID,
  CALENDAR_CLIENT_SECRET,
  CALENDAR_ISSUER_PORT,
  CALENDAR_PORT,
  CALENDAR_TOKEN_SECONDS,
} = process.env;
const app = { id: CALENDAR_CLIENT_ID || 'desk', secret: CALENDAR_CLIENT_SECRET || 'secret-of-the-desk' };
const service = { id: 'calendar-service', secret: randomUUID() };
const log = console.log;

const server = new AuthorizationServer({
  ...{ app, service, log },
  tokenSeconds: Number(CALENDAR_TOKEN_SECONDS || 70),
  port: Number(CALENDAR_ISSUER_PORT || 8075),
});
const issuer = await server.open();
console.log(`authorization server at ${issuer}`);
const calendar = new CalendarService({ issuer, client: service, port: Number(CALENDAR_PORT || 8076), log });
console.log(`calendar at ${await calendar.open()}`);

for await (const line of createInterface({ input: process.stdin })) {
  const [word, account = ''] = line.trim().split(/\s+/);
  if (word === 'forget') console.log(`${await server.forget()} access tokens are good no longer`);
  else if (word === 'events')
    for (const { start, title } of calendar.events(account)) console.log(`${start}  ${title}`);
  else console.log('type: forget, or: events ACCOUNT');
}
