import { hostname } from 'node:os';
import { tsToMs } from '@temporalio/common/lib/time.js';
import type proto from '@temporalio/proto';
import { isAlive } from '../../../worker/folder/exclusive.ts';

/** Milliseconds: a worker asks anew within its long poll of a minute, and a busy machine adds to it. */
const POLLS_EVERY = 75_000;

/** What a worker says who it is, unless somebody has named it: `pid@host`. */
const OWN_IDENTITY = /^(\d+)@(.+)$/;

/** Identities of the workers that still poll: the server lists those that are gone for minutes, and each reload of `holdfast dev` is another one. */
export function alivePollers(
  pollers: readonly proto.temporal.api.taskqueue.v1.IPollerInfo[],
  now = Date.now(),
): string[] {
  return pollers
    .filter(({ lastAccessTime }) => lastAccessTime == null || now - tsToMs(lastAccessTime) < POLLS_EVERY)
    .map(({ identity }) => identity ?? '')
    .filter((identity) => !isGone(identity));
}

/** Of this machine that can be seen at once. */
function isGone(identity: string): boolean {
  const [, pid, host] = OWN_IDENTITY.exec(identity) ?? [];
  return host === hostname() && !isAlive(Number(pid));
}
