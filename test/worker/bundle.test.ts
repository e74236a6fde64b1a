import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { PROTOCOL_VERSION } from '../../src/contract/version.ts';
import {
  BundleMismatch,
  bundlePath,
  currentStamp,
  formatStamp,
  readStamp,
  workflowBundle,
} from '../../worker/bundle.ts';

const folder = mkdtempSync(join(tmpdir(), 'holdfast-bundle-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function bundle(head: string): string {
  const path = join(folder, 'bundle.js');
  writeFileSync(path, `${head}\nexports.agentTurn = () => {};\n`);
  return path;
}

describe('the stamp of the workflow bundle', () => {
  test('is that of the SDK and the protocol of this worker [worker.stamp]', async () => {
    const { version: sdk } = createRequire(import.meta.url)('@temporalio/worker/package.json');
    expect(currentStamp()).toEqual({ sdk, protocol: PROTOCOL_VERSION });
    expect(await readStamp(bundlePath())).toEqual({
      sdk,
      protocol: PROTOCOL_VERSION,
      sources: expect.stringMatching(/^[\w-]{22}$/),
    });
    expect(await workflowBundle()).toEqual({ codePath: bundlePath() });
  });

  test('comes back as it was written [worker.stamp]', async () => {
    const stamp = { sdk: '1.24.0', protocol: 1, sources: 'abc' };
    expect(await readStamp(bundle(formatStamp(stamp)))).toEqual(stamp);
  });

  test.each([
    ['SDK', { sdk: '1.0.0', protocol: PROTOCOL_VERSION }],
    ['protocol', { ...currentStamp(), protocol: PROTOCOL_VERSION + 1 }],
  ])('with another %s is refused, naming both [worker.stamp]', async (_what, stamp) => {
    const refused = workflowBundle(bundle(formatStamp(stamp)));
    await expect(refused).rejects.toThrow(BundleMismatch);
    await expect(refused).rejects.toMatchObject({
      code: 'HOLDFAST_BUNDLE_MISMATCH',
      message:
        `the workflow bundle was built for Temporal SDK ${stamp.sdk} and protocol ${stamp.protocol}, ` +
        `this worker runs SDK ${currentStamp().sdk} and protocol ${PROTOCOL_VERSION}: ` +
        'install one version of all @temporalio packages, or build the bundle again',
    });
  });

  test.each([
    ['no stamp', '// some other bundle'],
    ['an empty file', ''],
    ['half a stamp', formatStamp(currentStamp()).slice(0, -5)],
    ['a stamp that says nothing', `${formatStamp(currentStamp()).split('{')[0]}null`],
  ])('%s is a bundle that must be built again [worker.stamp]', async (_what, head) => {
    const refused = workflowBundle(bundle(head));
    await expect(refused).rejects.toThrow(BundleMismatch);
    await expect(refused).rejects.toThrow(/build/);
  });

  test('a bundle that is missing: what to do [worker.stamp]', async () => {
    const refused = workflowBundle(join(folder, 'nowhere.js'));
    await expect(refused).rejects.toThrow(BundleMismatch);
    await expect(refused).rejects.toThrow(/nowhere\.js: run "npm run build", or install the package again/);
  });
});

test('the bundle holds its source map, without which replay fails, and no schema library [worker.bundle]', () => {
  const code = readFileSync(bundlePath(), 'utf8');
  expect(code).toMatch(/sourceMappingURL=data:application\/json/);
  const encoded = /sourceMappingURL=data:application\/json[^,]*,(\S+)/.exec(code)?.[1] ?? '';
  const { sources } = JSON.parse(Buffer.from(encoded, 'base64').toString());
  expect(sources).toEqual(expect.arrayContaining([expect.stringContaining('workflows/turn/agent-turn.ts')]));
  const foreign = sources.filter((source: string) => /\/(zod|ajv|pg|kysely|@google)\//.test(source));
  expect(foreign).toEqual([]);
});
