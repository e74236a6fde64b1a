/** The longest beginning of `text` that has at most `limit` bytes of UTF-8, well-formed, with `…` where it was cut. */
export function cutToBytes(text: string, limit: number): string {
  const whole = text.slice(0, limit + 1).toWellFormed();
  if (whole.length === text.length && Buffer.byteLength(whole) <= limit) return whole;
  let bytes = Buffer.byteLength('…');
  let kept = '';
  for (const character of whole) {
    bytes += Buffer.byteLength(character);
    if (bytes > limit) break;
    kept += character;
  }
  return `${kept}…`;
}
