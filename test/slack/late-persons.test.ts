import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { GatewayRecords } from '../../src/gateway/gateway-records.ts';
import type { RouteSetting } from '../../src/gateway/route-setting.ts';
import { SlackDecisions } from '../../src/gateway/slack/slack-decisions.ts';
import { SlackResponder } from '../../src/gateway/slack/slack-responder.ts';
import { SlackTurns } from '../../src/gateway/slack/slack-turns.ts';
import { ACTIONS } from '../../src/slack/request-message.ts';
import { SlackApp } from '../../src/slack/slack-app.ts';
import { startMockSlack } from '../../src/testing/mock-slack.ts';
import type { MockSlack } from '../../src/testing/slack-workspace.ts';
import { CHANNEL, drawnIn, MIRA } from './slack-scene.ts';

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

describe('a function that never says who somebody is', () => {
  let slack: MockSlack;
  let parts: ConstructorParameters<typeof SlackDecisions>[0];
  beforeAll(async () => {
    slack = await startMockSlack();
    const { botToken, signingSecret, appId, teamId, url: slackApiUrl } = slack;
    const persons = () => new Promise<string>(() => {});
    const app = new SlackApp(
      {
        ...{ botToken, signingSecret, appId, teamIds: [teamId], channel: CHANNEL, persons, slackApiUrl },
        commandApp: 'shop',
      },
      { person: 1 },
    );
    // Nothing of the gateway is asked before it is known who it is.
    const setting = {} as RouteSetting;
    parts = { app, setting, records: {} as GatewayRecords, responder: new SlackResponder(app, silent) };
  });
  afterAll(async () => await slack.close());

  test('decides nothing: whoever clicks is told to try again [slack.outage]', async () => {
    const subject = { requestId: 'rq-1', channel: CHANNEL, ts: '1.000001' };
    const who = { id: MIRA, teamId: slack.teamId };
    const act = { user: MIRA, channel: CHANNEL, who, subject };
    await new SlackDecisions(parts).clicked(act, ACTIONS.approve, 'trigger');
    expect(slack.whispers.map(drawnIn).at(-1)).toMatch(/^Nothing was decided: .* Try again later\.$/);
  });

  test('asks nothing: whoever types is told to try again [slack.outage]', async () => {
    const command = {
      ...{ api_app_id: slack.appId, team_id: slack.teamId, user_id: MIRA, channel_id: CHANNEL },
      ...{ command: '/ask', text: 'hello', response_url: '', trigger_id: 'trigger' },
    };
    await expect(new SlackTurns(parts).asked('c1', command)).rejects.toThrow('slack: persons');
    expect(slack.whispers.map(drawnIn).at(-1)).toMatch(/^Nothing was asked: .* Try again later\.$/);
    expect(slack.messages).toEqual([]);
  });
});
