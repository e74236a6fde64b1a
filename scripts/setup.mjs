// Brings a fresh clone to where everything runs: dependencies as locked, then the build. Quick when nothing changed.
// Plain JavaScript: it runs before the project's own Node is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const mark = `${root}node_modules/.holdfast-setup`;
const lock = createHash('sha256')
  .update(readFileSync(`${root}package-lock.json`))
  .digest('hex');

function run(command, args, env = process.env) {
  const { status, error } = spawnSync(command, args, {
    cwd: root,
    stdio: 'inherit',
    env,
    shell: process.platform === 'win32',
  });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

if (!existsSync(mark) || readFileSync(mark, 'utf8') !== lock) {
  console.error('installing dependencies …');
  // The build comes below, so scripts/prepare.mjs leaves it out here, and only here.
  const env = { ...process.env, HOLDFAST_SETUP: '1' };
  run('npm', ['ci', '--no-audit', '--no-fund'], env);
  writeFileSync(mark, lock);
}
run('npm', ['run', '--silent', 'build']);

// A script of package.json to go on with, in a shell of its own: this one may have looked up the system's Node already.
const [script, ...args] = process.argv.slice(2);
if (script !== undefined) run('npm', ['run', '--silent', script, '--', ...args]);
