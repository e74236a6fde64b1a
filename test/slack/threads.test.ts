import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isDeep } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import {
  CHANNEL,
  drawnIn,
  EVE,
  expectTaken,
  MIRA,
  OTTO,
  openSlackScene,
  type SlackScene,
  toldTo,
} from './slack-scene.ts';

const GENERAL = 'C0GENERAL';

describe.concurrent('turns in Slack', () => {
  let scene: SlackScene;
  beforeAll(async () => {
    scene = await openSlackScene();
  });
  afterAll(async () => {
    expect(scene.slack.refusals).toEqual([]);
    await scene.close();
  });

  /** Asks by the slash command; gives the thread’s first message. */
  async function ask(text: string, user = MIRA) {
    const command = { user, channel: GENERAL, command: '/ask', text };
    await expectTaken(scene.slack.command(scene.gateway.url, command));
    return await until(() => {
      const found = scene.slack.messages.find(
        ({ channel, threadTs, blocks }) =>
          channel === GENERAL &&
          threadTs === undefined &&
          JSON.stringify(blocks).includes(JSON.stringify(text).slice(1, -1)),
      );
      if (found === undefined) throw new Error('no thread was begun');
      return found;
    });
  }
  const inThread = (ts: string) =>
    scene.slack.messages.filter(({ threadTs }) => threadTs === ts).map(drawnIn);
  const said = (ts: string, count: number) =>
    until(() => {
      const texts = inThread(ts);
      expect(texts).toHaveLength(count);
      return texts;
    });
  const sessionsOf = async (userId: string) =>
    (await scene.environment.client.sessions.list({ app: 'shop', userId })).sessions.map(
      ({ sessionId }) => sessionId,
    );

  test('a slash command begins a turn in a thread, and replies in it go on with the session [slack.thread]', async () => {
    const hello = `hello ${randomUUID()}`;
    const { ts } = await ask(hello);
    expect(await said(ts, 1)).toEqual([`You said: ${hello}`]);
    const reply = { user: OTTO, channel: GENERAL, threadTs: ts, text: 'and &lt;again&gt; &amp; again' };
    await expectTaken(scene.slack.reply(scene.gateway.url, reply));
    expect(await said(ts, 2)).toContain('You said: and &lt;again&gt; &amp; again');
    const [sessionId = ''] = (await sessionsOf('mira')).filter((id) => id.includes(ts));
    expect(sessionId.startsWith(`slack:${scene.slack.teamId}:${GENERAL}:${ts}`)).toBe(true);
    const events = await scene.environment.store.sessions.readEvents({
      app: 'shop',
      userId: 'mira',
      sessionId,
    });
    const asked = events.filter(({ event }) => event.author === 'user');
    expect(asked.map(({ event }) => event.content?.parts?.[0]?.text)).toEqual([hello, 'and <again> & again']);
  });

  test('whom nobody knows asks as a user of Slack [slack.thread]', async () => {
    const hello = `hi ${randomUUID()}`;
    const { ts } = await ask(hello, EVE);
    await said(ts, 1);
    expect((await sessionsOf(`slack:${EVE}`)).some((id) => id.includes(ts))).toBe(true);
  });

  test('an answer links to the files that its turn has saved [slack.files]', async () => {
    const { ts } = await ask(`call save_bill ${JSON.stringify({ n: randomUUID() })}`);
    const [answer = ''] = await said(ts, 1);
    expect(answer).toContain('bills/&lt;b&gt; März.txt');
    const [sessionId = ''] = (await sessionsOf('mira')).filter((id) => id.includes(ts));
    const path = `shop/mira/${encodeURIComponent(sessionId)}/bills%2F%3Cb%3E%20M%C3%A4rz.txt`;
    expect(answer).toContain(`<https://agents.example.com/inbox/files/${path}|Download>`);
    expect(answer).not.toContain('A bill.');
  });

  test('requests of a thread’s session go to the thread, know who has asked, and are decided there [slack.thread]', async () => {
    const args = { order: randomUUID(), cents: 900 };
    const { ts } = await ask(`call pay ${JSON.stringify(args)}`, OTTO);
    const message = await until(() => {
      const found = scene.slack.messages.find(({ threadTs }) => threadTs === ts);
      if (found === undefined) throw new Error('nothing was posted');
      return found;
    });
    expect(drawnIn(message)).toContain('For otto');
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: MIRA }));
    await until(() => expect(scene.ran.some((each) => each.endsWith(' 900'))).toBe(true));
    await until(() => expect(inThread(ts)).toContain('It is done.'));
  });

  if (isDeep) {
    test('what bots say, edits, other threads, and events that come again begin nothing [slack.thread]', async () => {
      const { ts } = await ask(`first ${randomUUID()}`);
      await said(ts, 1);
      const eventId = `Ev${randomUUID()}`;
      const reply = { user: MIRA, channel: GENERAL, threadTs: ts, text: 'once', eventId };
      const send = (more: object, forged = {}) =>
        expectTaken(
          scene.slack.reply(scene.gateway.url, { ...reply, eventId: `Ev${randomUUID()}`, ...more }, forged),
        );
      await send({ text: 'a bot', fields: { bot_id: 'B0HOLDFAST' } });
      await send({ text: 'edited', fields: { subtype: 'message_changed', hidden: true } });
      await send({ text: 'joined', fields: { subtype: 'channel_join' } });
      await send({ text: 'elsewhere', threadTs: '1700000000.000001' });
      await send({ text: 'other channel', channel: 'C0OTHER' });
      await send({ text: 'reaction', fields: { type: 'reaction_added' } });
      await send({ text: 'a guest', userTeam: 'T0ELSEWHERE' });
      await send({ text: 'a user', fields: { type: 'user_change', user: { id: MIRA } } });
      await send({ eventId });
      await Promise.all(
        [1, 2, 3].map((n) => send({ eventId }, { headers: { 'x-slack-retry-num': String(n) } })),
      );
      await said(ts, 2);
      await send({ text: 'last' });
      expect((await said(ts, 3)).sort()).toEqual(
        [inThread(ts)[0], 'You said: last', 'You said: once'].sort(),
      );
    });
  }

  if (isDeep) {
    test('in a channel that is shared with another workspace, those of one’s own reply, and nobody else [slack.thread]', async () => {
      const { ts } = await ask(`shared ${randomUUID()}`);
      await said(ts, 1);
      const { teamId, appId } = scene.slack;
      const send = async (outer: object, event: object) => {
        const message = {
          type: 'message',
          channel: GENERAL,
          user: MIRA,
          ts: '1800000000.000001',
          thread_ts: ts,
        };
        const body = JSON.stringify({
          ...{ type: 'event_callback', api_app_id: appId, event_id: `Ev${randomUUID()}`, ...outer },
          event: { ...message, ...event },
        });
        const { url } = scene.gateway;
        return await scene.slack.send(url, '/v1/slack/events', body, 'application/json');
      };
      const foreign = { team_id: 'T0ELSEWHERE', context_team_id: teamId, is_ext_shared_channel: true };
      // Slack says of which workspace whoever writes is, and for which one the app is told of it.
      await expectTaken(send(foreign, { text: 'foreign', team: 'T0ELSEWHERE' }));
      await expectTaken(send(foreign, { text: 'nobody’s' }));
      await expectTaken(send(foreign, { text: 'ours', team: 'T0ELSEWHERE', user_team: teamId }));
      await expectTaken(send({ team_id: teamId }, { text: 'plain' }));
      expect((await send({ team_id: 'T0ELSEWHERE' }, { text: 'forged', team: teamId })).status).toBe(403);
      expect((await said(ts, 3)).slice(1).sort()).toEqual(['You said: ours', 'You said: plain']);
    });
  }

  test('a session that only has the name of a thread gets nothing posted there [slack.thread]', async () => {
    const { ts } = await ask(`real ${randomUUID()}`);
    await said(ts, 1);
    const name = `slack:${scene.slack.teamId}:${GENERAL}:${ts}`;
    for (const sessionId of [name, `${name}:`, `${name}:${'A'.repeat(22)}`]) {
      const names = { app: 'shop', userId: 'eve', sessionId };
      const turn = await scene.environment.client.sendMessage({ ...names, message: 'leak this' });
      await turn.result();
      await scene.environment.client.sendMessage({
        ...names,
        message: `call pay ${JSON.stringify({ order: 'forged', cents: 1 })}`,
      });
      const request = await until(async () => {
        const [found] = await scene.environment.client.approvals.list(names);
        if (found === undefined) throw new Error('nobody was asked');
        return found;
      });
      expect((await scene.messageOf(request)).channel).toBe(CHANNEL);
    }
    expect(inThread(ts)).toHaveLength(1);
  });

  test('a command without a question says how it is used [slack.thread]', async () => {
    const command = { user: 'U0NEWCOMER', channel: GENERAL, command: '/ask', text: ' ' };
    await expectTaken(scene.slack.command(scene.gateway.url, command));
    await until(() => expect(toldTo(scene, 'U0NEWCOMER').join()).toContain('/ask and your question'));
  });
});
