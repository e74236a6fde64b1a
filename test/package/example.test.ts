import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { holdfast } from '../cli/holdfast-process.ts';

const work = mkdtempSync(join(tmpdir(), 'holdfast-example-'));
const example = fileURLToPath(new URL('../../examples/survey/agents.ts', import.meta.url));
afterAll(() => rmSync(work, { recursive: true, force: true }));

test('the example runs to its answer without a key, and links to the Temporal UI [package.example]', async () => {
  const message = 'How many lines do the workflows have?';
  const { code, stdout, stderr } = await holdfast(
    ['run', example, '--message', message, '--folder', join(work, '.holdfast'), '--stop-server'],
    { cwd: work },
  );
  expect({ code, stderr }).toMatchObject({ code: 0 });
  expect(stdout).toMatch(/^you {2}How many lines do the workflows have\?$/m);
  expect(stdout).toMatch(/\d+ lines/);
  expect(stderr).toMatch(/Temporal UI http:\/\/127\.0\.0\.1:\d+\//);
});
