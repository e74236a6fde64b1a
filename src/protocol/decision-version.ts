import { digestOf } from './canonical-json.ts';
import type { Confirm } from './gate.ts';

/** Equal for approvals of the same arguments with the same payload: only those add up. */
export function versionOf({ args, payload }: Pick<Confirm, 'args' | 'payload'>, confirmed = true): string {
  return digestOf([confirmed, args ?? null, payload ?? null]);
}

/** Of an approval of what was shown, as it was shown. */
export const AS_SHOWN = versionOf({});
