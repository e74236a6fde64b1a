import { randomBytes } from 'node:crypto';
import { inspect } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readAuthCredential } from '../../src/credentials/auth-credential.ts';
import {
  CredentialKeyMissing,
  CredentialUnreadable,
  InvalidCredential,
} from '../../src/credentials/credential-errors.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { CredentialVault } from '../../src/credentials/credential-vault.ts';
import { seal, unseal } from '../../src/credentials/seal.ts';
import type { AuthCredential } from '../../src/events/auth-credential.ts';
import type { SealedCredential, WhichCredential } from '../../src/store/credentials/credential-store.ts';
import { type OpenedStore, openStore } from '../../src/store/open-store.ts';
import { databaseWithStore } from '../setup/own-database.ts';

const K1 = `k1:${randomBytes(32).toString('base64')}`;
const K2 = `k2:${randomBytes(32).toString('base64')}`;
const SECRET = 'sk-S3CRET-4711';

const CREDENTIALS: AuthCredential[] = [
  { authType: 'apiKey', apiKey: SECRET },
  { authType: 'http', http: { scheme: 'bearer', credentials: { token: SECRET } } },
  { authType: 'http', http: { scheme: 'basic', credentials: { username: 'ada', password: SECRET } } },
];
const [API_KEY] = CREDENTIALS as [AuthCredential];

let store: OpenedStore;

beforeAll(async () => {
  store = await openStore(await databaseWithStore());
});
afterAll(() => store.close());

const vault = (keys: string | undefined) =>
  new CredentialVault(store.credentials, keys === undefined ? undefined : parseCredentialKeys(keys));

/** The content that such a vault reads. */
async function opened(keys: string | undefined, which: WhichCredential) {
  const found = await store.credentials.find(which);
  return found && vault(keys).unsealed(found);
}

let users = 0;
const newPlace = () => {
  users += 1;
  return { app: 'shop', userId: `ada-${users}`, credentialKey: 'orders' };
};

