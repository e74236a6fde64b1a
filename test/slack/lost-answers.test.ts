import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { NoticeContext, NotifiedRequest, Notifier } from '../../src/approvals/notifier.ts';
import { slack } from '../../src/slack/index.ts';
import { startSlackStandIn } from '../../src/testing/slack-stand-in.ts';
import type { SlackStandIn } from '../../src/testing/slack-workspace.ts';
import { until } from '../setup/until.ts';
import { CHANNEL, drawnIn, expectTaken, MIRA, openSlackScene, type SlackScene } from './slack-scene.ts';

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
    const note = () => scene.environment.store.findNote('slack', `${CHANNEL}:${message.ts}`);
    await until(async () => expect(await note()).toMatchObject({ requestId: asked.request.requestId }));
    expect(times('chat.postMessage') - before).toBe(1);
    expect(about(asked.request.requestId)).toHaveLength(1);
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: MIRA }));
    await until(() => expect(scene.ran).toContain(`${asked.request.callKey} 700`));
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
  let standIn: SlackStandIn;
  let notifier: Notifier;
  beforeAll(async () => {
    standIn = await startSlackStandIn();
    ({ notifier } = slack({
      botToken: standIn.botToken,
      signingSecret: standIn.signingSecret,
      appId: standIn.appId,
      teamIds: [standIn.teamId],
      channel: CHANNEL,
      persons: {},
      slackApiUrl: standIn.url,
    }));
  });
  afterAll(async () => await standIn.close());

  const notes = new Map<string, unknown>();
  const contextOf = (signal: AbortSignal): NoticeContext => ({
    since: Date.now(),
    signal,
    linkFor: () => undefined,
    kept: async (requestId) => notes.get(requestId),
    keep: async (requestId, value) => {
      notes.set(requestId, structuredClone(value));
    },
  });
  const forever = new AbortController().signal;
  const request = (): NotifiedRequest => ({
    ...{ requestId: `rq-${randomUUID()}`, kind: 'confirmation', app: 'shop', userId: 'ada', sessionId: 's1' },
    ...{ agent: 'cashier', path: ['cashier'], tool: 'pay', callKey: 'k', callId: 'c', hint: '', args: {} },
    ...{ terms: {}, since: Date.now(), commands: [], links: {} },
  });

  test('posts nothing more once nobody waits for the attempt [slack.once]', async () => {
    const attempt = new AbortController();
    const requests = [request(), request(), request()];
    const context = contextOf(attempt.signal);
    const keep: NoticeContext['keep'] = async (requestId, value) => {
      if (requestId === requests[1]?.requestId) attempt.abort();
      await context.keep(requestId, value);
    };
    const before = standIn.calls.length;
    const told = notifier.notify(requests, 'opened', { ...context, keep });
    await expect(told).rejects.toThrow();
    expect(standIn.calls.length).toBe(before + 1);
  });

  test('posts nothing while another attempt does, and nothing after it [slack.once]', async () => {
    const asked = request();
    const before = standIn.messages.length;
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
    expect(standIn.messages.length - before).toBe(1);
  });
});
