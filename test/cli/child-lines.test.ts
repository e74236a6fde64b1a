import { expect, test } from 'vitest';
import { childLines } from '../../src/cli/run/child-lines.ts';
import type { RunningChild } from '../../src/protocol/turn.ts';

const writer: RunningChild = {
  runKey: 'writer-x',
  agent: 'writer',
  workflowId: 'w/writer-x',
  path: ['root', 'writer'],
  status: 'running',
  since: 0,
};
const wait = {
  runKey: 'payer-x',
  workflowId: 'w/payer-x',
  path: ['root', 'writer', 'payer'],
  status: 'waiting_approval',
  tool: 'pay',
  requestId: 'rq-1',
  since: 2_000,
} as const;

test('agents are named that wait at any depth, and what for [tree.requests]', () => {
  expect(childLines([writer], 5_000)).toEqual(['root / writer runs since 5 s']);
  expect(childLines([{ ...writer, status: 'waiting_approval', waits: [wait] }], 5_000)).toEqual([
    'root / writer / payer waits for an approval of pay since 3 s',
  ]);
  expect(childLines([{ ...writer, waits: [wait], more: 2 }], 5_000)).toEqual([
    'root / writer runs since 5 s',
    'root / writer / payer waits for an approval of pay since 3 s',
    'root / writer: 2 more wait below',
  ]);
  const own = {
    ...wait,
    runKey: 'writer-x',
    path: writer.path,
    tool: 'send',
    status: 'waiting_job',
  } as const;
  expect(childLines([{ ...writer, status: 'waiting_job', tool: 'send', waits: [own] }], 5_000)).toEqual([
    'root / writer waits for a job of send since 3 s',
  ]);
  const forged = { ...wait, path: ['root', '\u001b[2Jx'], tool: 'y\n$ rm' };
  const [line = ''] = childLines([{ ...writer, status: 'waiting_approval', waits: [forged] }], 5_000);
  expect(line).not.toMatch(/\p{Cc}/u);
});
