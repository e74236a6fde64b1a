import { createHash, randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';

export function accessSuite(store: () => PostgresStore): void {
  const digest = () => createHash('sha256').update(randomBytes(8)).digest();
  const newKey = () => ({
    keyId: randomBytes(8).toString('hex'),
    name: 'mira',
    grants: [{ app: 'shop', roles: ['approve' as const] }],
    digest: digest(),
  });

  test('an API key is found by its id, with what it may do [auth.keys]', async () => {
    const key = { ...newKey(), userId: 'ada', expiresIn: 60_000 };
    const before = Date.now();
    const created = await store().keys.create(key);
    const { digest: secret, expiresIn: _expiresIn, ...told } = key;
    expect(created).toEqual({
      ...told,
      createdAt: expect.any(Number),
      expiresAt: expect.any(Number),
    });
    expect(created.expiresAt).toBeGreaterThanOrEqual(before + 59_000);
    expect((await store().keys.find([key.keyId]))[0]).toEqual({ ...created, digest: Buffer.from(secret) });
    expect(await store().keys.list()).toContainEqual(created);
    expect((await store().keys.find(['0000']))[0]).toBeUndefined();
    // Once more, as after an answer that was lost; another key takes no id that is taken.
    expect(await store().keys.create(key)).toMatchObject({ keyId: key.keyId });
    await expect(store().keys.create({ ...key, digest: digest() })).rejects.toThrow('another API key');
  });

  test('a rotated key has two secrets for a while; a revoked one is not rotated [auth.keys]', async () => {
    const key = newKey();
    await store().keys.create(key);
    const rotation = { keyId: key.keyId, digest: digest(), grace: 60_000 };
    for (const _again of [1, 2]) await store().keys.rotate(rotation);
    expect((await store().keys.find([key.keyId]))[0]).toMatchObject({
      digest: Buffer.from(rotation.digest),
      oldDigest: Buffer.from(key.digest),
      oldUntil: expect.any(Number),
    });
    const revoked = await store().keys.revoke(key.keyId);
    expect(revoked?.revokedAt).toEqual(expect.any(Number));
    expect(await store().keys.revoke(key.keyId)).toEqual(revoked);
    expect(await store().keys.rotate({ ...rotation, digest: digest() })).toBeUndefined();
    expect(await store().keys.revoke('0000')).toBeUndefined();
  });

  test('the use of a key is written at most once a minute [auth.keys]', async () => {
    const key = newKey();
    await store().keys.create(key);
    await store().keys.touch(key.keyId);
    const used = (await store().keys.find([key.keyId]))[0]?.usedAt;
    expect(used).toEqual(expect.any(Number));
    await store().keys.touch(key.keyId);
    expect((await store().keys.find([key.keyId]))[0]?.usedAt).toBe(used);
  });

  test('denials that the store can’t tell apart are one row, however they were told [auth.denials]', async () => {
    const route = `/v1/${randomBytes(8).toString('hex')}`;
    const at = Math.floor(Date.now() / 60_000) * 60_000;
    const denied = (app: string, times: number) => ({
      ...{ reason: 'hidden', route, app, who: 'mira' },
      ...{ count: times, firstAt: at + times, lastAt: at + times },
    });
    const again = {
      app: 'a\ufffdb',
      who: 'mira',
      route,
      reason: 'hidden',
      count: 4,
      firstAt: at,
      lastAt: at,
    };
    await store().keys.noteDenials([denied('a\0b', 1), denied('a\ud800b', 2), again]);
    const listed = await store().keys.listDenials({ since: at, limit: 1_000 });
    expect(listed.filter((denial) => denial.route === route)).toEqual([
      { ...denied('a\ufffdb', 7), firstAt: at, lastAt: at + 2 },
    ]);
  });

  test('denials of one minute and kind are one row, and old ones are dropped [auth.denials]', async () => {
    const route = `/v1/${randomBytes(8).toString('hex')}`;
    const minute = Math.floor(Date.now() / 60_000) * 60_000;
    const kind = { reason: 'forbidden', route, who: 'key:1', permission: 'run', app: 'shop' };
    const stranger = { reason: 'unauthenticated', route, address: '192.0.2.1' };
    await store().keys.noteDenials([
      { ...kind, count: 2, firstAt: minute + 5, lastAt: minute + 10 },
      { ...stranger, count: 1, firstAt: minute + 7, lastAt: minute + 7 },
    ]);
    const old = minute - 31 * 86_400_000;
    await store().keys.noteDenials(
      [
        { ...kind, count: 3, firstAt: minute + 1, lastAt: minute + 9 },
        { ...kind, count: 1, firstAt: old, lastAt: old },
      ],
      { sweep: true },
    );
    const listed = await store().keys.listDenials({ since: minute - 60 * 86_400_000, limit: 1_000 });
    const ours = listed.filter((denial) => denial.route === route);
    expect(ours).toEqual([
      { ...kind, count: 5, firstAt: minute + 1, lastAt: minute + 10 },
      { ...stranger, count: 1, firstAt: minute + 7, lastAt: minute + 7 },
    ]);
  });
}
