import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../setup/until.ts';
import {
  buttonsOf,
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

describe.concurrent('decisions in Slack', () => {
  let scene: SlackScene;
  beforeAll(async () => {
    scene = await openSlackScene();
  });
  afterAll(async () => {
    expect(scene.slack.refusals).toEqual([]);
    await scene.close();
  });

  test('an approver’s click runs the call, is theirs in the audit, and the message shows it [slack.approve]', async () => {
    const asked = await scene.ask('pay');
    const { message, request, names } = asked;
    expect(message.channel).toBe(CHANNEL);
    expect(drawnIn(message)).toContain('"FH-12529"');
    expect(buttonsOf(message)).toEqual(['approve', 'reject', 'edit', 'open']);
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: MIRA }));
    await until(() => expect(scene.ran).toContain(`${request.callKey} 700`));
    expect(await scene.now(asked)).toMatchObject({
      status: 'approved',
      votes: [{ by: { principal: 'mira', verified: true, channel: 'slack' }, confirmed: true }],
    });
    await until(() => {
      expect(buttonsOf(message)).toEqual([]);
      expect(drawnIn(message)).toMatch(/Approved by mira, \d{4}-/);
    });
    await until(() => expect(toldTo(scene, MIRA).join()).toContain('You have approved it.'));
    expect(await scene.environment.client.approvals.verifyAudit(names)).toMatchObject({ ok: true });
  });

  test('a rejection asks for its reason, which the agent and the message have [slack.approve]', async () => {
    const asked = await scene.ask('pay');
    const { message, request } = asked;
    const before = scene.slack.views.length;
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Reject', user: OTTO }));
    const view = await until(() => {
      const found = scene.slack.views.find(({ privateMetadata }) =>
        privateMetadata.includes(request.requestId),
      );
      if (found === undefined) throw new Error(`no modal among ${scene.slack.views.length - before}`);
      return found;
    });
    expect(await scene.now(asked)).toMatchObject({ status: 'pending' });
    const values = { reason: 'older than a year, <!channel>' };
    await expectTaken(scene.slack.submitView(scene.gateway.url, { view, values }));
    await until(async () =>
      expect(await scene.now(asked)).toMatchObject({
        status: 'rejected',
        reason: 'older than a year, <!channel>',
        votes: [{ by: { principal: 'otto', verified: true, channel: 'slack' }, confirmed: false }],
      }),
    );
    await until(() => expect(drawnIn(message)).toContain('Reason: older than a year, &lt;!channel&gt;'));
    expect(scene.ran.join()).not.toContain(request.callKey);
  });

  test('what an approver edits runs, checked by the tool’s schema [slack.approve]', async () => {
    const asked = await scene.ask('pay');
    const { message, request } = asked;
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Edit', user: MIRA }));
    const view = await until(() => {
      const found = scene.slack.views.find(({ privateMetadata }) =>
        privateMetadata.includes(request.requestId),
      );
      if (found === undefined) throw new Error('no modal');
      return found;
    });
    expect(view.initial).toEqual({ 'json:0': '700', 'text:1': 'FH-12529' });
    const wrong = await scene.slack.submitView(scene.gateway.url, { view, values: { 'json:0': 'a lot' } });
    expect(await wrong.json()).toMatchObject({ response_action: 'errors', errors: { 'json:0': /./ } });
    await expectTaken(scene.slack.submitView(scene.gateway.url, { view, values: { 'json:0': '"a lot"' } }));
    await until(() => expect(toldTo(scene, MIRA).join('\n')).toMatch(/Nothing was decided: .*cents/));
    expect(await scene.now(asked)).toMatchObject({ status: 'pending' });
    await expectTaken(scene.slack.submitView(scene.gateway.url, { view, values: { 'json:0': '500' } }));
    await until(() => expect(scene.ran).toContain(`${request.callKey} 500`));
    await until(() => expect(drawnIn(message)).toMatch(/with these arguments instead[\s\S]*500/));
  });

  test('two of Slack’s users make a quorum; one of them makes none by clicking twice [slack.quorum]', async () => {
    const asked = await scene.ask('pay_two');
    const { message, request } = asked;
    const click = (user: string, action = 'Approve') =>
      scene.slack.click(scene.gateway.url, { message, action, user });
    await Promise.all([expectTaken(click(MIRA)), expectTaken(click(MIRA))]);
    await until(() => expect(drawnIn(message)).toContain('1 of 2 approvals: mira'));
    await until(() => expect(toldTo(scene, MIRA).join()).toContain('You have already decided this.'));
    expect(await scene.now(asked)).toMatchObject({
      status: 'pending',
      votes: [{ by: { principal: 'mira' } }],
    });
    await expectTaken(click(MIRA, 'Take my vote back'));
    await until(() => expect(drawnIn(message)).toContain('0 of 2 approvals'));
    await expectTaken(click(OTTO));
    await until(() => expect(drawnIn(message)).toContain('1 of 2 approvals: otto'));
    expect(scene.ran.join()).not.toContain(request.callKey);
    await expectTaken(click(MIRA));
    await until(() => expect(scene.ran).toContain(`${request.callKey} 700`));
    await until(() => expect(drawnIn(message)).toMatch(/Approved by otto, mira/));
  });

  test('whom nobody knows is told so, and nothing is decided [slack.verify]', async () => {
    const asked = await scene.ask('pay');
    const { message } = asked;
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: EVE }));
    await until(() => expect(toldTo(scene, EVE).join()).toContain(`your Slack id, ${EVE}`));
    expect(await scene.now(asked)).toMatchObject({ status: 'pending', votes: [] });
  });

  test('decided elsewhere while the message is open: it shows so, and a click that was under way changes nothing [slack.ended]', async () => {
    const asked = await scene.ask('pay');
    const { message, request } = asked;
    const stale = { ...message, blocks: message.blocks };
    const decided = await fetch(`${scene.gateway.url}/v1/approvals/${request.requestId}/confirm`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-person': 'otto' },
      body: JSON.stringify({ confirmed: false, reason: 'no' }),
    });
    expect(decided.status).toBe(200);
    await until(() => {
      expect(buttonsOf(message)).toEqual([]);
      expect(drawnIn(message)).toContain('Rejected by otto');
    });
    await expectTaken(
      scene.slack.click(scene.gateway.url, { message: stale, action: 'Approve', user: MIRA }),
    );
    await until(() => expect(toldTo(scene, MIRA).join()).toMatch(/no longer open: Rejected by otto/));
    expect(await scene.now(asked)).toMatchObject({ status: 'rejected' });
    expect(scene.ran.join()).not.toContain(request.callKey);
  });

  test('one that expires shows so [slack.ended]', async () => {
    const { message } = await scene.ask('pay_soon');
    await until(() => {
      expect(drawnIn(message)).toContain('Expired');
      expect(buttonsOf(message)).toEqual([]);
    });
  });

  test('whoever opens the request gets a link that is theirs, and nobody else sees it [slack.approve]', async () => {
    const { message } = await scene.ask('pay');
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Open', user: MIRA }));
    await until(() =>
      expect(toldTo(scene, MIRA).join()).toMatch(
        /<https:\/\/agents\.example\.com\/a\/[\w.-]+\|Open the request>/,
      ),
    );
    expect(JSON.stringify(scene.slack.messages)).not.toContain('/a/ey');
    expect(scene.logged.join()).not.toContain('/a/ey');
  });

  test('a message of a session that was made again decides nothing of what is asked there now, and says so [slack.shown]', async () => {
    const turn = { sessionId: randomUUID(), messageId: randomUUID() };
    const before = await scene.ask('pay', { order: 'FH-1', cents: 100 }, turn);
    const stale = { ...before.message };
    const modal = async () => {
      await expectTaken(
        scene.slack.click(scene.gateway.url, { message: stale, action: 'Reject', user: OTTO }),
      );
      const { requestId } = before.request;
      return await until(() => {
        const found = scene.slack.views.find((view) => view.privateMetadata.includes(requestId));
        if (found === undefined) throw new Error('no modal');
        return found;
      });
    };
    const view = await modal();
    const { client } = scene.environment;
    await client.sessions.delete({ ...before.names, cancelRunning: true });
    const asked = await scene.askSilently('pay', { order: 'FH-2', cents: 99_900 }, turn);
    expect([asked.request.requestId, asked.request.session === before.request.session]).toEqual([
      before.request.requestId,
      false,
    ]);
    const message = await until(() => {
      const found = scene.slack.messages.find((one) => drawnIn(one).includes('99900'));
      if (found === undefined) throw new Error('nothing was posted');
      return found;
    });
    const refusals = () =>
      [MIRA, OTTO]
        .flatMap((user) => toldTo(scene, user))
        .filter((told) => /another message has replaced it/.test(told)).length;
    await expectTaken(
      scene.slack.click(scene.gateway.url, { message: stale, action: 'Approve', user: MIRA }),
    );
    await until(() => expect(refusals()).toBe(1));
    await until(() => expect(drawnIn(before.message)).toContain('Another message shows the current one'));
    expect(buttonsOf(before.message)).toEqual([]);
    await expectTaken(scene.slack.submitView(scene.gateway.url, { view, values: { reason: 'old' } }));
    await until(() => expect(refusals()).toBe(2));
    expect(await scene.now(asked)).toMatchObject({ status: 'pending', votes: [], history: [] });
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: MIRA }));
    await until(() => expect(scene.ran).toContain(`${asked.request.callKey} 99900`));
  });

  test('arguments that nobody sees keep nobody from deciding [slack.shown]', async () => {
    const { message, request } = await scene.ask('pay_secretly', { order: 'FH-secret', cents: 3 });
    expect(drawnIn(message)).toContain('(sensitive)');
    expect(drawnIn(message)).not.toContain('FH-secret');
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: MIRA }));
    await until(() => expect(scene.ran).toContain(`${request.callKey} 3`));
  });
});
