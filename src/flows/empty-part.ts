import type { Part } from '../events/content.ts';

/** Of text alone, and no text. With a signature it isn't alone. */
export function isEmptyText(part: Part): boolean {
  return part.text === '' && saysNothing(part);
}

/** Without any data: providers refuse every request with such a part. User code, and models of one's own, may make them. */
export function isBlank(part: Part): boolean {
  return typeof part.text !== 'string' && saysNothing(part);
}

function saysNothing(part: Part): boolean {
  return Object.entries(part).every(
    ([field, value]) => field === 'text' || field === 'thought' || value === undefined || value === null,
  );
}
