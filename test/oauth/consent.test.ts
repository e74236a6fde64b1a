import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Browser } from '../setup/authorization-server.ts';
import { APP, KEY, type OAuthDesk, openOAuthDesk } from './oauth-desk.ts';

let desk: OAuthDesk;
beforeAll(async () => {
  desk = await openOAuthDesk();
});
afterAll(() => desk.close());

const back = () => `${desk.served.url}/oauth/callback`;

async function connect(
  userId: string,
  browser = new Browser(),
  account?: string,
  scopes = ['calendar.read'],
) {
  const link = await desk.link(userId, scopes);
  const way = await browser.consent(`${link}/start`, back(), account === undefined ? {} : { account });
  return await browser.follow(way);
}

describe('a tool that needs a person’s consent', () => {
  test('waits, and goes on in every session once the person has consented', async () => {
    const turns = await Promise.all([desk.send('ada'), desk.send('ada'), desk.send('bob')]);
    const [request] = await desk.pending('ada', 2);
    await desk.pending('bob');
    expect(request).toMatchObject({
      kind: 'credential',
      authConfig: { credentialKey: KEY, provider: expect.any(String) },
    });
    const { url, answer } = await connect('ada');
    expect(url).toMatch(/\/connect\//);
    expect(await answer?.text()).toContain('Connected');
    const results = await Promise.all(turns.slice(0, 2).map((turn) => turn.result()));
    expect(results.map(({ text }) => text)).toEqual(['[{"events":43}]', '[{"events":43}]']);
    expect(await desk.client.approvals.list({ app: APP, userId: 'bob' })).toHaveLength(1);
    expect(await desk.client.credentials.list({ app: APP, userId: 'ada' })).toMatchObject([
      {
        authType: 'oauth2',
        credentialKey: KEY,
        account: 'ada@example.com',
        scopes: expect.arrayContaining(['calendar.read']),
      },
    ]);
  });
});
