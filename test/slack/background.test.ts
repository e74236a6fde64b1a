import { describe, expect, test } from 'vitest';
import { RequestNotPending } from '../../src/client/index.ts';
import { Background } from '../../src/gateway/slack/background.ts';
import { StoreUnavailable } from '../../src/store/store-errors.ts';

const silent = () => undefined;

function open() {
  const closing = new AbortController();
  const errors: unknown[] = [];
  const logger = {
    debug: silent,
    info: silent,
    warn: silent,
    error: (...line: unknown[]) => errors.push(line),
  };
  return { background: new Background({ logger, closing: closing.signal }), closing, errors };
}

describe('what Slack was answered for before it was done', () => {
  test('is tried again while the store can’t be reached, and is done once [slack.outage]', async () => {
    const { background } = open();
    let asked = 0;
    const answer = await background.patiently(async () => {
      asked += 1;
      if (asked < 4) throw new StoreUnavailable('no connection');
      return 'done';
    });
    expect([answer, asked]).toEqual(['done', 4]);
  });

  test('is not tried again where it can’t go otherwise, nor by a gateway that closes [slack.outage]', async () => {
    const { background, closing, errors } = open();
    let asked = 0;
    const failing = (error: Error) => () => {
      asked += 1;
      return Promise.reject(error);
    };
    await expect(background.patiently(failing(new RequestNotPending('late')))).rejects.toThrow('late');
    expect(asked).toBe(1);
    const waiting = background.patiently(failing(new StoreUnavailable('no connection')));
    closing.abort();
    await expect(waiting).rejects.toThrow('no connection');
    expect(asked).toBeLessThanOrEqual(3);
    expect(errors).toEqual([]);
  });

  test('is told to the operator where it fails, and fails nothing else [slack.outage]', async () => {
    const { background, errors } = open();
    background.begin({ requestId: 'r-1' }, () => Promise.reject(new Error('unthought of')));
    await expect.poll(() => errors).toHaveLength(1);
    expect(JSON.stringify(errors)).toContain('r-1');
  });
});
