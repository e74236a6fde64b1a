import { writeFileSync } from 'node:fs';
import { createApproverKey, InvalidApproverKey, issuerOf } from '../../approvals/approver-key.ts';
import type { Issuer } from '../../approvals/issuer.ts';
import { shellWord } from '../../protocol/shell-word.ts';
import { readKeyFile } from '../approvals/approver.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { processOutput } from '../command-output.ts';

export interface CreateKeyOptions {
  approver: string;
  /** Defaults to `<approver>.key.json`. */
  out?: string;
  json?: boolean;
}

/** `holdfast keys create`: a key of one approver. The private half is in its file only. */
export async function createKey(
  { approver, out, json }: CreateKeyOptions,
  output = processOutput(),
): Promise<void> {
  const { key, issuer } = await made(approver);
  const path = out ?? `${approver.replace(/[^\w.@-]/g, '_').replace(/^\.+/, '_')}.key.json`;
  writeNew(path, `${JSON.stringify(key, undefined, 2)}\n`);
  if (json) return output.json({ file: path, issuer });
  for (const line of issuerLines(issuer)) output.line(line);
  output.note(
    `the private key is in ${path}, which only you can read: keep it to yourself. List the above in your app under ` +
      'durable: { approval: { issuers: [ … ] } }, and decide with',
  );
  output.note(`npx holdfast approvals approve REQUEST --as ${shellWord(approver)} --key ${shellWord(path)}`);
}

/** `holdfast keys show`: the public half of a key. */
export function showKey(path: string, { json }: { json?: boolean }, output = processOutput()): void {
  const issuer = issuerOf(readKeyFile(path));
  if (json) output.json(issuer);
  else for (const line of issuerLines(issuer)) output.line(line);
}

/** The public half, as code. */
function issuerLines({ issuer, approver, key, channels }: Issuer): string[] {
  const fields = Object.entries({ issuer, approver, key, channels })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `  ${name}: ${literal(value)},`);
  return ['{', ...fields, '},'];
}

function literal(value: unknown): string {
  if (typeof value === 'string')
    return `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  const fields = Object.entries(value as object).map(([name, field]) => `${name}: ${literal(field)}`);
  return `{ ${fields.join(', ')} }`;
}

async function made(approver: string) {
  try {
    return await createApproverKey(approver);
  } catch (error) {
    if (error instanceof InvalidApproverKey)
      throw new UsageError(`--approver: ${error.message}`, { cause: error });
    throw error;
  }
}

function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'EEXIST') {
      throw new CliError(
        `${path} is there, and a key that is overwritten is lost: name another file with --out, or move it away`,
      );
    }
    if (code === '') throw error;
    throw new CliError(`${path} can't be written: ${code}`, { cause: error });
  }
}
