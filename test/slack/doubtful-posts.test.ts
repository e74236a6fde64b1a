import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { EndedRequest, NoticeContext } from '../../src/approvals/notifier.ts';
import type { PluginParams } from '../../src/plugins/plugin-failed.ts';
import { SlackApp } from '../../src/slack/slack-app.ts';
import { SlackNotifier } from '../../src/slack/slack-notifier.ts';
import { SlackPlugin } from '../../src/slack/slack-plugin.ts';
import { sessionOfThread } from '../../src/slack/thread-session.ts';
import { startMockSlack } from '../../src/testing/mock-slack.ts';
import type { MockSlack } from '../../src/testing/slack-workspace.ts';
import { until } from '../setup/until.ts';
import { noticeContext, notifiedRequest } from './noted-requests.ts';
import { buttonsOf, CHANNEL, drawnIn } from './slack-scene.ts';

const POST = 'chat.postMessage';
const LOOK = 'conversations.replies';
const HOUR = 3_600_000;

describe('a post of which nobody knows what came of it', () => {
  let slack: MockSlack;
  let app: SlackApp;
  let notifier: SlackNotifier;
  /** Gives Slack up soon, for posts whose answer never comes. */
  let hasty: SlackApp;
  beforeAll(async () => {
    slack = await startMockSlack();
    const options = {
      botToken: slack.botToken,
      signingSecret: slack.signingSecret,
      appId: slack.appId,
      teamIds: [slack.teamId],
      channel: CHANNEL,
      persons: { U0MIRA: 'mira' },
      slackApiUrl: slack.url,
    };
    app = new SlackApp(options);
    notifier = new SlackNotifier(app);
    hasty = new SlackApp(options, { call: 1_000 });
  });
  afterEach(() => slack.become('up'));
  afterAll(async () => {
    expect(slack.refusals).toEqual([]);
    await slack.close();
  });

  const notes = new Map<string, unknown>();
  const context = noticeContext(notes);
  const about = (requestId: string) =>
    slack.messages.filter(({ blocks }) => JSON.stringify(blocks).includes(`"${requestId}"`));
  const times = (method: string) => slack.calls.filter((called) => called === method).length;
  const begunAgo = (requestId: string, time: number) =>
    notes.set(requestId, { posting: { at: Date.now() - time, isOver: true } });
  const inThread = (ts: string) => slack.messages.filter(({ threadTs }) => threadTs === ts);

  async function newThread() {
    const text = `thread ${randomUUID()}`;
    const { ts } = await app.api.post(CHANNEL, { text, blocks: [] });
    const sessionId = sessionOfThread({ team: slack.teamId, channel: CHANNEL, ts }, slack.signingSecret);
    return { ts, sessionId };
  }

  test('is looked for again, and not posted anew, while Slack may post it yet [slack.once]', async () => {
    const request = notifiedRequest();
    const { requestId } = request;
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    slack.become({ slow: held, method: POST });
    await expect(new SlackNotifier(hasty).notify([request], 'opened', context)).rejects.toThrow();
    slack.become('up');
    begunAgo(requestId, 0);
    const again = notifier.notify([request], 'opened', context);
    await expect(again).rejects.toMatchObject({ retryAfter: expect.any(Number), final: false });
    release();
    await until(() => expect(about(requestId)).toHaveLength(1));
    await until(async () => await notifier.notify([request], 'opened', context));
    expect(notes.get(requestId)).toMatchObject({ ts: about(requestId)[0]?.ts });
    expect(about(requestId)).toHaveLength(1);
  });

  test('is posted anew once Slack would have shown it [slack.once]', async () => {
    const request = notifiedRequest();
    begunAgo(request.requestId, 31_000);
    await until(async () => await notifier.notify([request], 'opened', context));
    expect(about(request.requestId)).toHaveLength(1);
  });

  test('loses its buttons where its request has ended meanwhile, once Slack can be asked [slack.once]', async () => {
    const request = notifiedRequest();
    const { requestId } = request;
    const ended: EndedRequest = { ...request, status: 'expired', decidedAt: Date.now(), by: [] };
    slack.become({ mute: POST });
    await expect(new SlackNotifier(hasty).notify([request], 'opened', context)).rejects.toThrow();
    slack.become('down');
    await expect(notifier.ended([ended], context)).rejects.toThrow();
    slack.become('up');
    const [message] = about(requestId);
    if (message === undefined) throw new Error('nothing was posted');
    expect(buttonsOf(message)).not.toEqual([]);
    await until(async () => await notifier.ended([ended], context));
    expect(buttonsOf(message)).toEqual([]);
    expect(drawnIn(message)).toContain('Expired');
    expect(notes.get(requestId)).toMatchObject({ ts: message.ts });
  });

  test('of an escalation in a thread is found, for each request its own [slack.once]', async () => {
    const { ts, sessionId } = await newThread();
    const asked = [1, 2].map(() => notifiedRequest({ sessionId, terms: { escalateTo: ['mira'] } }));
    await until(async () => await notifier.notify(asked, 'opened', context));
    const escalations = () =>
      inThread(ts).filter((message) => drawnIn(message).includes('There is no decision yet'));
    for (const [index, request] of asked.entries()) {
      slack.become({ mute: POST });
      await expect(new SlackNotifier(hasty).notify([request], 'escalated', context)).rejects.toThrow();
      slack.become('up');
      await until(async () => await notifier.notify([request], 'escalated', context));
      expect(escalations()).toHaveLength(index + 1);
      expect(notes.get(request.requestId)).toMatchObject({ escalated: true });
    }
  });

  describe('by a worker whose clock is set wrong', () => {
    const storeNow = () => performance.timeOrigin + performance.now();
    const shared: NoticeContext = { ...context, now: async () => storeNow() };
    afterEach(() => void vi.useRealTimers());

    async function setWrongBy(offset: number, work: () => Promise<unknown>) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offset });
      await work();
      vi.useRealTimers();
    }

    test('an hour behind, is not posted twice [slack.once] [time.store]', async () => {
      const request = notifiedRequest();
      const { requestId } = request;
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      slack.become({ slow: held, method: POST });
      await setWrongBy(-HOUR, () =>
        expect(new SlackNotifier(hasty).notify([request], 'opened', shared)).rejects.toThrow(),
      );
      slack.become('up');
      const again = notifier.notify([request], 'opened', shared);
      await expect(again).rejects.toMatchObject({ retryAfter: expect.any(Number) });
      release();
      await until(() => expect(about(requestId)).toHaveLength(1));
      await notifier.notify([request], 'opened', shared);
      expect(about(requestId)).toHaveLength(1);
      expect(notes.get(requestId)).toMatchObject({ ts: about(requestId)[0]?.ts });
    });

    test('an hour behind, is not posted twice for an escalation [slack.once] [time.store]', async () => {
      const { ts, sessionId } = await newThread();
      const request = notifiedRequest({ sessionId, terms: { escalateTo: ['mira'] } });
      await notifier.notify([request], 'opened', shared);
      const posted = inThread(ts).length;
      const { promise: held, resolve: release } = Promise.withResolvers<void>();
      slack.become({ slow: held, method: POST });
      await setWrongBy(-HOUR, () =>
        expect(new SlackNotifier(hasty).notify([request], 'escalated', shared)).rejects.toThrow(),
      );
      slack.become('up');
      const again = notifier.notify([request], 'escalated', shared);
      await expect(again).rejects.toMatchObject({ retryAfter: expect.any(Number) });
      release();
      await until(() => expect(inThread(ts)).toHaveLength(posted + 1));
      await notifier.notify([request], 'escalated', shared);
      expect(inThread(ts)).toHaveLength(posted + 1);
    });

    test('an hour ahead that died, keeps nobody from posting it [slack.once] [time.store]', async () => {
      const request = notifiedRequest();
      const dying: NoticeContext = {
        ...shared,
        keep: async (requestId, value) => {
          await shared.keep(requestId, value);
          throw new Error('the worker dies');
        },
      };
      await setWrongBy(HOUR, () =>
        expect(notifier.notify([request], 'opened', dying)).rejects.toThrow('dies'),
      );
      await expect(notifier.notify([request], 'opened', shared)).rejects.toMatchObject({
        retryAfter: expect.any(Number),
      });
      const later: NoticeContext = { ...shared, now: async () => storeNow() + 31_000 };
      await notifier.notify([request], 'opened', later);
      expect(about(request.requestId)).toHaveLength(1);
    });

    test('an hour ahead, keeps nobody from telling that others may decide [slack.once] [time.store]', async () => {
      const { ts, sessionId } = await newThread();
      const request = notifiedRequest({ sessionId, terms: { escalateTo: ['mira'] } });
      await notifier.notify([request], 'opened', shared);
      const posted = inThread(ts).length;
      const dying: NoticeContext = {
        ...shared,
        keep: async (requestId, value, place) => {
          await shared.keep(requestId, value, place);
          throw new Error('the worker dies');
        },
      };
      await setWrongBy(HOUR, () =>
        expect(notifier.notify([request], 'escalated', dying)).rejects.toThrow('dies'),
      );
      const later: NoticeContext = { ...shared, now: async () => storeNow() + 31_000 };
      await notifier.notify([request], 'escalated', later);
      expect(inThread(ts)).toHaveLength(posted + 1);
    });
  });

  const answered = (sessionId: string, by: SlackApp) =>
    new SlackPlugin(by).afterRunCallback({
      invocationContext: {
        session: { id: sessionId, events: [] },
        invocationId: randomUUID(),
        agent: new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash' }),
      },
    } as unknown as PluginParams<'afterRunCallback'>);

  test('of an answer is looked for until it is seen [slack.once]', async () => {
    const { ts, sessionId } = await newThread();
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    slack.become({ slow: held, method: POST });
    const before = times(LOOK);
    const told = answered(sessionId, hasty);
    // Once before it is posted, once after that.
    await until(() => expect(times(LOOK) - before).toBeGreaterThanOrEqual(2));
    release();
    await told;
    expect(inThread(ts)).toHaveLength(1);
  });

  test('where none is in doubt, an answer is posted also where nobody may look [slack.once]', async () => {
    const { ts, sessionId } = await newThread();
    slack.become({ rateLimited: 600, method: LOOK });
    await answered(sessionId, app);
    expect(inThread(ts)).toHaveLength(1);
  });
});
