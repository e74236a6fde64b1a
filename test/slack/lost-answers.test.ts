import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { NoticeContext, Notifier } from '../../src/approvals/notifier.ts';
import { slack } from '../../src/slack/index.ts';
import { startMockSlack } from '../../src/testing/mock-slack.ts';
import type { MockSlack } from '../../src/testing/slack-workspace.ts';
import { until } from '../setup/until.ts';
import { noticeContext, notifiedRequest } from './noted-requests.ts';
import {
  buttonsOf,
  CHANNEL,
  drawnIn,
  expectTaken,
  MIRA,
  openSlackScene,
  type SlackScene,
  toldTo,
} from './slack-scene.ts';

const GENERAL = 'C0GENERAL';

describe('Slack does what it is asked for, and its answer is lost', () => {
  let scene: SlackScene;
  beforeAll(async () => {
    scene = await openSlackScene();
  });
  afterEach(() => scene.slack.become('up'));
  afterAll(async () => {
    expect(scene.slack.refusals).toEqual([]);
    await scene.close();
  });

  const about = (requestId: string) =>
    scene.slack.messages.filter(({ blocks }) => JSON.stringify(blocks).includes(`"${requestId}"`));
  const times = (method: string) => scene.slack.calls.filter((called) => called === method).length;

  test('a request is posted once, and its buttons decide [slack.once]', async () => {
    const before = times('chat.postMessage');
    scene.slack.become({ mute: 'chat.postMessage' });
    const asked = await scene.askSilently('pay');
    const message = await scene.messageOf(asked.request);
    const note = () => scene.environment.store.notices.findNote('slack', `${CHANNEL}:${message.ts}`);
    await until(async () => expect(await note()).toMatchObject({ requestId: asked.request.requestId }));
    expect(times('chat.postMessage') - before).toBe(1);
    expect(about(asked.request.requestId)).toHaveLength(1);
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: MIRA }));
    await until(() => expect(scene.ran).toContain(`${asked.request.callKey} 700`));
  });

  test('a click on a message that isn’t noted yet decides nothing, and leaves it its buttons [slack.once]', async () => {
    const { message, request } = await scene.ask('pay');
    const { store } = scene.environment;
    const { requestId } = request;
    const note = () => store.notices.findNote('slack', `${CHANNEL}:${message.ts}`);
    const found = await until(async () => {
      const kept = await note();
      if (kept === undefined) throw new Error('nothing was noted');
      return kept;
    });
    const keep = (value: unknown, place: string) =>
      store.notices.saveNote({ notifier: 'slack', requestId, session: found.session, value, place });
    await keep({ posting: { at: Date.now(), isOver: true } }, 'nowhere');
    // Longer ago than a click waits for the note.
    message.ts = `${Math.floor(Date.now() / 1_000) - 120}.000001`;
    const click = () => scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: MIRA });
    await expectTaken(click());
    await until(() => expect(toldTo(scene, MIRA).join()).toContain('Click again in a moment'));
    expect(buttonsOf(message)).toContain('approve');
    expect(scene.ran).not.toContain(`${request.callKey} 700`);
    await keep({ ...(found.value as object), ts: message.ts }, `${CHANNEL}:${message.ts}`);
    await expectTaken(click());
    await until(() => expect(scene.ran).toContain(`${request.callKey} 700`));
  });

  test('the answer of a turn is posted once [slack.once]', async () => {
    const text = `hello ${randomUUID()}`;
    await expectTaken(
      scene.slack.command(scene.gateway.url, { user: MIRA, channel: GENERAL, command: '/ask', text }),
    );
    const { ts: threadTs } = await until(() => {
      const found = scene.slack.messages.find((one) => drawnIn(one).includes(text));
      if (found === undefined) throw new Error('no thread was begun');
      return found;
    });
    const inThread = () => scene.slack.messages.filter((one) => one.threadTs === threadTs).map(drawnIn);
    await until(() => expect(inThread()).toHaveLength(1));
    const before = times('chat.postMessage');
    scene.slack.become({ mute: 'chat.postMessage' });
    const reply = { user: MIRA, channel: GENERAL, threadTs, text: 'more' };
    await expectTaken(scene.slack.reply(scene.gateway.url, reply));
    await until(() => expect(inThread()).toHaveLength(2));
    const { sessions } = await scene.environment.client.sessions.list({ app: 'shop', userId: 'mira' });
    const sessionId = sessions.find((session) => session.sessionId.includes(threadTs))?.sessionId ?? '';
    const names = { app: 'shop', userId: 'mira', sessionId };
    await until(async () => expect(await scene.environment.client.status(names)).toBeUndefined());
    expect(times('chat.postMessage') - before).toBe(1);
    expect(inThread()).toHaveLength(2);
  });
});

describe('a notifier of Slack that is asked again', () => {
  let mock: MockSlack;
  let notifier: Notifier;
  beforeAll(async () => {
    mock = await startMockSlack();
    ({ notifier } = slack({
      botToken: mock.botToken,
      signingSecret: mock.signingSecret,
      appId: mock.appId,
      teamIds: [mock.teamId],
      channel: CHANNEL,
      persons: {},
      slackApiUrl: mock.url,
    }));
  });
  afterAll(async () => await mock.close());

  const notes = new Map<string, unknown>();
  const contextOf = (signal: AbortSignal) => noticeContext(notes, signal);
  const forever = new AbortController().signal;

  test('posts nothing more once nobody waits for the attempt [slack.once]', async () => {
    const attempt = new AbortController();
    const requests = [notifiedRequest(), notifiedRequest(), notifiedRequest()];
    const context = contextOf(attempt.signal);
    const keep: NoticeContext['keep'] = async (requestId, value) => {
      if (requestId === requests[1]?.requestId) attempt.abort();
      await context.keep(requestId, value);
    };
    const before = mock.calls.length;
    const told = notifier.notify(requests, 'opened', { ...context, keep });
    await expect(told).rejects.toThrow();
    expect(mock.calls.length).toBe(before + 1);
  });

  test('posts nothing while another attempt does, and nothing after it [slack.once]', async () => {
    const asked = notifiedRequest();
    const before = mock.messages.length;
    const context = contextOf(forever);
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
    const { promise: free, resolve: release } = Promise.withResolvers<void>();
    const keep: NoticeContext['keep'] = async (requestId, value) => {
      await context.keep(requestId, value);
      begin();
      await free;
    };
    const first = notifier.notify([asked], 'opened', { ...context, keep });
    await begun;
    await expect(notifier.notify([asked], 'opened', contextOf(forever))).rejects.toMatchObject({
      retryAfter: expect.any(Number),
    });
    release();
    await first;
    await notifier.notify([asked], 'opened', contextOf(forever));
    expect(mock.messages.length - before).toBe(1);
  });
});
