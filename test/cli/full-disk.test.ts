import { mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { chatHistory } from '../../src/cli/dev/conversation.ts';
import { folderLogger } from '../../src/cli/environment/worker-logs.ts';
import { makeSmallDisk } from '../store/small-disk.ts';

const small = makeSmallDisk(2);

function loggerIn(folder: string) {
  const told: string[] = [];
  return { told, logger: folderLogger(folder, (line) => void told.push(line)) };
}

test('a full disk ends nothing that runs: it is said once, and lines are kept again once there is room [worker.fullDisk]', ({
  skip,
}) => {
  if ('reason' in small) return skip(small.reason);
  onTestFinished(() => small.remove());
  const { folder } = small;
  const { told, logger } = loggerIn(folder);
  logger.warn('kept');
  small.fill(0);
  const long = 'x'.repeat(8_192);
  for (let n = 0; n < 3; n += 1) logger.warn(long);
  expect(told).toEqual([expect.stringMatching(/worker\.log: ENOSPC: no space left on device.*free space/)]);
  const typed: string[] = [];
  const history = chatHistory(folder, (line) => void typed.push(line));
  for (let n = 0; n < 3; n += 1) history.save([long]);
  expect(typed).toEqual([expect.stringContaining('chat-history: ENOSPC')]);
  small.makeRoom();
  logger.warn('kept again');
  expect(readFileSync(join(folder, 'worker.log'), 'utf8')).toMatch(/ kept [\s\S]* kept again /);
});

test('the person is told of a failed attempt, in one short line, and of no other warning [cli.run]', () => {
  const { told, logger } = loggerIn(mkdtempSync(join(tmpdir(), 'holdfast-log-')));
  const call = { tool: 'pay', callKey: 'e-1.2.0', failures: 1 };
  logger.warn(`no\nmoney${'x'.repeat(9_000)}`, call);
  logger.warn('model step failed: 503', { failures: 1 });
  logger.warn('else');
  expect(told).toEqual([
    expect.stringMatching(/^ {2}pay 2\.0 failed: no\\u000amoneyx{200,300}… 9008 characters$/),
    '  model step failed: 503',
  ]);
});

test('a log that can not be written ends nothing that runs [worker.fullDisk]', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-log-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const { told, logger } = loggerIn(folder);
  mkdirSync(join(folder, 'worker.log'));
  for (let n = 0; n < 3; n += 1) logger.warn('lost');
  expect(told).toEqual([expect.stringContaining('EISDIR')]);
  rmdirSync(join(folder, 'worker.log'));
  const cycle: Record<string, unknown> = { n: 1n };
  logger.warn('odd', { ...cycle, itself: Object.assign(cycle, { itself: cycle }) });
  expect(readFileSync(join(folder, 'worker.log'), 'utf8')).toMatch(/ odd .*itself/);
  mkdirSync(join(folder, 'again'));
  const other = loggerIn(join(folder, 'nowhere'));
  other.logger.error('lost');
  expect(other.told).toEqual([expect.stringContaining('ENOENT')]);
});
