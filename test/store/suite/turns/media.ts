import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { Part } from '../../../../src/events/content.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { takeUp } from '../sessions/retried-turn.ts';
import { newNames, Turn, USAGE } from './turn.ts';

const IMAGE: Part = { inlineData: { mimeType: 'image/png', data: 'AAEC' } };
const SOUND: Part = { inlineData: { mimeType: 'audio/wav', data: 'AwQF' } };
const DONE = { outcome: 'OUTCOME_OK', output: '42\n' };

/** Responses that are more than a function's: media behind them, and results of code. */
export function mediaSuite(store: () => PostgresStore): void {
  const response = (index: number, given: object): Part => ({
    functionResponse: { id: `call_${index}`, name: 'pay', response: given as Record<string, unknown> },
  });
  const partsOf = async (turn: Turn) =>
    (await turn.events()).findLast(({ kind }) => kind === 'responses')?.event.content?.parts;

  async function turnOf(calls: number, code: readonly number[] = []): Promise<Turn> {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, calls, { code });
    return turn;
  }

  test('parts follow the response of their call, of calls that settle alone or together', async () => {
    const turn = await turnOf(5);
    // One that never began, one that runs, three at once.
    await turn.settle(1, 4, { n: 4 }, {}, [IMAGE]);
    await turn.begin(1, 2);
    await turn.settle(1, 2, { n: 2 }, {}, [SOUND, IMAGE]);
    await turn.begin(1, 1);
    await Promise.all([
      turn.settle(1, 0, { n: 0 }, {}, []),
      turn.settle(1, 1, { n: 1 }, {}, [IMAGE]),
      turn.settle(1, 3, { n: 3 }),
    ]);
    expect(await turn.settle(1, 3, { late: true }, {}, [SOUND])).toMatchObject({ first: false });
    expect(await turn.settle(1, 4, { late: true }, {}, [])).toMatchObject({ first: false });
    await turn.opened(2);
    expect(await partsOf(turn)).toEqual([
      response(0, { n: 0 }),
      response(1, { n: 1 }),
      IMAGE,
      response(2, { n: 2 }),
      SOUND,
      IMAGE,
      response(3, { n: 3 }),
      response(4, { n: 4 }),
      IMAGE,
    ]);
  });

  test('code of the model is answered with its result, whoever settles it and however [agent.codeExecutor]', async () => {
    const code = [0, 1, 3, 4];
    const turn = await turnOf(5, code);
    await turn.begin(1, 0);
    await turn.settle(1, 0, DONE, { stateDelta: { ran: true } }, [IMAGE]);
    await turn.settle(1, 1, { error: 'no interpreter' });
    await turn.settle(1, 2, { n: 2 });
    await turn.settle(1, 3, { outcome: 'OUTCOME_DEADLINE_EXCEEDED', output: 'x' });
    await turn.end(1, [{ index: 4, error: 'timed out' }]);
    const { state } = await turn.opened(2);
    expect(state).toEqual({ ran: true });
    expect(await partsOf(turn)).toEqual([
      { codeExecutionResult: DONE },
      IMAGE,
      { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'no interpreter' } },
      response(2, { n: 2 }),
      { codeExecutionResult: { outcome: 'OUTCOME_DEADLINE_EXCEEDED', output: 'x' } },
      { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'timed out' } },
    ]);
  });

  test('code that its turn’s end cuts off, or the next turn, is answered as code [agent.codeExecutor]', async () => {
    const cut = async () => {
      const turn = await turnOf(2, [1]);
      await turn.settle(1, 0, { ok: true }, {}, [IMAGE]);
      await turn.begin(1, 1);
      return turn;
    };
    const ended = await cut();
    await ended.end(1, [], { status: 'interrupted', usage: USAGE }, 'stopped');
    expect(await partsOf(ended)).toEqual([
      response(0, { ok: true }),
      IMAGE,
      { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'stopped' } },
    ]);
    const left = await cut();
    await new Turn(store(), { names: left.names }).opened(1);
    expect(await partsOf(left)).toEqual([
      response(0, { ok: true }),
      IMAGE,
      {
        codeExecutionResult: {
          outcome: 'OUTCOME_FAILED',
          output: 'this call was cut off by the end of its turn; it may have run',
        },
      },
    ]);
  });

  test('a call that no attempt settled has the outcome that callbacks gave it [callback.tool]', async () => {
    const turn = await turnOf(4, [3]);
    await turn.settle(1, 0, { ok: true });
    const heard: unknown[] = [];
    const stop = store().live.watch(turn.session, (notice) => heard.push(notice));
    const settle = () =>
      turn.end(1, [
        { index: 0, error: 'late', response: { late: true } },
        {
          index: 1,
          error: 'timed out',
          response: { rescued: 1 },
          actions: { stateDelta: { r: 1 } },
          parts: [IMAGE],
        },
        { index: 2, error: 'timed out', response: { error: 'reworded' } },
        { index: 3, error: 'timed out', response: DONE, failed: true },
      ]);
    await settle();
    await settle();
    stop();
    const about = (index: number, failed: boolean) => ({
      type: 'call finished',
      session: turn.session,
      runKey: turn.invocationId,
      callKey: turn.callKey(1, index),
      tool: 'pay',
      failed,
    });
    expect(heard).toEqual([about(1, false), about(2, true), about(3, true)]);
    const { state } = await turn.opened(2);
    expect(state).toEqual({ r: 1 });
    expect(await partsOf(turn)).toEqual([
      response(0, { ok: true }),
      response(1, { rescued: 1 }),
      IMAGE,
      response(2, { error: 'reworded' }),
      { codeExecutionResult: DONE },
    ]);
    expect(await turn.begin(1, 3)).toMatchObject({ kind: 'settled', failed: true, response: DONE });
  });

  test('a retry keeps the media of the calls that it keeps, and they go with their session [session.retry]', async () => {
    const names = newNames();
    const old = new Turn(store(), { names });
    await old.opened(1);
    await old.commit(1, 3, { code: [2], retryable: true });
    await old.settle(1, 0, { n: 0 }, {}, [IMAGE]);
    await old.settle(1, 1, { error: 'no' }, {}, [SOUND]);
    await old.settle(1, 2, DONE, {}, [SOUND]);
    await old.opened(2);
    await old.commit(2, 0);
    const prepared = await store().sessions.prepareRetry({ ...names, callKey: old.callKey(1, 1) });
    const { turn } = await takeUp(store(), names, prepared);
    expect(await turn.begin(1, 1)).toMatchObject({ kind: 'started', attempt: 1 });
    await turn.settle(1, 1, { n: 1 });
    await turn.opened(2);
    expect(await partsOf(turn)).toEqual([
      response(0, { n: 0 }),
      IMAGE,
      response(1, { n: 1 }),
      { codeExecutionResult: DONE },
      SOUND,
    ]);
    await store().sessions.delete(names);
    const { rows } = await sql<{ n: number }>`
      select count(*)::int as n from holdfast.ledger where session_id = ${turn.session}`.execute(store().db);
    expect(rows).toEqual([{ n: 0 }]);
  });
}
