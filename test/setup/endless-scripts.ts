import { Script } from 'node:vm';

/**
 * Workers in debug mode give each call into a workflow a limit of 49 days. Node starts a thread for each limit, which takes longer than
 * most calls. In tests the calls have none.
 */
const { runInContext } = Script.prototype;
const LONGEST = 2 ** 32 - 1;

Script.prototype.runInContext = function (context, { timeout, ...options } = {}) {
  const isLimited = timeout !== undefined && timeout < LONGEST;
  return runInContext.call(this, context, isLimited ? { ...options, timeout } : options);
};
