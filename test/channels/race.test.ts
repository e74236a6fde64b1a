import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linkUrl, signApprovalLink } from '../../src/approvals/approval-link.ts';
import { readPage, sendForm } from '../pages/browser-form.ts';
import { inTier } from '../setup/tier.ts';
import { until } from '../setup/until.ts';
import { type AskedInSlack, MIRA, OTTO, openSlackScene, type SlackScene } from '../slack/slack-scene.ts';

let scene: SlackScene;
beforeAll(async () => {
  scene = await openSlackScene();
});
afterAll(() => scene.close());

/** Each way to decide, made ready so that all of them can be used at one moment. */
async function waysTo(confirmed: boolean, { request, message }: AskedInSlack) {
  const { gateway, slack, credentialKeys } = scene;
  const { session, requestId } = request;
  const token = signApprovalLink(credentialKeys, { session, requestId, approver: 'otto' }, Date.now());
  const link = linkUrl(gateway.url, token);
  const page = await readPage(link);
  expect(page.status).toBe(200);
  return {
    http: () =>
      fetch(`${gateway.url}/v1/approvals/${requestId}/confirm`, {
        method: 'POST',
        headers: { 'x-person': 'mira', 'content-type': 'application/json' },
        body: JSON.stringify({ confirmed }),
      }),
    link: () => sendForm(link, page, { do: confirmed ? 'approve' : 'reject' }),
    // A rejection asks for its reason first: that takes part in no race.
    slack: () => slack.click(gateway.url, { message, action: 'Approve', user: OTTO }),
    slackOfMira: () => slack.click(gateway.url, { message, action: 'Approve', user: MIRA }),
  };
}

async function ended(asked: AskedInSlack) {
  return await until(async () => {
    const row = await scene.now(asked);
    expect(row?.status).not.toBe('pending');
    return row;
  });
}

describe.each(inTier([1], [1, 2, 3]))('a decision over several channels at once, round %i', () => {
  test('is one decision: the call runs once, and its message says who has approved [channel.race]', async () => {
    const asked = await scene.ask('pay');
    const { http, link, slack, slackOfMira } = await waysTo(true, asked);
    const [overHttp, byLink] = await Promise.all([http(), link(), slack(), slackOfMira()]);
    expect(overHttp.status).toBe(200);
    expect([303, 409]).toContain(byLink.status);
    const row = await ended(asked);
    expect(row).toMatchObject({ status: 'approved' });
    expect(row?.votes).toHaveLength(1);
    const { callKey } = asked.request;
    await until(() => expect(scene.ran).toContain(`${callKey} 700`));
    expect(scene.ran.filter((line) => line.startsWith(callKey))).toHaveLength(1);
    const [by] = row?.votes ?? [];
    await until(() =>
      expect(JSON.stringify(asked.message.blocks)).toContain(`Approved by ${by?.by.principal}`),
    );
    expect(await scene.environment.client.approvals.verifyAudit(asked.names)).toMatchObject({ ok: true });
  });

  test('against the opposite: one of them counts, and the other is told [channel.race]', async () => {
    const asked = await scene.ask('pay');
    const { http } = await waysTo(true, asked);
    const { link } = await waysTo(false, asked);
    const [approved, rejected] = await Promise.all([http(), link()]);
    const row = await ended(asked);
    const isApproved = row?.status === 'approved';
    expect(row?.status).toBe(isApproved ? 'approved' : 'rejected');
    expect({ approved: approved.status, rejected: rejected.status }).toEqual(
      isApproved ? { approved: 200, rejected: 409 } : { approved: 409, rejected: 303 },
    );
    const { callKey } = asked.request;
    if (isApproved) await until(() => expect(scene.ran).toContain(`${callKey} 700`));
    else expect(scene.ran.join()).not.toContain(callKey);
  });

  test('of two who must agree: each counts once, however often they say so [channel.race] [approval.quorum]', async () => {
    const asked = await scene.ask('pay_two');
    const { http, link, slack, slackOfMira } = await waysTo(true, asked);
    await Promise.all([http(), slackOfMira(), http(), link(), slack()]);
    const row = await ended(asked);
    expect(row).toMatchObject({ status: 'approved' });
    expect(row?.votes.map(({ by }) => by.principal).toSorted()).toEqual(['mira', 'otto']);
    const { callKey } = asked.request;
    await until(() => expect(scene.ran).toContain(`${callKey} 700`));
    expect(scene.ran.filter((line) => line.startsWith(callKey))).toHaveLength(1);
  });
});
