import { WebClient } from '@slack/web-api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startMockSlack } from '../../src/testing/mock-slack.ts';
import type { MockSlack } from '../../src/testing/slack-workspace.ts';

const plain = (text: string) => ({ type: 'plain_text', text });
const section = (text: string) => ({ type: 'section', text: plain(text) });
const button = (more: object) => ({
  type: 'actions',
  elements: [{ type: 'button', action_id: 'a', text: plain('Go'), ...more }],
});

describe('the mock server of Slack', () => {
  let slack: MockSlack;
  beforeAll(async () => {
    slack = await startMockSlack();
  });
  afterAll(async () => await slack.close());

  const client = (token = slack.botToken) =>
    new WebClient(token, {
      slackApiUrl: slack.url,
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
    });
  const post = (blocks: object[], more: object = {}) =>
    client().apiCall('chat.postMessage', { channel: 'C0GENERAL', text: 'x', blocks, ...more });

  test.each<[string, object[], RegExp]>([
    ['51 blocks', Array.from({ length: 51 }, () => section('x')), /invalid_blocks/],
    ['no text', [section('')], /invalid_blocks/],
    ['3,001 characters', [section('x'.repeat(3_001))], /invalid_blocks/],
    ['a field of 2,001', [{ type: 'section', fields: [plain('x'.repeat(2_001))] }], /invalid_blocks/],
    [
      '11 fields',
      [{ type: 'section', fields: Array.from({ length: 11 }, () => plain('x')) }],
      /invalid_blocks/,
    ],
    ['a title of 151', [{ type: 'header', text: plain('x'.repeat(151)) }], /invalid_blocks/],
    ['a value of 2,001', [button({ value: 'x'.repeat(2_001) })], /invalid_blocks/],
    ['a label of 76', [button({ text: plain('x'.repeat(76)) })], /invalid_blocks/],
    ['a style of its own', [button({ style: 'green' })], /invalid_blocks/],
    ['two blocks of one id', [1, 2].map(() => ({ ...section('x'), block_id: 'b' })), /invalid_blocks/],
    ['an input in a message', [{ type: 'input' }], /invalid_blocks/],
    ['too much of all', Array.from({ length: 5 }, () => section('x'.repeat(2_900))), /msg_blocks_too_long/],
  ])('refuses %s, as Slack does [slack.message]', async (_what, blocks, error) => {
    await expect(post(blocks)).rejects.toThrow(error);
  });

  test('refuses tokens, channels and messages that there are not', async () => {
    await expect(client('xoxb-other').auth.test()).rejects.toThrow(/invalid_auth/);
    await expect(post([section('x')], { channel: '#general' })).rejects.toThrow(/channel_not_found/);
    const gone = { channel: 'C0GENERAL', ts: '1.1', text: 'x' };
    await expect(client().chat.update(gone)).rejects.toThrow(/message_not_found/);
    await expect(client().apiCall('chat.delete', gone)).rejects.toThrow(/unknown_method/);
  });

  test('keeps what is posted and changed, and says when it takes no more', async () => {
    const { ts = '' } = (await post([section('one')])) as { ts?: string };
    await client().apiCall('chat.update', {
      channel: 'C0GENERAL',
      ts,
      text: 'two',
      blocks: [section('two')],
    });
    expect(slack.messages.at(-1)).toMatchObject({ ts, text: 'two', edits: 1 });
    slack.become({ rateLimited: 7 });
    await expect(post([section('x')])).rejects.toMatchObject({ retryAfter: 7 });
    slack.become('down');
    await expect(post([section('x')])).rejects.toThrow();
    slack.become('up');
    expect((await post([section('x')])).ok).toBe(true);
  });

  test('finds what stands in a channel and in a thread, in pages, and may do so without saying it', async () => {
    const channel = 'C0HISTORY';
    const posted: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      const { ts } = (await post([section(name)], { channel })) as { ts?: string };
      posted.push(String(ts));
    }
    const [first = ''] = posted;
    slack.become({ mute: 'chat.postMessage' });
    await expect(post([section('in it')], { channel, thread_ts: first })).rejects.toThrow();
    slack.become('up');
    const read = async (method: string, args: object) => {
      const found = await client().apiCall(method, { channel, ...args });
      const { messages: list } = found as unknown as { messages: { ts: string; app_id: string }[] };
      expect(list.every((each) => each.app_id === slack.appId)).toBe(true);
      return { list: list.map(({ ts }) => ts), next: found.response_metadata?.next_cursor };
    };
    const page = await read('conversations.history', { limit: 2 });
    expect(page.list).toEqual([posted[2], posted[1]]);
    expect((await read('conversations.history', { limit: 2, cursor: page.next })).list).toEqual([first]);
    expect((await read('conversations.history', { oldest: first, latest: posted[2] })).list).toEqual([
      posted[1],
    ]);
    expect((await read('conversations.replies', { ts: first })).list).toHaveLength(2);
    await expect(read('conversations.replies', { ts: '1.1' })).rejects.toThrow(/thread_not_found/);
  });
});
