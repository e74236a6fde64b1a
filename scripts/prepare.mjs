// Builds the package where npm makes one of the sources. `prepack`: npm pack, npm publish. `postprepare`: npm install git+…, and npm install
// in a clone; as `prepare` it would be run twice for git, and npm would warn of it wherever the package is installed from its tarball.
// Plain JavaScript: an old Node must get far enough to say that it is too old.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function fail(problem) {
  console.error(`holdfast can't be built: ${problem}`);
  process.exit(1);
}

// scripts/setup.mjs builds by itself.
if (!process.env.HOLDFAST_SETUP) {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 18)) {
    fail(`it takes Node 22.18 or newer, and this is ${process.versions.node}`);
  }
  if (!existsSync(`${root}node_modules/typescript`)) {
    fail('its development packages are missing; run `npm run setup` in its folder first');
  }
  // To standard error: `npm pack --json` has standard output for itself.
  const { status, error } = spawnSync(process.execPath, [`${root}scripts/build.ts`], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (error || status !== 0) fail(error ? error.message : 'see above');
}
