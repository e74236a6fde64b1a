import { expect, test } from 'vitest';
import type { PartialText, StoreNotice } from '../../../../src/store/live/live-feed.ts';
import { MOST_TEXT_BYTES } from '../../../../src/store/live/notice-payload.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { newNames, Turn } from '../turns/turn.ts';

export function partialText(turn: Turn, text: string, index = 0): PartialText {
  const { session, invocationId: runKey } = turn;
  return { type: 'text', session, runKey, step: 1, agent: 'clerk', attempt: 1, index, text };
}

/** What followers in the process that writes hear. */
export function noticeSuite(store: () => PostgresStore): void {
  /** A turn whose session is watched. */
  async function watched(): Promise<{ turn: Turn; heard: StoreNotice[]; stop: () => void }> {
    const turn = new Turn(store());
    await turn.opened(1);
    const heard: StoreNotice[] = [];
    return { turn, heard, stop: store().live.watch(turn.session, (notice) => heard.push(notice)) };
  }

  test('who watches a session hears what is written and told of it, in order, and of no other [stream.text]', async () => {
    const { turn, heard, stop } = await watched();
    const { session, invocationId: runKey } = turn;
    const other = new Turn(store());
    await other.opened(1);
    store().live.tell(partialText(other, 'not for you'));
    store().live.tell(partialText(turn, 'Hel'));
    store().live.tell(partialText(turn, 'lo', 1));
    store().live.tell({ type: 'text dropped', session, runKey, step: 1, attempt: 2 });
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    stop();
    await turn.settle(1, 0, { ok: true });
    expect(heard).toEqual([
      partialText(turn, 'Hel'),
      partialText(turn, 'lo', 1),
      { type: 'text dropped', session, runKey, step: 1, attempt: 2 },
      { type: 'appended', session, seq: 2 },
      { type: 'call started', session, runKey, callKey: turn.callKey(1, 0), tool: 'pay', attempt: 1 },
    ]);
  });

  test('who waits for a session’s turns hears of each by the session’s names [stream.text]', async () => {
    const names = newNames();
    let begun = 0;
    const stop = store().live.watchTurns(names, () => {
      begun += 1;
    });
    await new Turn(store()).opened(1);
    const first = new Turn(store(), { names });
    await first.opened(1);
    await first.commit(1, 0);
    expect(begun).toBe(1);
    await store().sessions.delete({ ...names });
    await new Turn(store(), { names }).opened(1);
    expect(begun).toBe(2);
    stop();
    await new Turn(store(), { names }).opened(1);
    expect(begun).toBe(2);
  });

  test('text of 7 KiB is told, longer text to nobody, and none with what UTF-8 lacks [stream.text]', async () => {
    const { turn, heard, stop } = await watched();
    const longest = 'é'.repeat(MOST_TEXT_BYTES / 2);
    store().live.tell(partialText(turn, `${longest}.`));
    store().live.tell(partialText(turn, longest));
    store().live.tell(partialText(turn, 'a\0b\ud800c'));
    await new Promise(setImmediate);
    expect(heard).toEqual([partialText(turn, longest), partialText(turn, 'a\u001ab\ufffdc')]);
    stop();
  });
}
