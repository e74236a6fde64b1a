import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  createApiKey,
  listApiKeys,
  listDenials,
  revokeApiKey,
  rotateApiKey,
} from '../../src/cli/keys/api-key-commands.ts';
import { holdfastProgram } from '../../src/cli/program.ts';
import { ApiKeys } from '../../src/gateway/index.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { acquireFolder } from '../../worker/index.ts';
import { openLocalGateway } from '../../worker/local-gateway.ts';
import { collecting } from '../gateway/gateway-stub.ts';
import { putStore } from '../setup/made-store.ts';
import { capturedOutput } from './captured-output.ts';

const root = mkdtempSync(join(tmpdir(), 'holdfast-api-keys-'));
const folder = join(root, '.holdfast');
const place = { folder, env: {} };

describe('holdfast keys, of API keys', () => {
  let store: OpenedStore;
  let close: () => Promise<void>;

  beforeAll(async () => {
    const ownership = acquireFolder(folder);
    putStore(ownership.folder);
    store = await openStore({ folder: ownership.folder });
    const gateway = await openLocalGateway({
      ownership,
      client: {} as never,
      about: () => ({
        v: 1,
        version: '0',
        namespace: '',
        taskQueue: '',
        store: 'embedded',
        apps: [],
        agents: [],
      }),
      ready: async () => ({}),
      records: store,
    });
    close = async () => {
      await gateway.close();
      await store.close();
      ownership.release();
    };
  });
  afterAll(async () => {
    await close();
    rmSync(root, { recursive: true, force: true });
  });

  async function made(name: string, more: object = {}) {
    const output = capturedOutput();
    const given = { ...place, name, app: ['shop'], role: ['run', 'read'] as const, ...more };
    await createApiKey(given, output);
    const text = output.lines[0] ?? '';
    return { text, keyId: text.split('_')[1] ?? '', output };
  }
  const holder = async (text: string) => {
    const keys = new ApiKeys({ store, logger: collecting([]) });
    return (await keys.authenticate(text))?.person;
  };

  test('create makes one beside the process that owns the folder, and shows it once [auth.keys]', async () => {
    const { text, keyId, output } = await made('ada', { user: 'u1', expires: 86_400_000 });
    expect(output.lines).toEqual([expect.stringMatching(/^hf_[0-9a-f]{16}_[\w-]{43}$/)]);
    expect(await holder(text)).toBe('ada');
    expect((await store.keys.find([keyId]))[0]).toMatchObject({
      userId: 'u1',
      grants: [{ app: 'shop', roles: ['run', 'read'] }],
      expiresAt: expect.any(Number),
    });
    const listed = capturedOutput();
    await listApiKeys({ ...place, json: true }, listed);
    await listApiKeys(place, listed);
    const secret = text.split('_').slice(2).join('_');
    for (const written of [listed.lines.join('\n'), readFileSync(join(folder, 'dev.json'), 'utf8')]) {
      expect(written).not.toContain(secret);
    }
    expect(listed.lines.join('\n')).toMatch(new RegExp(`${keyId} +ada +shop: run, read +u1 +good until`));
  });

  test('rotate leaves the text before good for a while, revoke ends both [auth.keys]', async () => {
    const { text } = await made('bob');
    const rotated = capturedOutput();
    await rotateApiKey('bob', { ...place, grace: 60_000 }, rotated);
    const [newer = ''] = rotated.lines;
    expect(newer).not.toBe(text);
    expect([await holder(text), await holder(newer)]).toEqual(['bob', 'bob']);
    await rotateApiKey('bob', { ...place, grace: 1 }, rotated);
    await expect.poll(() => holder(newer)).toBeUndefined();
    expect(await holder(text)).toBeUndefined();
    const newest = rotated.lines[1] ?? '';
    expect(await holder(newest)).toBe('bob');
    await revokeApiKey('bob', place, capturedOutput());
    expect(await holder(newest)).toBeUndefined();
    await expect(
      rotateApiKey(newest.split('_')[1] ?? '', { ...place, grace: 1 }, capturedOutput()),
    ).rejects.toThrow('is revoked: make another key');
  });

  test('a name that several keys have is no name of one, and a key’s text is never repeated [auth.keys]', async () => {
    const first = await made('carl');
    const second = await made('carl');
    await expect(revokeApiKey('carl', place, capturedOutput())).rejects.toThrow(second.keyId);
    await revokeApiKey(first.keyId, place, capturedOutput());
    await revokeApiKey('carl', place, capturedOutput());
    expect(await holder(second.text)).toBeUndefined();
    const refused = revokeApiKey(second.text, place, capturedOutput());
    await expect(refused).rejects.toThrow('give its id');
    await expect(refused).rejects.not.toThrow(second.text);
  });

  test.each([
    ['nobody', ['create', '--app', 'a', '--role', 'run'], 'say who uses the key'],
    ['no app', ['create', 'ada', '--role', 'run'], 'say who uses the key'],
    ['no role', ['create', 'ada', '--app', 'a'], 'say who uses the key'],
    ['both kinds', ['create', 'ada', '--approver', 'ada'], 'signs decisions: leave NAME'],
    ['no name', ['create', ' ada', '--app', 'a', '--role', 'run'], 'begin or end with a space'],
  ])('create refuses %s [auth.keys]', async (_what, args, message) => {
    const program = await holdfastProgram();
    await expect(program.parseAsync(['keys', ...args], { from: 'user' })).rejects.toThrow(message);
  });

  test('denials lists what was refused [auth.denials]', async () => {
    const at = Date.now();
    const kind = {
      reason: 'forbidden',
      route: '/v1/apps/:app/sessions',
      who: 'mira',
      permission: 'read',
      app: 'shop',
    };
    await store.keys.noteDenials([{ ...kind, count: 7, firstAt: at, lastAt: at }]);
    const output = capturedOutput();
    await listDenials({ ...place, limit: 10 }, output);
    expect(output.lines.join('\n')).toMatch(/7 +forbidden +mira +read +shop +\/v1\/apps\/:app\/sessions/);
  });
});