describe('the vault of credentials [credential.secret]', () => {
  test.each(CREDENTIALS)('gives back what was put into it: %#', async (credential) => {
    const place = newPlace();
    const stored = await vault(K1).put({ ...place, credential, label: 'orders of Ada' });
    expect(stored).toEqual({
      ...place,
      credentialRef: expect.stringMatching(/^cr-[\w-]{22}$/),
      authType: credential.authType,
      label: 'orders of Ada',
      createdAt: expect.any(Number),
    });
    const { app, userId, credentialRef } = stored;
    expect(await opened(K1, { app, userId, credentialRef })).toEqual(credential);
    expect(await opened(K1, place)).toEqual(credential);
    expect(await store.credentials.list({ app, userId })).toEqual([stored]);
    expect(await store.credentials.remove({ app, userId, credentialRef })).toBe(true);
    expect(await opened(K1, place)).toBeUndefined();
  });

  test('has nothing of the secret in the store', async () => {
    const place = newPlace();
    await vault(K1).put({ ...place, credential: API_KEY });
    const kept = await store.credentials.find(place);
    expect(JSON.stringify(kept)).not.toContain(SECRET);
    expect(Buffer.from(kept?.sealed ?? '', 'base64').toString('latin1')).not.toContain(SECRET);
    const { sealed: one } = kept as SealedCredential;
    await vault(K1).put({ ...place, credential: API_KEY });
    expect((await store.credentials.find(place))?.sealed).not.toBe(one);
  });

  test('has one credential for an app, a user and a key', async () => {
    const place = newPlace();
    await vault(K1).put({ ...place, credential: { authType: 'apiKey', apiKey: 'old' } });
    await vault(K1).put({ ...place, credential: API_KEY });
    expect(await opened(K1, place)).toEqual(API_KEY);
    expect(await store.credentials.list({ app: 'shop', userId: place.userId })).toHaveLength(1);
  });

  test('gives nobody the credential of another user', async () => {
    const place = newPlace();
    const { app, credentialRef } = await vault(K1).put({ ...place, credential: API_KEY });
    const other = newPlace().userId;
    expect(await opened(K1, { app, userId: other, credentialRef })).toBeUndefined();
    expect(await store.credentials.remove({ app, userId: other, credentialRef })).toBe(false);
  });

  test('keeps what an older key has encrypted readable, and encrypts with the first', async () => {
    const [old, young] = [newPlace(), newPlace()];
    await vault(K1).put({ ...old, credential: API_KEY });
    const rotated = vault(`${K2},${K1}`);
    expect(await opened(`${K2},${K1}`, old)).toEqual(API_KEY);
    await rotated.put({ ...young, credential: API_KEY });
    expect((await store.credentials.find(young))?.keyId).toBe('k2');
    expect(await opened(K2, young)).toEqual(API_KEY);
    const lost = opened(K2, old);
    await expect(lost).rejects.toThrow(CredentialUnreadable);
    await expect(lost).rejects.toThrow('the key "k1", which isn\'t among those');
  });

  test('neither takes nor gives anything without keys, and says so', async () => {
    const place = newPlace();
    await expect(vault(undefined).put({ ...place, credential: API_KEY })).rejects.toThrow(
      CredentialKeyMissing,
    );
    expect(await opened(undefined, place)).toBeUndefined();
    await vault(K1).put({ ...place, credential: API_KEY });
    await expect(opened(undefined, place)).rejects.toThrow(/HOLDFAST_CREDENTIAL_KEYS/);
  });

  test('takes names that can be kept only', async () => {
    const place = newPlace();
    const userId = `${place.userId}-`.padEnd(1_000, 'u');
    expect((await vault(K1).put({ ...place, userId, credential: API_KEY })).userId).toBe(userId);
    for (const more of [
      { app: '' },
      { userId: '' },
      { userId: `${userId}u` },
      { credentialKey: '' },
      { credentialKey: 'k'.repeat(513) },
    ]) {
      await expect(vault(K1).put({ ...place, credential: API_KEY, ...more })).rejects.toThrow(
        InvalidCredential,
      );
    }
    const label = 'l'.repeat(201);
    await expect(vault(K1).put({ ...place, credential: API_KEY, label })).rejects.toThrow(
      'label: 201 characters, at most 200 are allowed',
    );
  });
});

describe('a sealed credential [credential.secret]', () => {
  const keys = parseCredentialKeys(`${K1},${K2}`);
  const place = { app: 'shop', userId: 'ada', credentialKey: 'orders', credentialRef: 'cr-1' };
  const sealed = (more: Partial<SealedCredential> = {}): SealedCredential => ({
    ...place,
    authType: 'apiKey',
    createdAt: 1,
    keyId: 'k1',
    sealed: seal(API_KEY, place, keys.sealing()),
    ...more,
  });

  test('opens in its own place', () => {
    expect(unseal(sealed(), keys)).toEqual(API_KEY);
  });

  test.each<[string, Partial<SealedCredential>]>([
    ['another user', { userId: 'bob' }],
    ['another app', { app: 'bank' }],
    ['another key', { credentialKey: 'payments' }],
    ['another reference', { credentialRef: 'cr-2' }],
    ['names that run into each other', { app: 'shopa', userId: 'da' }],
    ['another encryption key', { keyId: 'k2' }],
  ])('that was moved to %s does not open', (_what, more) => {
    expect(() => unseal(sealed(more), keys)).toThrow(CredentialUnreadable);
  });

  test('of which any byte was changed does not open: nonce, content, tag', () => {
    const whole = Buffer.from(sealed().sealed, 'base64');
    for (let at = 0; at < whole.length; at++) {
      const changed = Buffer.from(whole);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => unseal(sealed({ sealed: changed.toString('base64') }), keys), `byte ${at}`).toThrow(
        CredentialUnreadable,
      );
    }
  });

  test.each(['', 'AAAA', randomBytes(28).toString('base64')])('that was cut does not open: %j', (text) => {
    expect(() => unseal(sealed({ sealed: text }), keys)).toThrow(CredentialUnreadable);
  });

  test('that does not open says nothing of what it holds', () => {
    try {
      unseal(sealed({ userId: 'bob' }), keys);
      expect.unreachable();
    } catch (error) {
      expect(inspect(error, { depth: 9, showHidden: true })).not.toContain(SECRET);
      expect((error as Error).cause).toBeUndefined();
    }
  });
});

