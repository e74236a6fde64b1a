import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type ServedGateway, serveGateway } from '../../src/gateway/index.ts';
import { isDeep } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import {
  drawnIn,
  expectTaken,
  MIRA,
  openSlackScene,
  PERSONS,
  type SlackScene,
  toldTo,
} from './slack-scene.ts';

const GENERAL = 'C0GENERAL';

describe('what Slack was answered for, and is still being done', () => {
  let scene: SlackScene;
  let gateway: ServedGateway;
  let hold: Promise<void>;
  let release: () => void;
  /** Times that somebody was looked up. */
  let asked: number;

  beforeAll(async () => {
    scene = await openSlackScene({
      // A thousand users are looked up at the same time, which takes a busy machine long.
      personTime: 300_000,
      persons: async ({ id }) => {
        asked += 1;
        await hold;
        return PERSONS[id];
      },
    });
  });
  afterAll(async () => await scene.close());
  beforeEach(async () => {
    asked = 0;
    hold = new Promise((resolve) => {
      release = resolve;
    });
    gateway = await serveGateway({ gateway: scene.newGateway() });
  });
  afterEach(async () => {
    release();
    await gateway.close();
  });

  async function thread(): Promise<string> {
    const text = `hello ${randomUUID()}`;
    const command = { user: MIRA, channel: GENERAL, command: '/ask', text };
    await expectTaken(scene.slack.command(scene.gateway.url, command));
    const { ts } = await until(() => {
      const found = scene.slack.messages.find((message) => drawnIn(message).includes(text));
      if (found === undefined) throw new Error('no thread was begun');
      return found;
    });
    await until(() => expect(scene.slack.messages.filter(({ threadTs }) => threadTs === ts)).toHaveLength(1));
    return ts;
  }

  test('a gateway that closes decides what was clicked before it is closed [slack.closing]', async () => {
    const { message, request } = await scene.ask('pay');
    await expectTaken(scene.slack.click(gateway.url, { message, action: 'Approve', user: MIRA }));
    await until(() => expect(asked).toBe(1));
    const closed = gateway.close();
    // Nobody else is let in any more; who was is waited for.
    await until(() => expect(fetch(gateway.url)).rejects.toThrow());
    release();
    await closed;
    // The decision is written with the start of its call.
    await until(async () =>
      expect(await scene.now({ request })).toMatchObject({
        status: 'approved',
        votes: [{ by: { principal: 'mira' } }],
      }),
    );
  });

  test('a reply is answered once it is a message of the session [slack.closing]', async () => {
    release();
    const threadTs = await thread();
    const eventId = `Ev${randomUUID()}`;
    const reply = { user: MIRA, channel: GENERAL, threadTs, text: 'more', eventId };
    await expectTaken(scene.slack.reply(gateway.url, reply));
    const { sessions } = await scene.environment.client.sessions.list({ app: 'shop', userId: 'mira' });
    const sessionId = sessions.find((session) => session.sessionId.includes(threadTs))?.sessionId ?? '';
    const names = { app: 'shop', userId: 'mira', sessionId };
    const turn = await scene.environment.client.turn({ ...names, messageId: `slack:${eventId}` });
    expect((await turn?.result())?.text).toBe('You said: more');
  });

  test('a reply that takes long is answered all the same, and goes on [slack.closing]', async () => {
    release();
    const threadTs = await thread();
    hold = new Promise((resolve) => {
      release = resolve;
    });
    const reply = { user: MIRA, channel: GENERAL, threadTs, text: 'held' };
    await expectTaken(scene.slack.reply(gateway.url, reply));
    release();
    await until(() =>
      expect(scene.slack.messages.filter((one) => one.threadTs === threadTs).map(drawnIn)).toContain(
        'You said: held',
      ),
    );
  });

  if (isDeep) {
    test('what is more than a gateway does at a time is begun later, and nobody is left without an answer [slack.closing]', async () => {
      const pending = await scene.ask('pay');
      const { message } = pending;
      const click = (user: string) => scene.slack.click(gateway.url, { message, action: 'Approve', user });
      const users = Array.from({ length: 1_000 }, (_one, index) => `U0CROWD${index}`);
      for (let from = 0; from < users.length; from += 50) {
        const some = users.slice(from, from + 50);
        const answers = await Promise.all(some.map(click));
        expect(answers.every(({ status }) => status === 200)).toBe(true);
      }
      await until(() => expect(asked).toBe(users.length));
      await expectTaken(click(MIRA));
      await until(() => expect(toldTo(scene, MIRA).join()).toContain('too much to do now: try again later'));
      const event = { user: MIRA, channel: GENERAL, threadTs: '1700000000.000001', text: 'more' };
      expect((await scene.slack.reply(gateway.url, event)).status).toBe(503);
      const command = { user: MIRA, channel: GENERAL, command: '/ask', text: 'anybody?' };
      expect(await (await scene.slack.command(gateway.url, command)).json()).toMatchObject({
        response_type: 'ephemeral',
        text: expect.stringContaining('too much to do'),
      });
      release();
      await until(() => expect(toldTo(scene, 'U0CROWD999').join()).toContain('your Slack id'));
      await expectTaken(click(MIRA));
      await until(async () => expect(await scene.now(pending)).toMatchObject({ status: 'approved' }));
    });
  }
});
