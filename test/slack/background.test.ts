import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { RequestNotPending } from '../../src/client/index.ts';
import { Background } from '../../src/gateway/background.ts';
import { StoreUnavailable } from '../../src/store/store-errors.ts';

const silent = () => undefined;

function open(most?: number) {
  const closing = new AbortController();
  const errors: unknown[] = [];
  const logger = {
    debug: silent,
    info: silent,
    warn: silent,
    error: (...line: unknown[]) => errors.push(line),
  };
  return {
    background: new Background({
      logger,
      closing: closing.signal,
      ...(most === undefined ? {} : { most }),
    }),
    closing,
    errors,
  };
}

describe('what Slack was answered for before it was done', () => {
  test('is tried again while the store can’t be reached, and is done once [slack.outage]', async () => {
    const { background } = open();
    let asked = 0;
    const answer = await background.retryWhileUnavailable(async () => {
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
    await expect(background.retryWhileUnavailable(failing(new RequestNotPending('late')))).rejects.toThrow(
      'late',
    );
    expect(asked).toBe(1);
    const waiting = background.retryWhileUnavailable(failing(new StoreUnavailable('no connection')));
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

  test('is waited for by a gateway that closes, which says what it gives up [slack.closing]', async () => {
    const { background, errors } = open();
    const done: string[] = [];
    let finish = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    background.begin({}, async () => {
      await held;
      done.push('first');
      background.begin({}, async () => {
        done.push('second');
      });
    });
    const settled = background.settle(60_000).then(() => done.push('settled'));
    finish();
    await settled;
    expect(done).toEqual(['first', 'second', 'settled']);
    expect(errors).toEqual([]);
    background.begin({}, () => new Promise(() => {}));
    background.begin({}, () => new Promise(() => {}));
    await background.settle(10);
    expect(errors).toEqual([[expect.stringContaining('given up'), { count: 2 }]]);
  });

  test('is no more than so much at a time [slack.closing]', async () => {
    const { background } = open(1);
    let finish = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    expect(background.begin({}, () => held)).toBe(true);
    expect(background.begin({}, () => held)).toBe(false);
    expect(await background.beginAndWait({}, () => held, 1)).toBe('full');
    finish();
    await background.settle();
    expect(await background.beginAndWait({}, () => held, 60_000)).toBe('done');
  });

  test('is waited for a while where Slack sends it again, and fails there only where it may go well later [slack.closing]', async () => {
    const { background, errors } = open();
    const failing = (error: Error) => () => Promise.reject(error);
    const away = new StoreUnavailable('no connection');
    await expect(background.beginAndWait({}, failing(away), 60_000)).rejects.toThrow(away);
    expect(errors).toEqual([]);
    const wrong = new RequestNotPending('late');
    expect(await background.beginAndWait({}, failing(wrong), 60_000)).toBe('done');
    expect(errors).toHaveLength(1);
    const late = background.beginAndWait(
      {},
      async (left) => {
        if (!left.aborted) await once(left, 'abort');
        throw away;
      },
      1,
    );
    expect(await late).toBe('later');
    await background.settle();
    expect(errors).toHaveLength(2);
  });
});
