import { thrownMessage } from '../../src/tools/thrown-message.ts';

const LONGEST = 500;
/** Addresses of hooks are secrets: what follows their host, and a name before it. */
const ADDRESS = /([a-z][a-z\d+.-]{0,30}:\/\/)(?:[^\s/?#@]*@)?([^\s/?#@'"<>)]*)[^\s'"<>)]*/gi;

/** What was wrong with telling somebody, for operators: of addresses the host only. */
export function noticeProblem(error: unknown): string {
  return thrownMessage(error).replace(ADDRESS, '$1$2').slice(0, LONGEST).toWellFormed();
}
