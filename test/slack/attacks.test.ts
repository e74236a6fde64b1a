import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { slackHeaders } from '../../src/testing/slack-sign.ts';
import { until } from '../setup/until.ts';
import {
  type AskedInSlack,
  expectTaken,
  MIRA,
  openSlackScene,
  type SlackScene,
  toldTo,
} from './slack-scene.ts';

const FORM = 'application/x-www-form-urlencoded';
const INTERACTIONS = '/v1/slack/interactions';

describe('what only looks like Slack', () => {
  let scene: SlackScene;
  let asked: AskedInSlack;
  beforeAll(async () => {
    scene = await openSlackScene();
    asked = await scene.ask('pay');
  });
  afterAll(async () => await scene.close());

  const body = () => scene.slack.clickBody({ message: asked.message, action: 'Approve', user: MIRA });
  const seconds = (offset = 0) => Math.floor(Date.now() / 1_000) + offset;
  const undecided = async () =>
    expect(await scene.now(asked)).toMatchObject({ status: 'pending', votes: [], history: [] });

  /** As bytes, so that nothing puts the headers in order. */
  function sendRaw(text: string, headers: readonly string[], path = INTERACTIONS): Promise<number> {
    const { port } = new URL(scene.gateway.url);
    return new Promise((resolve, reject) => {
      const socket = connect(Number(port), '127.0.0.1');
      let answer = '';
      socket.on('data', (chunk: Buffer) => {
        answer += chunk.toString('latin1');
        const status = /^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1];
        if (status === undefined) return;
        socket.destroy();
        resolve(Number(status));
      });
      socket.once('error', reject);
      const lines = [
        `POST ${path} HTTP/1.1`,
        `host: 127.0.0.1:${port}`,
        `content-length: ${Buffer.byteLength(text)}`,
        ...headers,
      ];
      socket.write(`${lines.join('\r\n')}\r\n\r\n${text}`);
    });
  }
  const lines = (headers: Record<string, string>) =>
    Object.entries(headers).map(([name, value]) => `${name}: ${value}`);

  test.each<[string, Parameters<SlackScene['slack']['click']>[2], number]>([
    ['signed by another app’s secret', { signingSecret: 'another-app’s-secret' }, 401],
    ['five minutes old', { timestamp: Math.floor(Date.now() / 1_000) - 301 }, 401],
    ['from the future', { timestamp: Math.floor(Date.now() / 1_000) + 900 }, 401],
    ['of another workspace', { teamId: 'T0ELSEWHERE' }, 403],
    ['of another app', { appId: 'A0ELSEWHERE' }, 403],
    ['without a signature', { headers: { 'x-slack-signature': '' } }, 401],
    ['with a shorter signature', { headers: { 'x-slack-signature': 'v0=00' } }, 401],
    [
      'with a signature of another version',
      { headers: { 'x-slack-signature': `v1=${'0'.repeat(64)}` } },
      401,
    ],
    ['without a time', { headers: { 'x-slack-request-timestamp': '' } }, 401],
    ['with a time that is no number', { headers: { 'x-slack-request-timestamp': '1e9' } }, 401],
    ['of another type', { headers: { 'content-type': 'text/plain' } }, 415],
    [
      'of a type that forms of pages send',
      { headers: { 'content-type': 'multipart/form-data; boundary=x' } },
      415,
    ],
    ['said to be compressed', { headers: { 'content-encoding': 'gzip' } }, 415],
  ])('a click %s decides nothing [slack.verify]', async (_how, forged, status) => {
    const click = { message: asked.message, action: 'Approve', user: MIRA };
    const answer = await scene.slack.click(scene.gateway.url, click, forged);
    expect(answer.status).toBe(status);
    await undecided();
  });

  test('a user of another workspace, in a shared channel, decides nothing [slack.verify]', async () => {
    const click = { message: asked.message, action: 'Approve', user: MIRA, userTeam: 'T0ELSEWHERE' };
    expect((await scene.slack.click(scene.gateway.url, click)).status).toBe(403);
    await undecided();
  });

  test('a user of no workspace decides nothing [slack.verify]', async () => {
    const payload = JSON.parse(new URLSearchParams(body()).get('payload') ?? '');
    const { team_id: _, ...user } = payload.user;
    for (const stranger of [user, { ...user, team_id: null }, { ...user, team_id: '' }]) {
      const text = new URLSearchParams({
        payload: JSON.stringify({ ...payload, user: stranger }),
      }).toString();
      expect((await scene.slack.send(scene.gateway.url, INTERACTIONS, text, FORM)).status).toBe(400);
    }
    await undecided();
  });

  test('two of a header, a changed body and a body that is cut decide nothing [slack.verify]', async () => {
    const text = body();
    const signed = slackHeaders(text, scene.slack.signingSecret, seconds());
    const good: Record<string, string> = { 'content-type': FORM, ...signed };
    const forged = slackHeaders(text, 'other', seconds());
    for (const name of ['x-slack-signature', 'x-slack-request-timestamp'] as const) {
      for (const twice of [
        [...lines(good), `${name}: ${forged[name]}`],
        [`${name.toUpperCase()}: ${forged[name]}`, ...lines(good)],
        [...lines(good), `${name}: ${good[name]}`],
      ]) {
        expect(await sendRaw(text, twice)).toBe(401);
      }
    }
    expect(await sendRaw(text, [...lines(good), 'content-type: application/json'])).toBe(401);
    expect(await sendRaw(text.replace('Approve', 'Reject '), lines(good))).toBe(401);
    expect(await sendRaw(text.slice(0, -1), lines(good))).toBe(401);
    expect(await sendRaw(`${text} `, lines(good))).toBe(401);
    await undecided();
  });

  test('a huge body is refused before all of it is read [slack.verify]', async () => {
    const huge = `payload=${'x'.repeat(1024 * 1024)}`;
    const answer = await scene.slack.send(scene.gateway.url, INTERACTIONS, huge, FORM);
    expect(answer.status).toBe(413);
    await undecided();
  });

  test.each([
    ['no payload', 'other=1'],
    ['no JSON', 'payload=%7B'],
    ['null', 'payload=null'],
    ['a list', 'payload=%5B%5D'],
    [
      'no actions',
      `payload=${encodeURIComponent(JSON.stringify({ type: 'block_actions', api_app_id: 'A0HOLDFAST' }))}`,
    ],
  ])('signed nonsense, %s, is refused, and quoted nowhere [slack.verify]', async (_what, nonsense) => {
    const answer = await scene.slack.send(scene.gateway.url, INTERACTIONS, nonsense, FORM);
    expect(answer.status).toBe(400);
    expect(scene.logged.filter((line) => line.startsWith('error'))).toEqual([]);
  });

  test('a button that somebody with the bot’s token has posted decides nothing [slack.verify]', async () => {
    const place = { channel: asked.message.channel, ts: '1700000000.000001' };
    const message = { ...asked.message, ...place };
    await expectTaken(scene.slack.click(scene.gateway.url, { message, action: 'Approve', user: MIRA }));
    await until(() => expect(toldTo(scene, MIRA).join()).toContain('this message isn’t from Holdfast'));
    const other = await scene.ask('pay');
    const { requestId } = other.request;
    const swapped = { message: asked.message, action: 'Approve', user: MIRA, value: requestId };
    const text = scene.slack.clickBody(swapped);
    await expectTaken(scene.slack.send(scene.gateway.url, INTERACTIONS, text, FORM));
    await until(() =>
      expect(toldTo(scene, MIRA).filter((told) => told.includes('isn’t from Holdfast'))).toHaveLength(2),
    );
    expect(await scene.now(other)).toMatchObject({ status: 'pending', votes: [] });
    await undecided();
  });

  test('answers go to Slack and nowhere else, wherever a click says [slack.verify]', async () => {
    const elsewhere = scene.gateway.url;
    const before = scene.logged.length;
    for (const responseUrl of [
      `${elsewhere}/v1/health`,
      'http://169.254.169.254/latest/meta-data',
      'https://hooks.slack.com.evil.example/x',
      'https://hooks.slack.com@evil.example/x',
      'https://hooks.slack.com:8443/x',
      'http://hooks.slack.com/x',
      'file:///etc/passwd',
      'nothing',
    ]) {
      const told = scene.slack.whispers.length;
      const click = { message: asked.message, action: 'Approve', user: 'U0EVE' };
      await expectTaken(scene.slack.click(scene.gateway.url, click, { responseUrl }));
      await until(() => expect(scene.slack.whispers.length).toBeGreaterThan(told));
    }
    expect(
      scene.slack.calls.filter((method) => method === 'chat.postEphemeral').length,
    ).toBeGreaterThanOrEqual(8);
    expect(scene.logged.slice(before).filter((line) => line.includes('/v1/health'))).toEqual([]);
    await undecided();
  });

  test('events: Slack’s challenge is answered only where it is signed [slack.verify]', async () => {
    const challenge = JSON.stringify({ type: 'url_verification', token: 't', challenge: 'c-123' });
    const send = (forged = {}) =>
      scene.slack.send(scene.gateway.url, '/v1/slack/events', challenge, 'application/json', forged);
    expect(await (await send()).json()).toEqual({ challenge: 'c-123' });
    expect((await send({ signingSecret: 'other' })).status).toBe(401);
  });

  test('a click that is sent again, as it was, counts once [slack.replay]', async () => {
    const text = body();
    const timestamp = seconds();
    const send = () => scene.slack.send(scene.gateway.url, INTERACTIONS, text, FORM, { timestamp });
    await expectTaken(send());
    await until(async () => expect(await scene.now(asked)).toMatchObject({ status: 'approved' }));
    const told = () => toldTo(scene, MIRA).filter((each) => /approved|no longer/.test(each)).length;
    await until(() => expect(told()).toBe(1));
    await Promise.all(Array.from({ length: 10 }, () => expectTaken(send())));
    const last = await scene.ask('pay');
    await expectTaken(
      scene.slack.click(scene.gateway.url, { message: last.message, action: 'Approve', user: 'U0EVE' }),
    );
    await until(() => expect(toldTo(scene, 'U0EVE').length).toBeGreaterThan(8));
    expect(told()).toBe(1);
    expect(scene.ran.filter((each) => each.startsWith(asked.request.callKey))).toHaveLength(1);
  });

  test('no secret is in what the gateway logs, and no name of a user [slack.secret]', () => {
    const logged = scene.logged.join('\n');
    for (const secret of [scene.slack.botToken, scene.slack.signingSecret, '/actions/', MIRA, 'FH-12529']) {
      expect(logged).not.toContain(secret);
    }
    expect(JSON.stringify(scene.slack.messages)).not.toContain(scene.slack.signingSecret);
  });
});
