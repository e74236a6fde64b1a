import { kindOf } from './kind-of.ts';

const LONGEST_NAME = 256;

/** What keeps a value from naming somebody who decides; undefined where nothing does. */
export function problemOfName(value: unknown): string | undefined {
  if (typeof value !== 'string') return `expected a name, got ${kindOf(value)}`;
  if (value.trim() === '') return 'expected a name, got an empty string';
  if (value.trim() !== value) return 'a name must not begin or end with a space';
  if (value.length > LONGEST_NAME) return `must have at most ${LONGEST_NAME} characters`;
  if (!value.isWellFormed() || /\p{Cc}/u.test(value)) return 'a name must have no control characters';
  return value === 'unverified'
    ? 'this is what decisions of nobody in particular are recorded under'
    : undefined;
}
