import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { InvalidCredentialKeys } from '../../src/credentials/credential-errors.ts';
import {
  credentialKeysOf,
  credentialKeysOfVariables,
  parseCredentialKeys,
} from '../../src/credentials/credential-keys.ts';
import { folderCredentialKeys } from '../../src/credentials/folder-credential-keys.ts';

const newKey = () => randomBytes(32).toString('base64');
const [FIRST, SECOND] = [newKey(), newKey()];

const places: string[] = [];
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-keys-'));
  places.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of places) rmSync(folder, { recursive: true });
});

describe('keys of credentials', () => {
  test.each([
    ['a list', `k1:${FIRST},k2:${SECOND}`],
    ['a list with blanks', ` k1 : ${FIRST} ,\n k2:${SECOND}\n`],
    ['JSON', JSON.stringify({ k1: FIRST, k2: SECOND })],
    ['base64url without padding', `k1:${url(FIRST)},k2:${url(SECOND)}`],
  ])('are read from %s: the first encrypts, all decrypt', (_form, text) => {
    const keys = parseCredentialKeys(text);
    expect(keys.sealing()).toEqual({ id: 'k1', bytes: Buffer.from(FIRST, 'base64') });
    expect(keys.find('k2')?.bytes).toEqual(Buffer.from(SECOND, 'base64'));
    expect(keys.find('k3')).toBeUndefined();
  });

  test('are an option, too: text, an object, or what was read', () => {
    const read = parseCredentialKeys(`k1:${FIRST}`);
    expect(credentialKeysOf(read)).toBe(read);
    expect(credentialKeysOf({ k1: FIRST }).sealing().id).toBe('k1');
    expect(credentialKeysOf(`k1:${FIRST}`).sealing().id).toBe('k1');
    expect(() => credentialKeysOf(7 as never)).toThrow('got number');
  });

  test('come from the variable, where it is set', () => {
    expect(credentialKeysOfVariables({})).toBeUndefined();
    expect(credentialKeysOfVariables({ HOLDFAST_CREDENTIAL_KEYS: ' ' })).toBeUndefined();
    expect(credentialKeysOfVariables({ HOLDFAST_CREDENTIAL_KEYS: `k1:${FIRST}` })?.sealing().id).toBe('k1');
    expect(() => credentialKeysOfVariables({ HOLDFAST_CREDENTIAL_KEYS: FIRST })).toThrow(
      'HOLDFAST_CREDENTIAL_KEYS: key 1 has no id',
    );
  });

  test.each<[string, string, string]>([
    ['nothing', '', 'key 1 has no id'],
    ['no keys', '{}', 'there is no key'],
    ['a key without an id', FIRST, 'key 1 has no id'],
    ['an empty id', `:${FIRST}`, 'the id of key 1'],
    ['the key in place of the id, without padding', `${url(FIRST)}:k1`, 'key 1: expected base64'],
    [
      'the key in place of the id of an object',
      JSON.stringify({ [url(FIRST)]: 'k1' }),
      'key 1: expected base64',
    ],
    ['the key in place of the id', `${FIRST}:k1`, 'the id of key 1'],
    [
      'a short key',
      `k1:${FIRST},k2:${randomBytes(16).toString('base64')}`,
      'key k2: expected base64 of 32 bytes, got 16',
    ],
    ['text', 'k1:correct horse battery staple', 'key k1: expected base64 of 32 bytes'],
    ['JSON that ends early', `{"k1":"${FIRST}"`, 'this is no JSON'],
    ['a number', '{"k1":7}', 'key k1: expected base64 of 32 bytes'],
    ['two keys of one id', `k1:${FIRST},k1:${SECOND}`, 'two keys have the same id'],
    ['ids that JSON puts in order', JSON.stringify({ 2: FIRST, 1: SECOND }), 'name a key k1, not 1'],
  ])('of %s are refused, and not quoted', (_what, text, problem) => {
    expect(() => parseCredentialKeys(text)).toThrow(InvalidCredentialKeys);
    expect(() => parseCredentialKeys(text)).toThrow(problem);
    for (const secret of [FIRST, SECOND, 'correct horse', randomBytes(16).toString('base64')]) {
      expect(() => parseCredentialKeys(text)).not.toThrow(secret);
    }
  });

  test('show nothing when they are printed', () => {
    const keys = parseCredentialKeys(`k1:${FIRST}`);
    expect(`${inspect(keys, { depth: 9, showHidden: true })}${JSON.stringify(keys)}`).not.toContain(FIRST);
  });
});

describe('the keys of a folder', () => {
  test('are made with the first credential, for its user only, and stay', () => {
    const folder = newFolder();
    const file = join(folder, 'credential-keys.json');
    const keys = folderCredentialKeys(folder);
    expect(keys.find('k1')).toBeUndefined();
    expect(() => statSync(file)).toThrow('ENOENT');
    const made = keys.sealing();
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(keys.sealing()).toEqual(made);
    expect(folderCredentialKeys(folder).find(made.id)).toEqual(made);
  });

  test('can be changed: the first of the file encrypts', () => {
    const folder = newFolder();
    const keys = folderCredentialKeys(folder);
    const old = keys.sealing();
    const file = join(folder, 'credential-keys.json');
    const content = { k2: SECOND, ...(JSON.parse(readFileSync(file, 'utf8')) as object) };
    writeFileSync(file, JSON.stringify(content));
    expect(keys.sealing().id).toBe('k2');
    expect(keys.find(old.id)).toEqual(old);
  });

  test('that are damaged are named by their file', () => {
    const folder = newFolder();
    writeFileSync(join(folder, 'credential-keys.json'), `{"k1":"${FIRST.slice(4)}"}`);
    expect(() => folderCredentialKeys(folder).sealing()).toThrow(
      /credential-keys\.json: key k1: expected base64/,
    );
  });
});

function url(base64: string): string {
  return Buffer.from(base64, 'base64').toString('base64url');
}
