import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const program = fileURLToPath(new URL('../../scripts/deploy-natively.ts', import.meta.url));
/** Building Temporal's server takes most of it, once. */
const TIME = 40 * 60_000;

test(
  'the Compose file’s services come up without Docker and do the main job [deploy.native]',
  () => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [program], {
      encoding: 'utf8',
      timeout: TIME,
    });
    expect({ status, stderr }).toMatchObject({ status: 0 });
    expect(stdout).toMatch(/^deployed\b/m);
  },
  TIME,
);
