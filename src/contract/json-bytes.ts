/** Size of a value's JSON in UTF-8. */
export function jsonBytes(value: unknown): number {
  const json = JSON.stringify(value) ?? '';
  let bytes = json.length;
  for (let index = 0; index < json.length; index += 1) {
    const unit = json.charCodeAt(index);
    if (unit >= 0x800) bytes += 2;
    else if (unit >= 0x80) bytes += 1;
    // The four bytes of a pair: three for its first half above, one more here.
    if (unit >= 0xdc00 && unit <= 0xdfff) bytes -= 2;
  }
  return bytes;
}