describe('a credential that is given', () => {
  test('is read whatever the case of its scheme', () => {
    const http = { scheme: 'Bearer', credentials: { token: SECRET } };
    expect(readAuthCredential({ authType: 'http', http, oauth2: undefined })).toEqual(CREDENTIALS[1]);
  });

  test.each<[unknown, string]>([
    [SECRET, 'credential: expected an object, got string'],
    [null, 'credential: expected an object, got null'],
    [
      { apiKey: SECRET },
      "authType: expected 'apiKey', 'http', 'oauth2', 'openIdConnect' or 'serviceAccount', got undefined",
    ],
    [{ authType: SECRET }, "'openIdConnect' or 'serviceAccount', got another string"],
    [{ authType: 'oauth2', oauth2: { refreshToken: SECRET } }, 'oauth2.accessToken: expected a string'],
    [{ authType: 'oauth2', oauth2: { accessToken: SECRET, [SECRET]: 1 } }, 'oauth2: expected accessToken, '],
    [
      { authType: 'oauth2', oauth2: { accessToken: SECRET, expiresAt: -1 } },
      'oauth2.expiresAt: expected milliseconds',
    ],
    [
      { authType: 'serviceAccount', serviceAccount: {} },
      'serviceAccount.serviceAccountCredential: expected an object, got undefined',
    ],
    [
      { authType: 'serviceAccount', serviceAccount: { serviceAccountCredential: { clientEmail: 'a@b' } } },
      'serviceAccount.serviceAccountCredential.privateKey: expected a text',
    ],
    [{ authType: 'apiKey' }, 'apiKey: expected a string, got undefined'],
    [{ authType: 'apiKey', apiKey: '' }, 'apiKey: is empty'],
    [{ authType: 'apiKey', apiKey: `${SECRET}\n` }, 'apiKey: has control characters, a line break for one'],
    [{ authType: 'apiKey', apiKey: 'k'.repeat(16_385) }, 'apiKey: is longer than 16384 characters'],
    [{ authType: 'apiKey', apiKey: `${SECRET}\ud800` }, 'apiKey: is no well-formed Unicode'],
    [{ authType: 'apiKey', apiKey: SECRET, [SECRET]: 1 }, 'credential: expected authType, apiKey only'],
    [{ authType: 'http', http: SECRET }, 'http: expected an object, got string'],
    [
      { authType: 'http', http: { scheme: SECRET, credentials: {} } },
      "http.scheme: expected 'bearer' or 'basic'",
    ],
    [
      { authType: 'http', http: { scheme: 'digest', credentials: {} } },
      "http.scheme: expected 'bearer' or 'basic'",
    ],
    [{ authType: 'http', http: { scheme: 'bearer' } }, 'http.credentials: expected an object, got undefined'],
    [bearer({ token: 7 }), 'http.credentials.token: expected a string, got number'],
    [bearer({ token: SECRET, password: SECRET }), 'http.credentials: expected token only'],
    [
      basic({ username: 'a:b', password: SECRET }),
      'http.credentials.username: a user name of HTTP has no colon',
    ],
    [basic({ username: 'ada' }), 'http.credentials.password: expected a string, got undefined'],
    [
      {
        authType: 'http',
        http: { scheme: 'bearer', credentials: { token: SECRET }, additionalHeaders: { a: SECRET } },
      },
      'http: expected scheme, credentials only',
    ],
  ])('and is none is refused by the name of its field: %#', (given, problem) => {
    expect(() => readAuthCredential(given)).toThrow(InvalidCredential);
    expect(() => readAuthCredential(given)).toThrow(problem);
    expect(() => readAuthCredential(given)).not.toThrow(SECRET);
  });
});

function bearer(credentials: object): object {
  return { authType: 'http', http: { scheme: 'bearer', credentials } };
}

function basic(credentials: object): object {
  return { authType: 'http', http: { scheme: 'basic', credentials } };
}
