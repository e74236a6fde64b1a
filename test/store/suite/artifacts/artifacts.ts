import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import type { SavedArtifact } from '../../../../src/store/artifacts/artifact-store.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import { AskingTurn } from '../approvals/asking-turn.ts';
import { JobTurn } from '../jobs/job-turn.ts';
import { newNames, Turn } from '../turns/turn.ts';
import { expireBlobs, sha256 } from './blobs.ts';

export function artifactSuite(store: () => PostgresStore): void {
  async function blobOf(app: string, text = randomBytes(8).toString('hex')): Promise<string> {
    const bytes = Buffer.from(text);
    return store().blobs.put({ app, sha256: sha256(bytes), bytes });
  }

  async function saved(turn: Turn, key: string, name: string, nth = 0): Promise<SavedArtifact> {
    const version = await store().artifacts.reserveVersion({ session: turn.session, key, name, nth });
    return { name, version, kind: 'inline', blob: await blobOf(turn.names.app), mimeType: 'text/csv' };
  }

  /** A step with a call, which saves artifacts of these names. */
  async function savingStep(turn: Turn, step: number, names: readonly string[]): Promise<SavedArtifact[]> {
    await turn.opened(step);
    await turn.commit(step, 1);
    await turn.begin(step, 0);
    const callKey = turn.callKey(step, 0);
    const artifacts: SavedArtifact[] = [];
    for (const name of names) artifacts.push(await saved(turn, callKey, name));
    const artifactDelta = Object.fromEntries(artifacts.map(({ name, version }) => [name, version]));
    await settle(turn, step, artifacts, artifactDelta);
    return artifacts;
  }

  function settle(
    turn: Turn,
    step: number,
    artifacts: SavedArtifact[],
    artifactDelta: Record<string, number> = {},
  ) {
    return store().turns.settleCall({
      session: turn.session,
      callKey: turn.callKey(step, 0),
      response: { ok: true },
      failed: false,
      actions: { artifactDelta, artifacts },
    });
  }

  /** Bytes that are given up after a week without use. */
  const given = async ({ names }: Turn) => {
    await expireBlobs(store(), names.app);
    return (await store().blobs.giveUp(1_000)).map(({ id }) => id);
  };

  test('what a call has saved is kept for as long as it waits for its job [artifact.garbage]', async () => {
    const turn = new JobTurn(store());
    await turn.calling();
    const artifacts = [await saved(turn, turn.callKey(1, 0), 'a')];
    const call = { session: turn.session, callKey: turn.callKey(1, 0) };
    await store().turns.recordOnce({ ...call, key: 'holdfast:job', value: { actions: { artifacts } } });
    await turn.parked(0);
    expect(await given(turn)).not.toContain((artifacts[0] as { blob: string }).blob);
    await settle(turn, 1, artifacts, { a: 0 });
    expect(await versionsOf(turn, 'a')).toEqual([0]);
  });

  test('what callbacks have saved for a call is kept for as long as it waits for people, and then not [artifact.garbage]', async () => {
    const turn = new AskingTurn(store());
    await turn.opened(1);
    const blob = await blobOf(turn.names.app);
    const kept = { name: 'b', version: 0, kind: 'inline', blob, mimeType: 'text/csv' } as const;
    const request = turn.request(1, 0);
    const { callKey, callId, tool } = request;
    const rows = [{ ...{ callKey, callId, tool, index: 0 }, actions: { artifacts: [kept] } }];
    await turn.commitAsking(1, [request], { rows });
    expect(await given(turn)).not.toContain(blob);
    await store().sessions.delete(turn.names);
    expect(await given(turn)).toContain(blob);
  });

  const versionsOf = async (turn: Turn, name: string) =>
    (await store().artifacts.versions(turn.names, name)).map(({ version }) => version);

  test('newest versions are listed by name, a page at a time, with those of the user [artifact.service]', async () => {
    const names = newNames();
    await store().sessions.create(names);
    for (const name of ['b', 'a', 'user:c', 'b']) {
      const content = { kind: 'inline', blob: await blobOf(names.app, name), mimeType: 'text/csv' } as const;
      await store().artifacts.save({ ...names, name, content });
    }
    const listed = async (page: { limit: number; after?: string }) =>
      (await store().artifacts.list(names, page)).map(({ name, version, bytes }) => [
        name,
        version,
        bytes?.size,
      ]);
    expect(await listed({ limit: 9 })).toEqual([
      ['a', 0, 1],
      ['b', 1, 1],
      ['user:c', 0, 6],
    ]);
    expect(await listed({ limit: 1, after: 'a' })).toEqual([['b', 1, 1]]);
    expect(await listed({ limit: 9, after: 'user:c' })).toEqual([]);
    const session = await store().sessions.find(names);
    expect(await store().artifacts.sharedBy(session?.session ?? '')).toEqual(names);
    expect(await store().artifacts.sharedBy('none')).toBeUndefined();
  });

  test('versions that a call saves are there when it settles, in each attempt the same [artifact.durable]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    const key = turn.callKey(1, 0);
    const first = [await saved(turn, key, 'a.csv'), await saved(turn, key, 'a.csv', 1)];
    expect(first.map(({ version }) => version)).toEqual([0, 1]);
    await turn.begin(1, 0);
    const second = [await saved(turn, key, 'a.csv'), await saved(turn, key, 'user:b')];
    expect(second.map(({ version }) => version)).toEqual([0, 0]);
    expect(await store().artifacts.names({ session: turn.session })).toEqual([]);
    await settle(turn, 1, second);
    // An outcome that comes later brings none.
    await settle(turn, 1, first);
    expect(await store().artifacts.names(turn.names)).toEqual(['a.csv', 'user:b']);
    expect(await versionsOf(turn, 'a.csv')).toEqual([0]);
    const { name, version, ...content } = second[0] as SavedArtifact;
    const bytes = { size: 16, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) };
    const found = { name, version, content, bytes, savedAt: expect.any(Number) };
    expect(await store().artifacts.find({ session: turn.session }, 'a.csv')).toEqual(found);
    expect(await store().artifacts.find(turn.names, 'a.csv', 0)).toEqual(found);
    expect(await store().artifacts.find(turn.names, 'a.csv', 1)).toBeUndefined();
    // The number that the first attempt had for its second save is not used again.
    const later = await saved(turn, turn.callKey(1, 0), 'a.csv', 2);
    expect(later.version).toBe(2);
  });

  test('a committed step records what its user code has saved [artifact.durable]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    const artifact = await saved(turn, `${turn.invocationId}.1`, 'plan.md');
    await turn.commit(1, 0, { artifacts: [artifact] });
    expect(await versionsOf(turn, 'plan.md')).toEqual([0]);
  });

  test('20 that save one name at once make 20 versions [artifact.concurrent]', async () => {
    const { app, userId } = newNames();
    const names = { app, userId, sessionId: 's1' };
    await store().sessions.create({ ...names, state: {} });
    const blob = await blobOf(app);
    const save = (key?: string) =>
      store().artifacts.save({
        ...names,
        name: 'a',
        content: { kind: 'text', blob },
        ...(key === undefined ? {} : { key }),
      });
    const versions = await Promise.all(Array.from({ length: 20 }, () => save()));
    expect(versions.sort((one, other) => Number(one) - Number(other))).toEqual([...Array(20).keys()]);
    // One that is sent again is one.
    expect(await Promise.all([save('k'), save('k'), save('k')])).toEqual([20, 20, 20]);
    expect(await save()).toBe(21);
  });

  test('artifacts of users are seen in all their sessions of an app, and by nobody else [artifact.scope]', async () => {
    const { app } = newNames();
    const of = (userId: string, sessionId: string) => ({ app, userId, sessionId });
    const content = { kind: 'text' as const, blob: await blobOf(app) };
    await store().sessions.create({ ...of('ada', 's1'), state: {} });
    await store().sessions.create({ ...of('ada', 's2'), state: {} });
    expect(await store().artifacts.save({ ...of('ada', 's1'), name: 'own', content })).toBe(0);
    expect(await store().artifacts.save({ ...of('ada', 's1'), name: 'user:all', content })).toBe(0);
    expect(await store().artifacts.names(of('ada', 's2'))).toEqual(['user:all']);
    // A user has them before the first session is there, a session has none then.
    expect(await store().artifacts.names(of('ada', 'none'))).toEqual(['user:all']);
    expect(await store().artifacts.save({ ...of('ben', 'none'), name: 'own', content })).toBeUndefined();
    expect(await store().artifacts.save({ ...of('ben', 'none'), name: 'user:x', content })).toBe(0);
    expect(await store().artifacts.names(of('ben', 'none'))).toEqual(['user:x']);
    expect(await store().artifacts.names({ ...of('ada', 's2'), app: 'other' })).toEqual([]);
  });

  test('a deleted artifact is gone with all versions, whose numbers are not used again [artifact.delete]', async () => {
    const turn = new Turn(store());
    await savingStep(turn, 1, ['a']);
    await savingStep(turn, 2, ['a']);
    expect(await store().artifacts.delete(turn.names, 'a')).toBe(2);
    expect(await store().artifacts.delete(turn.names, 'a')).toBe(0);
    expect(await store().artifacts.names(turn.names)).toEqual([]);
    const [again] = await savingStep(turn, 3, ['a']);
    expect(again?.version).toBe(2);
  });

  test('the artifacts of a session are deleted with it, and its bytes are collected [artifact.delete] [artifact.garbage]', async () => {
    const turn = new Turn(store());
    const [own, users] = await savingStep(turn, 1, ['a', 'user:b']);
    await turn.opened(2);
    await turn.commit(2, 0);
    await store().sessions.delete(turn.names);
    expect(await store().artifacts.names(turn.names)).toEqual(['user:b']);
    const given = (await store().blobs.giveUp(100)).map(({ id }) => id);
    expect(given).toContain((own as { blob: string }).blob);
    expect(given).not.toContain((users as { blob: string }).blob);
  });

  test('a fork has what its parent had by then, whatever becomes of the parent [artifact.fork]', async () => {
    const turn = new Turn(store());
    await savingStep(turn, 1, ['a']);
    await savingStep(turn, 2, ['a', 'b']);
    await turn.opened(3);
    await turn.commit(3, 0);
    // After the responses of the first step: its message, its model event, and they.
    const fork = { ...turn.names, sessionId: 'fork' };
    await store().sessions.fork({ ...turn.names, at: 3, to: 'fork' });
    expect(await store().artifacts.names(fork)).toEqual(['a']);
    expect((await store().artifacts.versions(fork, 'a')).map(({ version }) => version)).toEqual([0]);
    const newest = await store().artifacts.find(fork, 'a');
    await store().artifacts.delete(turn.names, 'a');
    expect(await store().artifacts.find(fork, 'a')).toEqual(newest);
    expect((await store().blobs.giveUp(100)).map(({ id }) => id)).not.toContain(
      (newest as { content: { blob: string } }).content.blob,
    );
  });

  test('a rewind takes artifacts back as new versions [artifact.rewind]', async () => {
    const names = newNames();
    const first = new Turn(store(), { names });
    const [kept] = await savingStep(first, 1, ['a', 'user:u']);
    await first.opened(2);
    await first.commit(2, 0);
    const second = new Turn(store(), { names });
    await savingStep(second, 1, ['a', 'b']);
    await second.opened(2);
    await second.commit(2, 0);
    const { event } = await store().sessions.rewind({ ...names, beforeInvocationId: second.invocationId });
    expect(event.actions?.artifactDelta).toEqual({ a: 2, b: 1 });
    expect(await store().artifacts.names(names)).toEqual(['a', 'user:u']);
    expect((await store().artifacts.find(names, 'a'))?.content).toMatchObject({
      blob: (kept as { blob: string }).blob,
    });
    expect(await store().artifacts.find(names, 'b')).toBeUndefined();
    expect((await store().artifacts.find(names, 'b', 0))?.version).toBe(0);
  });

  test('a version whose bytes were collected is not recorded [artifact.garbage]', async () => {
    const turn = new Turn(store());
    await turn.opened(1);
    await turn.commit(1, 1);
    await turn.begin(1, 0);
    const artifact = await saved(turn, turn.callKey(1, 0), 'a');
    await expireBlobs(store(), turn.names.app);
    await store().blobs.giveUp(1_000);
    await expect(settle(turn, 1, [artifact])).rejects.toMatchObject({ code: 'HOLDFAST_ARTIFACT_COLLECTED' });
    // The call itself can settle without it.
    expect(await turn.settle(1, 0, { error: 'lost' })).toMatchObject({ first: true });
  });
}
