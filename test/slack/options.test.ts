import { describe, expect, test } from 'vitest';
import { defineGateway } from '../../src/gateway/index.ts';
import { type SlackOptions, slack } from '../../src/slack/index.ts';
import { SlackApp } from '../../src/slack/slack-app.ts';

const SECRET = 'planted-secret-9Qx';
const OPTIONS: SlackOptions = {
  botToken: SECRET,
  signingSecret: SECRET,
  appId: 'A0123456789',
  teamIds: ['T0123456789'],
  channel: 'C0123456789',
  persons: { U0123456789: 'mira' },
};

describe('slack', () => {
  test.each<[string, object, RegExp]>([
    ['a name of a channel', { channel: '#approvals' }, /^slack: channel: expected a channel’s id/],
    ['no workspace', { teamIds: [] }, /^slack: teamIds: /],
    ['a workspace by its name', { teamIds: ['acme'] }, /^slack: teamIds\[0\]: /],
    ['another app id', { appId: SECRET }, /^slack: appId: expected an app’s id, A…, got other text$/],
    ['an empty secret', { botToken: '' }, /^slack: botToken: /],
    ['no secret', { signingSecret: [] }, /^slack: signingSecret: expected at least one/],
    ['a secret that is none', { signingSecret: [7] }, /^slack: signingSecret\[0\]: /],
    ['people by their names', { persons: { mira: 'mira' } }, /^slack: persons: expected the ids/],
    ['nobody', { persons: { U0123456789: '' } }, /^slack: persons\.U0123456789: /],
    [
      'people of no workspace, where there are several',
      { teamIds: ['T0123456789', 'T0OTHER'] },
      /^slack: persons\.U0123456789: two workspaces may have a user of this id: say which one, as T…\/U…/,
    ],
    [
      'people of another workspace',
      { persons: { 'T0OTHER/U0123456789': 'mira' } },
      /^slack: persons\.T0OTHER/,
    ],
    [
      'an address without TLS',
      { slackApiUrl: 'http://slack.example.com/api' },
      /^slack: slackApiUrl: expected https/,
    ],
    ['an option that there isn’t', { chanel: 'C0123456789' }, /^slack: chanel: unknown option/],
  ])('refuses %s, and quotes no value [slack.options]', (_what, wrong, message) => {
    const make = () => slack({ ...OPTIONS, ...wrong } as SlackOptions);
    expect(make).toThrow(message);
    expect(make).not.toThrow(SECRET);
  });

  test('waits for a function that says who somebody is, but not for ever [slack.options]', async () => {
    const app = new SlackApp({ ...OPTIONS, persons: () => new Promise(() => {}) }, { person: 1 });
    const late = app.personOf({ id: 'U0123456789', teamId: 'T0123456789' });
    await expect(late).rejects.toThrow('slack: persons: its function has not answered for 1 ms');
  });

  test('asks for its secrets when they are needed, and says which one is missing [slack.options]', async () => {
    const name = 'HOLDFAST_TEST_NO_SUCH_SECRET';
    const { gateway } = slack({ ...OPTIONS, signingSecret: [{ env: name }, () => SECRET] });
    await expect(gateway.signingSecrets()).rejects.toThrow(
      `slack: signingSecret: there is none: set ${name}`,
    );
    process.env[name] = 'there';
    try {
      expect(await gateway.signingSecrets()).toEqual(['there', SECRET]);
    } finally {
      delete process.env[name];
    }
  });

  test('knows people by their ids, or by a function, and nobody by the name of a property [slack.options]', async () => {
    const { gateway } = slack(OPTIONS);
    const who = (id: string) => gateway.personOf({ id, teamId: 'T0123456789' });
    expect(await Promise.all(['U0123456789', 'U0OTHER', 'constructor', '__proto__'].map(who))).toEqual([
      'mira',
      undefined,
      undefined,
      undefined,
    ]);
    const found = slack({ ...OPTIONS, persons: async ({ id }) => (id === 'U1' ? 'jo' : '') });
    expect(await found.gateway.personOf({ id: 'U1', teamId: 'T1' })).toBe('jo');
    expect(await found.gateway.personOf({ id: 'U2', teamId: 'T1' })).toBeUndefined();
  });

  test('does not take a user of one workspace for one of another [slack.options]', async () => {
    const { gateway } = slack({
      ...OPTIONS,
      teamIds: ['T0ONE', 'T0TWO'],
      persons: { 'T0ONE/U0123456789': 'mira', 'T0TWO/U0123456789': 'otto' },
    });
    const who = (teamId: string) => gateway.personOf({ id: 'U0123456789', teamId });
    expect(await Promise.all(['T0ONE', 'T0TWO', 'T0THREE'].map(who))).toEqual(['mira', 'otto', undefined]);
    expect(gateway.idsOf(['mira', 'otto'])).toEqual(['U0123456789']);
    const users = ['T0ONE', 'T0TWO'].map((teamId) => gateway.userOf({ id: 'U0EVE', teamId }));
    expect(new Set(users).size).toBe(2);
    const alone = slack(OPTIONS).gateway;
    expect(await alone.personOf({ id: 'U0123456789', teamId: 'T0ELSEWHERE' })).toBeUndefined();
  });

  test('is an option of the gateway [slack.options]', () => {
    const { gateway } = slack(OPTIONS);
    expect(defineGateway({ slack: gateway }).slack).toBe(gateway);
    expect(() => defineGateway({ slack: OPTIONS as never })).toThrow(
      /^defineGateway: slack: expected the `gateway`/,
    );
    expect(JSON.stringify(gateway)).not.toContain(SECRET);
  });
});
