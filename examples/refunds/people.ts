import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createApproverKey, type Issuer } from 'holdfast';

/** Those who approve refunds. Nora asks for some, too, and her own are approved by the others. */
export const APPROVERS = ['mira', 'jo', 'nora'];

/** Is asked where none of them answers. */
export const HEAD_OF_FINANCE = 'olga';

/** Where this demo keeps the keys of all of them. In earnest each has their own, and nobody else's. */
export const keysFolder = resolve(process.env.REFUNDS_KEYS || join(import.meta.dirname, 'keys'));
const issuersFile = join(keysFolder, 'issuers.json');

export function keyFileOf(name: string): string {
  return join(keysFolder, `${name}.key.json`);
}

/**
 * The public halves: all that the app needs to trust a decision.
 *
 * @throws Error where there are no keys yet.
 */
export function issuers(): Issuer[] {
  if (existsSync(issuersFile)) return JSON.parse(readFileSync(issuersFile, 'utf8'));
  throw new Error(`there are no keys in ${keysFolder}: node examples/refunds/make-keys.ts makes some`);
}

/** Makes a key for each of them, where there are none yet. */
export async function makeKeys(): Promise<void> {
  if (existsSync(issuersFile)) return;
  mkdirSync(keysFolder, { recursive: true, mode: 0o700 });
  const listed: Issuer[] = [];
  for (const name of [...APPROVERS, HEAD_OF_FINANCE]) {
    const { key, issuer } = await createApproverKey(name);
    writeFileSync(keyFileOf(name), `${JSON.stringify(key, undefined, 2)}\n`, { mode: 0o600 });
    listed.push(issuer);
  }
  writeFileSync(issuersFile, `${JSON.stringify(listed, undefined, 2)}\n`);
}
