import { LONGEST_PERSON_NAME, PERSON_NAME, UNVERIFIED } from '../contract/decision-limits.ts';
import { kindOf } from './kind-of.ts';

const NAME = new RegExp(`^[^\\p{Cc}\\p{Cs}]{1,${LONGEST_PERSON_NAME}}$`, 'u');

/** Whether a claim can name something: a key, an issuer, a channel, a user. */
export function isName(value: unknown): value is string {
  return typeof value === 'string' && NAME.test(value);
}

/** Whether a value can name a person who decides, or sends. */
export function isPersonName(value: unknown): value is string {
  return isName(value) && PERSON_NAME.test(value);
}

/** The reason why a value can't name a person; undefined if it can. */
export function problemOfName(value: unknown): string | undefined {
  if (isPersonName(value)) return undefined;
  if (typeof value !== 'string') return `expected a name, got ${kindOf(value)}`;
  if (value.trim() === '') return 'expected a name, got an empty string';
  if (value.trim() !== value) return 'a name must not begin or end with a space';
  if (value === UNVERIFIED) return 'unproven decisions are recorded under this name';
  return [...value].length > LONGEST_PERSON_NAME
    ? `must have at most ${LONGEST_PERSON_NAME} characters`
    : 'a name must have no control characters';
}
