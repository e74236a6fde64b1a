import { spawnSync } from 'node:child_process';
import { hostname } from 'node:os';
import { msToTs } from '@temporalio/common/lib/time.js';
import { expect, test } from 'vitest';
import { alivePollers } from '../../src/cli/doctor/check-temporal.ts';

test('workers that are gone are counted no more: of this machine at once, of others after their last poll [cli.doctor]', () => {
  const { pid: dead } = spawnSync(process.execPath, ['--version']);
  const now = Date.now();
  const poller = (identity: string, ago: number) => ({ identity, lastAccessTime: msToTs(now - ago) });
  const pollers = [
    poller(`${process.pid}@${hostname()}`, 50_000),
    poller(`${dead}@${hostname()}`, 1_000),
    poller('7@elsewhere', 50_000),
    poller('8@elsewhere', 200_000),
    poller('named by somebody', 10),
  ];
  expect(alivePollers(pollers, now)).toEqual([
    `${process.pid}@${hostname()}`,
    '7@elsewhere',
    'named by somebody',
  ]);
});
