import { createHash, randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';

export function pageSuite(store: () => PostgresStore): void {
  const newLink = () => ({ id: `link-${randomUUID()}`, requestId: `rq-${randomUUID()}.1.0.1` });
  const pass = (id: string, interval: string) =>
    sql`update holdfast.used_links set used_at = used_at - extract(epoch from ${interval}::interval) * 1000
      where jti = ${id}`.execute(store().db);
  const hashOf = (text: string) => createHash('sha256').update(text).digest();
  const found = async (tokenHash: Buffer) => {
    const [one, ...more] = await store().keys.findSignIns([tokenHash]);
    expect(more).toEqual([]);
    return one;
  };
  const idle = (tokenHash: Buffer, column: 'since' | 'seen_at', minutes: number) =>
    sql`update holdfast.sign_ins set ${sql.ref(column)} = ${sql.ref(column)} - ${minutes * 60_000}
      where token_hash = ${tokenHash}`.execute(store().db);

  test('of many who take a link at once one has it, whichever repeats [link.once]', async () => {
    const link = newLink();
    const holders = Array.from({ length: 20 }, () => randomUUID());
    const taken = await Promise.all(
      [...holders, ...holders].map(async (holder) => ({
        holder,
        used: await store().keys.takeLink({ ...link, holder }),
      })),
    );
    const [winner, ...others] = new Set(
      taken.filter(({ used }) => used === undefined).map(({ holder }) => holder),
    );
    expect(winner).toBeDefined();
    expect(others).toEqual([]);
    expect(await store().keys.findUsedLink(link.id)).toEqual({ at: expect.any(Number) });
  });

  test('a link is used up by what is said, and not by what failed [link.once]', async () => {
    const link = newLink();
    const [one, two] = [randomUUID(), randomUUID()];
    expect(await store().keys.takeLink({ ...link, holder: one })).toBeUndefined();
    await store().keys.releaseLink({ id: link.id, holder: two });
    expect(await store().keys.takeLink({ ...link, holder: two })).toEqual({ at: expect.any(Number) });
    await store().keys.releaseLink({ id: link.id, holder: one });
    expect(await store().keys.findUsedLink(link.id)).toBeUndefined();
    expect(await store().keys.takeLink({ ...link, holder: two })).toBeUndefined();
    await store().keys.useLink({ id: link.id, holder: one, outcome: 'reject' });
    await store().keys.useLink({ id: link.id, holder: two, outcome: 'approve' });
    await store().keys.releaseLink({ id: link.id, holder: two });
    const used = { at: expect.any(Number), outcome: 'approve' };
    expect(await store().keys.takeLink({ ...link, holder: one })).toEqual(used);
    await pass(link.id, '3 minutes');
    expect(await store().keys.takeLink({ ...link, holder: one })).toEqual(used);
    expect(await store().keys.findUsedLink(link.id)).toEqual(used);
  });

  test('who took a link and died leaves it to others, and is kept for a week [link.once]', async () => {
    const link = newLink();
    const [dead, next] = [randomUUID(), randomUUID()];
    await store().keys.takeLink({ ...link, holder: dead });
    await pass(link.id, '100 seconds');
    expect(await store().keys.takeLink({ ...link, holder: next })).toBeDefined();
    await pass(link.id, '21 seconds');
    expect(await store().keys.takeLink({ ...link, holder: next })).toBeUndefined();
    await store().keys.useLink({ id: link.id, holder: dead, outcome: 'reject' });
    await store().keys.useLink({ id: link.id, holder: next, outcome: 'approve' });
    await pass(link.id, '7 days 23 hours');
    await store().keys.takeLink({ ...newLink(), holder: next });
    expect(await store().keys.findUsedLink(link.id)).toMatchObject({ outcome: 'approve' });
    await pass(link.id, '2 hours');
    await store().keys.takeLink({ ...newLink(), holder: next });
    expect(await store().keys.findUsedLink(link.id)).toBeUndefined();
  });

  test('somebody is signed in for 12 hours, and an hour after the last request [inbox.session]', async () => {
    const tokenHash = hashOf(randomUUID());
    expect(await found(tokenHash)).toBeUndefined();
    await store().keys.openSignIn({ tokenHash, keyId: 'k1', keyDigest: hashOf('1') });
    await store().keys.openSignIn({ tokenHash, keyId: 'k2', keyDigest: hashOf('2') });
    expect(await found(tokenHash)).toEqual({
      token: tokenHash.toString('hex'),
      keyId: 'k1',
      keyDigest: hashOf('1'),
      since: expect.any(Number),
    });
    for (let hour = 0; hour < 11; hour += 1) {
      await idle(tokenHash, 'seen_at', 59);
      await idle(tokenHash, 'since', 65);
      expect(await found(tokenHash)).toMatchObject({ keyId: 'k1' });
    }
    await idle(tokenHash, 'since', 6);
    expect(await found(tokenHash)).toBeUndefined();
  });

  test('somebody who was idle, or has signed out, is signed in no more [inbox.session]', async () => {
    const [left, out] = [hashOf(randomUUID()), hashOf(randomUUID())];
    await store().keys.openSignIn({ tokenHash: left, keyId: 'k1', keyDigest: hashOf('1') });
    await store().keys.openSignIn({ tokenHash: out, keyId: 'k1', keyDigest: hashOf('1') });
    await idle(left, 'seen_at', 61);
    await store().keys.endSignIn(out);
    expect(await found(left)).toBeUndefined();
    expect(await found(out)).toBeUndefined();
  });

  test('a person of an issuer is kept as they signed in, with 20 sign-ins [inbox.issuers]', async () => {
    const name = `jwt:https://id.example.com ${randomUUID()}`;
    const grants = [{ app: '*', roles: ['read' as const], user: 'ada' }];
    const ofIssuer = { issuer: 'https://id.example.com', name, person: 'Mira ☂', userId: 'ada', grants };
    const hashes = Array.from({ length: 22 }, () => hashOf(randomUUID()));
    for (const tokenHash of hashes) await store().keys.openSignIn({ tokenHash, ofIssuer });
    const live = await store().keys.findSignIns(hashes);
    expect(live).toHaveLength(20);
    expect(live[0]).toEqual({ token: expect.any(String), since: expect.any(Number), ofIssuer });
    for (const { token } of live) await idle(Buffer.from(token, 'hex'), 'since', 721);
    expect(await store().keys.findSignIns(hashes)).toHaveLength(0);
  });

  test('of a key the newest 20 sign-ins stay, and those of other keys do [inbox.guessed]', async () => {
    const [keyId, other] = [randomUUID(), randomUUID()];
    const hashes = Array.from({ length: 23 }, () => hashOf(randomUUID()));
    const kept = hashOf(randomUUID());
    await store().keys.openSignIn({ tokenHash: kept, keyId: other, keyDigest: hashOf('1') });
    for (const [n, tokenHash] of hashes.entries()) {
      await store().keys.openSignIn({ tokenHash, keyId, keyDigest: hashOf('1') });
      await idle(tokenHash, 'since', 23 - n);
    }
    const last = hashOf(randomUUID());
    await store().keys.openSignIn({ tokenHash: last, keyId, keyDigest: hashOf('1') });
    await store().keys.openSignIn({ tokenHash: last, keyId, keyDigest: hashOf('1') });
    const live = await store().keys.findSignIns([...hashes, kept, last]);
    expect(new Set(live.map(({ token }) => token))).toEqual(
      new Set([...hashes.slice(4), kept, last].map((hash) => hash.toString('hex'))),
    );
    const many = Array.from({ length: 50 }, () => hashOf(randomUUID()));
    await Promise.all(
      many.map((tokenHash) => store().keys.openSignIn({ tokenHash, keyId, keyDigest: hashOf('1') })),
    );
    expect(await store().keys.findSignIns([...many, ...hashes])).toHaveLength(20);
    expect(await found(kept)).toMatchObject({ token: kept.toString('hex') });
    expect(await store().keys.findSignIns([])).toEqual([]);
  });
}
