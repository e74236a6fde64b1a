import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { createKey, showKey } from '../../src/cli/keys/approver-key-commands.ts';
import { capturedOutput } from './captured-output.ts';
import { holdfast } from './holdfast-process.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-keys-'));
afterAll(() => rmSync(work, { recursive: true, force: true }));

describe('holdfast keys', () => {
  test('create writes the private half for its owner only, and prints the public one as code [approval.approvers]', async () => {
    const made = await holdfast(['keys', 'create', '--approver', 'mira'], { cwd: work });
    expect(made.code).toBe(0);
    const file = join(work, 'mira.key.json');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { privateKey } = JSON.parse(readFileSync(file, 'utf8'));
    expect(made.stdout).toContain(privateKey.x);
    expect(made.stdout + made.stderr).not.toContain(privateKey.d);
    const printed = new Function(`return [${made.stdout}]`)();
    expect(printed).toEqual([
      {
        issuer: 'approver:mira',
        approver: 'mira',
        key: expect.objectContaining({ kty: 'OKP', crv: 'Ed25519', x: privateKey.x }),
      },
    ]);
    const shown = capturedOutput();
    showKey(file, { json: true }, shown);
    expect(shown.values()).toEqual(printed);
  });

  test('create never overwrites a key [approval.approvers]', async () => {
    const out = join(work, 'mine.json');
    await createKey({ approver: 'otto', out }, capturedOutput());
    const before = readFileSync(out, 'utf8');
    await expect(createKey({ approver: 'otto', out }, capturedOutput())).rejects.toThrow(
      /mine\.json is there, and a key that is overwritten is lost/,
    );
    expect(readFileSync(out, 'utf8')).toBe(before);
  });

  test('a name that needs quotes is printed as code, and makes no odd file [approval.approvers]', async () => {
    const approver = '../O\'Hara "x"';
    const output = capturedOutput();
    const out = join(work, 'odd.json');
    await createKey({ approver, out }, output);
    expect(new Function(`return [${output.lines.join('\n')}]`)()[0].approver).toBe(approver);
    await expect(createKey({ approver: 'a\nb' }, capturedOutput())).rejects.toMatchObject({
      code: 'HOLDFAST_COMMAND_LINE',
    });
  });

  test('show says what is wrong with a file, and never what is in it [approval.approvers]', () => {
    const file = join(work, 'broken.json');
    writeFileSync(file, '{"secret":"sesame"');
    expect(() => showKey(file, {}, capturedOutput())).toThrow(/broken\.json: .*(?<!sesame.*)$/s);
    expect(() => showKey(join(work, 'none.json'), {}, capturedOutput())).toThrow(/no such file.*keys create/);
  });
});
