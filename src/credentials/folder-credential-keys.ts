import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { InvalidCredentialKeys } from './credential-errors.ts';
import {
  type CredentialKey,
  type CredentialKeys,
  credentialKeysOfVariables,
  parseCredentialKeys,
} from './credential-keys.ts';

const FILE = 'credential-keys.json';
const MODE = 0o600;

/**
 * Keys of an embedded environment: `credential-keys.json` in its folder, which is made, readable for this user only, when the
 * first credential is kept. A backup of the store is of use only with it.
 *
 * @param folder `.holdfast`.
 */
export function folderCredentialKeys(folder: string): CredentialKeys {
  const file = join(folder, FILE);
  return {
    sealing: () => (read(file) ?? made(folder, file)).sealing(),
    find: (id): CredentialKey | undefined => read(file)?.find(id),
  };
}

/**
 * The keys of `HOLDFAST_CREDENTIAL_KEYS`, else those of a folder.
 *
 * @param folder of an embedded store; undefined where the store is elsewhere.
 * @throws InvalidCredentialKeys
 */
export function credentialKeysFor(
  env: NodeJS.ProcessEnv,
  folder: string | undefined,
): CredentialKeys | undefined {
  return credentialKeysOfVariables(env) ?? (folder === undefined ? undefined : folderCredentialKeys(folder));
}

function read(file: string): CredentialKeys | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return parseCredentialKeys(text);
  } catch (error) {
    if (!(error instanceof InvalidCredentialKeys)) throw error;
    throw new InvalidCredentialKeys(`${file}: ${error.message}`);
  }
}

/** Readers see the file whole or not at all, and of two makers one wins. */
function made(folder: string, file: string): CredentialKeys {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`;
  const keys = { [`k-${randomBytes(4).toString('hex')}`]: randomBytes(32).toString('base64') };
  try {
    writeFileSync(draft, `${JSON.stringify(keys, null, 2)}\n`, { mode: MODE, flag: 'wx', flush: true });
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
  }
  const kept = read(file);
  if (kept === undefined) throw new InvalidCredentialKeys(`${file}: was removed while it was made`);
  return kept;
}
