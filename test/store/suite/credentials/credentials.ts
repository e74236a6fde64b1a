import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';

export function credentialSuite(store: () => PostgresStore): void {
  const sealed = (app: string, userId: string, credentialKey: string) => ({
    credentialRef: `cr-${randomUUID()}`,
    app,
    userId,
    credentialKey,
    authType: 'apiKey',
    keyId: 'k1',
    sealed: 'bm9uY2U=',
  });

  test('a credential is found by key and reference, of its app and user alone [credential.request]', async () => {
    const app = randomUUID();
    const shop = { ...sealed(app, 'ada', 'shop'), label: 'the shop' };
    const { keyId, sealed: secret, ...stored } = shop;
    const put = await store().credentials.put(shop);
    expect(put).toEqual({ ...stored, createdAt: expect.any(Number) });
    const found = { ...put, keyId, sealed: secret };
    expect(await store().credentials.find({ app, userId: 'ada', credentialKey: 'shop' })).toEqual(found);
    const { credentialRef } = shop;
    expect(await store().credentials.find({ app, userId: 'ada', credentialRef })).toEqual(found);
    expect(await store().credentials.find({ app, userId: 'bob', credentialRef })).toBeUndefined();
    expect(await store().credentials.find({ app: `${app}2`, userId: 'ada', credentialRef })).toBeUndefined();
    expect(await store().credentials.find({ app, userId: 'ada', credentialKey: 'bank' })).toBeUndefined();
  });

  test('a newer credential takes the place of the one before; what was removed is gone [credential.request]', async () => {
    const app = randomUUID();
    const [first, second] = [sealed(app, 'ada', 'shop'), sealed(app, 'ada', 'shop')];
    const other = sealed(app, 'bob', 'shop');
    for (const credential of [first, other, second, second]) await store().credentials.put(credential);
    const { credentialRef } = first;
    expect(await store().credentials.find({ app, userId: 'ada', credentialRef })).toBeUndefined();
    expect(await store().credentials.list({ app })).toMatchObject([
      { credentialRef: second.credentialRef },
      { credentialRef: other.credentialRef },
    ]);
    const ofAda = await store().credentials.list({ app, userId: 'ada' });
    expect(ofAda).toMatchObject([{ credentialRef: second.credentialRef, credentialKey: 'shop' }]);
    expect(JSON.stringify(ofAda)).not.toContain(second.sealed);
    const remove = { app, userId: 'ada', credentialRef: second.credentialRef };
    expect(await store().credentials.remove({ ...remove, userId: 'bob' })).toBe(false);
    expect(await store().credentials.remove(remove)).toBe(true);
    expect(await store().credentials.remove(remove)).toBe(false);
    expect(await store().credentials.list({ app, userId: 'ada' })).toEqual([]);
  });

  test('a key that the store would give back as another is refused', async () => {
    await expect(store().credentials.put(sealed('app', 'ada', 'a\0b'))).rejects.toMatchObject({
      code: 'HOLDFAST_UNSTORABLE',
    });
  });
}
