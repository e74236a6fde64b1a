import { afterAll, beforeAll, expect, test } from 'vitest';
import { serveGateway } from '../../src/gateway/index.ts';
import { Browser } from '../setup/authorization-server.ts';
import { inTier } from '../setup/tier.ts';
import { APP, type OAuthDesk, openOAuthDesk } from './oauth-desk.ts';

let desk: OAuthDesk;
beforeAll(async () => {
  desk = await openOAuthDesk();
});
afterAll(() => desk.close());

type Moment = 'before' | 'after';

/** An object whose calls never come back from one moment on: its process has died there. */
function dying<T extends object>(alive: T, isDying: (method: string, moment: Moment) => boolean): T {
  return new Proxy(alive, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== 'function')
        return typeof member === 'object' && member !== null ? dying(member, isDying) : member;
      return async (...given: unknown[]) => {
        if (isDying(String(name), 'before')) return await new Promise(() => undefined);
        const answer: unknown = await member.apply(target, given);
        return isDying(String(name), 'after') ? await new Promise(() => undefined) : answer;
      };
    },
  });
}

/** The work of a gateway for a way back, in order. */
const BOUNDARIES: readonly [method: string, moment: Moment][] = [
  ['takeLink', 'before'],
  ['takeLink', 'after'],
  ['useLink', 'after'],
  ['put', 'before'],
  ['put', 'after'],
  ['list', 'before'],
  ['provideCredential', 'before'],
  ['provideCredential', 'after'],
];

test.each(inTier(BOUNDARIES.slice(3, 5), BOUNDARIES))(
  'a gateway that is killed at %s (%s) loses nothing: who opens the link again has every call go on [oauth.kills]',
  async (method, moment) => {
    const userId = `${method}-${moment}`;
    const turns = [await desk.send(userId), await desk.send(userId)];
    await desk.pending(userId, 2);
    const died = Promise.withResolvers<void>();
    let isDead = false;
    const isDying = (called: string, at: Moment) => {
      if (called === method && at === moment) isDead = true;
      if (isDead) died.resolve();
      return isDead;
    };
    const { options } = desk;
    const { url } = desk.served;
    const mortal = await serveGateway({
      gateway: {
        ...options,
        client: dying(options.client, isDying),
        records: dying(desk.environment.store, isDying),
      },
    });
    let isMortal = false;
    const browser = new Browser((given, init) =>
      fetch(isMortal ? String(given).replace(url, mortal.url) : given, init),
    );
    const link = await desk.link(userId, ['calendar.read']);
    const way = await browser.consent(`${link}/start`, `${url}/oauth/callback`);
    isMortal = true;
    const answer = browser.get(way).catch(() => undefined);
    await died.promise;
    isMortal = false;
    await mortal.close();
    await answer;

    // Another gateway answers.
    const page = (await (await browser.get(link)).text()) ?? '';
    if (!page.includes('Connected'))
      await browser.follow(await browser.consent(`${link}/start`, `${url}/oauth/callback`));
    const texts = await Promise.all(turns.map(async (turn) => (await turn.result()).text));
    expect(texts).toEqual(['[{"events":43}]', '[{"events":43}]']);
    expect(await desk.client.credentials.list({ app: APP, userId })).toHaveLength(1);
  },
  60_000,
);
