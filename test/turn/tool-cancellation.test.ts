import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { ToolCancellation } from '../../activities/tool/tool-cancellation.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { never } from '../setup/own-model.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function cancellation(cancel?: (callId: string) => boolean | Promise<boolean>) {
  const failures: unknown[] = [];
  const options = { name: 'digs', description: 'd', execute: () => ({}) };
  const cancellable = tool(cancel === undefined ? options : { ...options, cancel });
  return { failures, it: new ToolCancellation(cancellable, 'call-1', (thrown) => failures.push(thrown)) };
}

test('a tool that was told and doesn’t end is waited for three seconds [tool.cancellable]', async () => {
  const { it } = cancellation(() => true);
  it.tell();
  let word: unknown = 'none yet';
  const waiting = it.lastWord(never()).then((last) => {
    word = last;
  });
  await vi.advanceTimersByTimeAsync(2_999);
  expect(word).toBe('none yet');
  await vi.advanceTimersByTimeAsync(1);
  await waiting;
  expect(word).toBeUndefined();
});

test('a handler that hangs takes nothing from what the tool comes to [tool.cancellable]', async () => {
  const { it } = cancellation(() => true);
  it.onCancel(() => never());
  it.tell();
  const word = it.lastWord(Promise.resolve('half'));
  await vi.advanceTimersByTimeAsync(3_000);
  expect(await word).toEqual({ value: 'half' });
});

test('nobody is waited for who could not be told [tool.cancellable]', async () => {
  const { it } = cancellation();
  it.tell();
  expect(await it.lastWord(never())).toBeUndefined();
});

test('what a tool comes to counts once its handlers have ended; what it throws doesn’t [tool.cancellable]', async () => {
  const handled = Promise.withResolvers<void>();
  const { it, failures } = cancellation(async () => {
    throw new Error('no such call');
  });
  it.onCancel(() => handled.promise);
  it.tell();
  const word = it.lastWord(Promise.resolve('half'));
  await vi.advanceTimersByTimeAsync(100);
  handled.resolve();
  expect(await word).toEqual({ value: 'half' });
  expect(failures).toMatchObject([{ message: 'no such call' }]);
  expect(await it.lastWord(Promise.reject(new Error('aborted')))).toBeUndefined();
});

test('each handler is called once; one that comes late at once; none when the run is over [tool.cancellable]', async () => {
  const called: string[] = [];
  const { it } = cancellation((callId) => called.push(callId) > 0);
  it.onCancel(() => called.push('first'));
  it.tell();
  it.tell();
  it.onCancel(() => called.push('late'));
  expect(called).toEqual(['first', 'call-1', 'late']);
  const over = cancellation((callId) => called.push(callId) > 0).it;
  over.close();
  over.tell();
  expect(called).toHaveLength(3);
});
