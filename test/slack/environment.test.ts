import { expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { App } from '../../src/app/app.ts';
import { defineGateway } from '../../src/gateway/index.ts';
import { slack } from '../../src/slack/index.ts';
import { call, createTestEnvironment, startSlackStandIn, text } from '../../src/testing/index.ts';
import { tool } from '../../src/tools/function-tool.ts';

test('the example of docs/slack.md: a test environment with Slack [slack.approve]', async () => {
  await using standIn = await startSlackStandIn();
  const desk = slack({
    botToken: standIn.botToken,
    signingSecret: standIn.signingSecret,
    appId: standIn.appId,
    teamIds: [standIn.teamId],
    channel: 'C0APPROVALS',
    persons: { U0MIRA: 'mira' },
    slackApiUrl: standIn.url,
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
  const message = await standIn.waitForMessage();
  await standIn.click(env.gateway.url, { message, action: 'Approve', user: 'U0MIRA' });
  expect((await turn.result()).text).toBe('Refunded.');
  expect(standIn.refusals).toEqual([]);
});
