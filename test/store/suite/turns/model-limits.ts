import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { Turn } from './turn.ts';

export function modelLimitSuite(store: () => PostgresStore): void {
  const newKey = () => `model-${randomUUID()}`;
  const pass = (key: string, interval = '1 hour') =>
    sql`update holdfast.model_limits set until = until - ${interval}::interval where key = ${key}`.execute(
      store().db,
    );

  test('a limit is told with every step that is opened until it is over [limit.model]', async () => {
    const key = newKey();
    const turn = new Turn(store());
    const before = await turn.opened(1);
    expect(before.limits?.[key]).toBeUndefined();
    expect(await store().turns.limitModel({ key, retryAfterMs: 3_000_000 })).toBe(3_000_000);
    const during = await turn.opened(1);
    expect(during.limits?.[key]).toBeGreaterThan(2_000_000);
    expect(during.limits?.[key]).toBeLessThanOrEqual(3_000_000);
    await pass(key, '51 minutes');
    const after = await turn.opened(1);
    expect(after.limits?.[key]).toBe(0);
    await store().turns.modelAnswered(key);
    const answered = await turn.opened(1);
    expect(answered.limits?.[key]).toBeUndefined();
  });

  test('a limit that is long over is told to nobody', async () => {
    const key = newKey();
    await store().turns.limitModel({ key });
    await pass(key);
    const { limits } = await new Turn(store()).opened(1);
    expect(limits?.[key]).toBeUndefined();
  });

  test('refusals in a row make a limit longer, to a minute at most, until the model answers', async () => {
    const key = newKey();
    const rests: number[] = [];
    for (let refusal = 0; refusal < 8; refusal += 1) {
      rests.push(await store().turns.limitModel({ key }));
      await pass(key, '61 seconds');
    }
    expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
    await store().turns.modelAnswered(key);
    expect(await store().turns.limitModel({ key })).toBe(1_000);
  });

  test('requests that were under way make no limit longer, unless the provider says so', async () => {
    const key = newKey();
    await store().turns.limitModel({ key, retryAfterMs: 600_000 });
    const rests = await Promise.all(
      Array.from({ length: 10 }, (_, nth) =>
        store().turns.limitModel({ key, ...(nth % 2 === 0 ? {} : { retryAfterMs: nth }) }),
      ),
    );
    for (const rest of rests) expect(rest).toBeLessThanOrEqual(600_000);
    expect(await store().turns.limitModel({ key, retryAfterMs: 1_200_000 })).toBe(1_200_000);
    await pass(key, '2 hours');
    // Long ago: nothing is in a row any more.
    expect(await store().turns.limitModel({ key })).toBe(1_000);
  });

  test('an answer that comes while a limit holds lifts nothing', async () => {
    const key = newKey();
    await store().turns.limitModel({ key, retryAfterMs: 600_000 });
    await store().turns.modelAnswered(key);
    const { limits } = await new Turn(store()).opened(1);
    expect(limits?.[key]).toBeGreaterThan(500_000);
  });
}
