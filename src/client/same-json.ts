import { canonicalJson } from '../protocol/canonical-json.ts';

/** Whether two values are the same JSON, the order of keys aside. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (one === undefined || other === undefined) return one === other;
  return canonicalJson(one) === canonicalJson(other);
}
