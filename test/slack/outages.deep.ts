import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../setup/until.ts';
import {
  buttonsOf,
  drawnIn,
  expectTaken,
  MIRA,
  OTTO,
  openSlackScene,
  type SlackScene,
  toldTo,
} from './slack-scene.ts';

describe('Slack, or the workers, away', () => {
  let scene: SlackScene;
  beforeAll(async () => {
    scene = await openSlackScene();
  });
  afterEach(() => scene.slack.become('up'));
  afterAll(async () => await scene.close());

  test('a request made while Slack is down is posted once it is back, and can be decided meanwhile [slack.outage]', async () => {
    scene.slack.become('down');
    const waiting = await scene.askSilently('pay');
    const decided = await scene.askSilently('pay');
    const { requestId } = decided.request;
    const answer = await fetch(`${scene.gateway.url}/v1/approvals/${requestId}/confirm`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-person': 'mira' },
      body: JSON.stringify({ confirmed: true }),
    });
    expect(answer.status).toBe(200);
    await until(() => expect(scene.ran).toContain(`${decided.request.callKey} 700`));
    expect(scene.slack.messages).toEqual([]);
    scene.slack.become('up');
    const message = await scene.messageOf(waiting.request);
    expect(buttonsOf(message)).toContain('approve');
    expect(JSON.stringify(scene.slack.messages)).not.toContain(requestId);
  });

  test('Slack that takes no more for a while is asked again after that, and one message is posted [slack.outage]', async () => {
    scene.slack.become({ rateLimited: 2 });
    const before = scene.slack.calls.length;
    const { request } = await scene.askSilently('pay');
    await until(() => expect(scene.slack.calls.length).toBeGreaterThan(before));
    const refused = Date.now();
    scene.slack.become('up');
    await scene.messageOf(request);
    // The next attempt comes no sooner than Slack has said, whatever the first one took to be told of.
    expect(Date.now() - refused).toBeGreaterThan(1_000);
    const posted = scene.slack.messages.filter(({ blocks }) =>
      JSON.stringify(blocks).includes(request.requestId),
    );
    expect(posted).toHaveLength(1);
  });

  test('a click while Slack is slow, and then down, is answered in time and counts [slack.outage]', async () => {
    const slow = await scene.ask('pay');
    const { promise: held, resolve: release } = Promise.withResolvers<void>();
    scene.slack.become({ slow: held });
    // Answered, and done, while Slack answers nothing.
    await expectTaken(
      scene.slack.click(scene.gateway.url, { message: slow.message, action: 'Approve', user: MIRA }),
    );
    await until(() => expect(scene.ran).toContain(`${slow.request.callKey} 700`));
    release();
    scene.slack.become('up');
    const down = await scene.ask('pay');
    scene.slack.become('down');
    await expectTaken(
      scene.slack.click(scene.gateway.url, { message: down.message, action: 'Approve', user: OTTO }),
    );
    await until(() => expect(scene.ran).toContain(`${down.request.callKey} 700`));
    scene.slack.become('up');
    // The notice of its end is tried again, until the message shows it.
    await until(() => expect(drawnIn(down.message)).toContain('Approved by otto'));
    expect(buttonsOf(down.message)).toEqual([]);
  });

  test('a click while no worker is up is answered in time, and counts once one is [slack.outage]', async () => {
    const asked = await scene.ask('pay');
    const { message, request } = asked;
    await scene.environment.stopWorker();
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: OTTO }));
    await until(() => expect(toldTo(scene, OTTO).join()).toContain('It counts as soon as a worker runs'));
    expect(await scene.now(asked)).toMatchObject({ status: 'pending' });
    await scene.environment.restartWorker();
    await until(() => expect(scene.ran).toContain(`${request.callKey} 700`));
    await until(() => expect(drawnIn(message)).toContain('Approved by otto'));
  });

  test('a message that somebody has deleted keeps nothing waiting [slack.outage]', async () => {
    const { message, request, names } = await scene.ask('pay');
    message.ts = `gone ${randomUUID()}`;
    const answer = await fetch(`${scene.gateway.url}/v1/approvals/${request.requestId}/confirm`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-person': 'mira' },
      body: JSON.stringify({ confirmed: true }),
    });
    expect(answer.status).toBe(200);
    await until(() => expect(scene.ran).toContain(`${request.callKey} 700`));
    await until(async () => expect(await scene.environment.client.status(names)).toBeUndefined());
    expect(await scene.environment.store.notices.listDeadNotices()).toEqual([]);
  });
});
