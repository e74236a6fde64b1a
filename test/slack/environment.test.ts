import { expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { defineGateway } from '../../src/gateway/index.ts';
import { slack } from '../../src/slack/index.ts';
import { call, createTestEnvironment, startMockSlack, text } from '../../src/testing/index.ts';
import { tool } from '../../src/tools/function-tool.ts';

test('the example of docs/slack.md: a test environment with Slack [slack.approve]', async () => {
  await using mock = await startMockSlack();
  const desk = slack({
    botToken: mock.botToken,
    signingSecret: mock.signingSecret,
    appId: mock.appId,
    teamIds: [mock.teamId],
    channel: 'C0APPROVALS',
    persons: { U0MIRA: 'mira' },
    slackApiUrl: mock.url,
  });
  const refund = tool({
    name: 'refund',
    description: 'Refunds an order.',
    parameters: { type: 'object', properties: { order: { type: 'string' } } },
    requireConfirmation: true,
    approval: { approvers: ['mira'] },
    execute: () => ({ refunded: true }),
  });
  const rootAgent = new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [refund] });
  await using env = await createTestEnvironment({
    apps: [new App({ name: 'shop', rootAgent, durable: { notifiers: [desk.notifier] } })],
    gateway: defineGateway({ slack: desk.gateway }),
    script: [call('refund', { order: 'A-1' }), text('Refunded.')],
  });
  const turn = await env.send('Refund A-1.');
  const message = await mock.waitForMessage();
  await mock.click(env.gateway.url, { message, action: 'Approve', user: 'U0MIRA' });
  expect((await turn.result()).text).toBe('Refunded.');
  expect(mock.refusals).toEqual([]);
});
