import { chmodSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeDevEntry } from '../../worker/folder/dev-file.ts';
import { HoldfastProcess } from './holdfast-process.ts';

const work = realpathSync(mkdtempSync(join(tmpdir(), 'holdfast-temporal-')));
const folder = join(work, '.holdfast');
mkdirSync(folder);
writeDevEntry(folder, 'temporal', { address: '127.0.0.1:45443' });

/** A program in a folder of its own that takes the Temporal CLI's place, says what it was given and exits with 7; or a server alone. */
function program(kind: 'cli' | 'server'): string {
  const place = mkdtempSync(join(work, `${kind}-`));
  const path = join(place, 'temporal');
  const told = [
    'if [ "$3" = "--help" ]; then echo "  --query"; exit 0; fi',
    'for name in ADDRESS NAMESPACE API_KEY CONFIG_FILE; do eval "echo $name=\\$TEMPORAL_$name"; done',
    'for argument in "$@"; do echo "[$argument]"; done',
    'exit 7',
  ];
  writeFileSync(
    path,
    ['#!/bin/sh', ...(kind === 'cli' ? told : ['echo "unknown command" >&2', 'exit 1'])].join('\n'),
  );
  chmodSync(path, 0o755);
  return path;
}

const cli = program('cli');
const server = program('server');

async function temporal(args: readonly string[], env: Record<string, string> = {}) {
  const surroundings = {
    HOLDFAST_CACHE: join(work, 'cache'),
    HOLDFAST_TEMPORAL_CLI: '',
    PATH: '/usr/bin:/bin',
    ...env,
  };
  const started = new HoldfastProcess(['temporal', ...args], { cwd: work, env: surroundings });
  return await started.finished();
}

describe.skipIf(process.platform === 'win32')('holdfast temporal', () => {
  test('gives the Temporal CLI the folder’s server, its arguments as they are, and its exit code [cli.temporal]', async () => {
    const args = ['workflow', 'list', '--query', "A = 'b c'", '-o', 'json', '--folder', 'x', '--help'];
    const { code, stdout } = await temporal(args, {
      HOLDFAST_TEMPORAL_CLI: cli,
      // Of another server.
      TEMPORAL_API_KEY: 'k',
    });
    expect(stdout.split('\n')).toEqual([
      'ADDRESS=127.0.0.1:45443',
      'NAMESPACE=default',
      'API_KEY=',
      'CONFIG_FILE=/dev/null',
      ...args.map((argument) => `[${argument}]`),
      '',
    ]);
    expect(code).toBe(7);
  });

  test('or the configured server, with what the configuration says besides [cli.temporal]', async () => {
    const env = {
      TEMPORAL_ADDRESS: 'temporal.example:7233',
      TEMPORAL_NAMESPACE: 'shop',
      TEMPORAL_API_KEY: 'k',
    };
    const { stdout } = await temporal(['--folder', folder, 'workflow', 'show'], {
      HOLDFAST_TEMPORAL_CLI: cli,
      ...env,
    });
    expect(stdout).toBe(
      'ADDRESS=temporal.example:7233\nNAMESPACE=shop\nAPI_KEY=k\nCONFIG_FILE=\n[workflow]\n[show]\n',
    );
  });

  test('finds it on PATH, behind a program that is a server alone [cli.temporal]', async () => {
    const path = [server, cli].map((each) => join(each, '..')).join(delimiter);
    expect(await temporal(['workflow', 'show'], { PATH: `${path}${delimiter}/usr/bin:/bin` })).toMatchObject({
      code: 7,
    });
  });

  test('without one says how to install it, and the line to use [cli.temporal]', async () => {
    const { code, stderr } = await temporal(['workflow', 'list', '--query', "A = 'b'"], {
      PATH: `${join(server, '..')}${delimiter}/usr/bin:/bin`,
    });
    expect(code).toBe(1);
    expect(stderr).toContain('is a development server alone');
    expect(stderr).toContain('https://docs.temporal.io/cli#install');
    expect(stderr).toContain(
      `TEMPORAL_ADDRESS=127.0.0.1:45443 TEMPORAL_NAMESPACE=default temporal workflow list --query 'A = '\\''b'\\'''`,
    );
  });

  test('without a server says how there is one; so does a configured program that is a server alone; one that is none is named [cli.temporal]', async () => {
    const none = await temporal(['--folder', 'none', 'workflow', 'list'], { HOLDFAST_TEMPORAL_CLI: cli });
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('start holdfast dev') });
    const alone = await temporal(['workflow', 'list'], { HOLDFAST_TEMPORAL_CLI: server });
    expect(alone).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('TEMPORAL_ADDRESS=127.0.0.1:45443'),
    });
    const wrong = await temporal(['workflow', 'list'], { HOLDFAST_TEMPORAL_CLI: join(work, 'nothing') });
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('is no executable file') });
  });
});
