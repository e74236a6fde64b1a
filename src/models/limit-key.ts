import { shortDigest } from '../protocol/identity.ts';
import type { BaseLlm } from './base-llm.ts';

const LONGEST_KEY = 200;

/**
 * Key under which the rate limit of what a model is asked for is kept.
 *
 * @param requested the request's model, where a callback may have named another one than the agent's.
 */
export function limitKeyOf(model: BaseLlm, requested: string = model.model): string {
  // Models of `@google/adk` have none.
  const own = (model.limitKey as string | undefined) ?? model.model;
  const key = (requested === model.model ? own : requested).toWellFormed().replaceAll('\0', '\ufffd');
  return key.length <= LONGEST_KEY ? key : `${key.slice(0, LONGEST_KEY).toWellFormed()}~${shortDigest(key)}`;
}
