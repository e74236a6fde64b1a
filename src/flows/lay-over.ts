/** Writes changes into a state as assignments would; `__proto__` is a key like any other. */
export function layOver(state: Record<string, unknown>, stateDelta: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(stateDelta)) {
    // An assignment to `__proto__` would set the prototype.
    Object.defineProperty(state, key, { value, configurable: true, enumerable: true, writable: true });
  }
}
