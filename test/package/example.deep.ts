import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { holdfast } from '../cli/holdfast-process.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-example-'));
const root = fileURLToPath(new URL('../../', import.meta.url));
afterAll(() => rmSync(work, { recursive: true, force: true }));

test('the first command of the README runs to its answer without a key, and links to the Temporal UI [package.example] [example.support]', async () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const [, file = '', message = ''] =
    /^node bin\/holdfast\.js run (\S+) --message "([^"]+)"$/.exec(scripts['run-example']) ?? [];
  const { code, stdout, stderr } = await holdfast(
    ['run', join(root, file), '--message', message, '--folder', join(work, '.holdfast'), '--stop-server'],
    { cwd: work },
  );
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toContain(`you  ${message}\n`);
  expect(stdout.match(/→ \w+/g)).toEqual([
    '→ look_up_order',
    '→ look_up_order',
    '→ look_up_order',
    '→ compare_orders',
    '→ refund',
  ]);
  expect(stdout).toContain('I have refunded €337.00 of FH-12529; the receipt is R-000001');
  expect(stderr).toMatch(/a local mock Gemini server answers; its words are scripted/);
  expect(stderr).toMatch(/Temporal UI http:\/\/127\.0\.0\.1:\d+\//);
});
