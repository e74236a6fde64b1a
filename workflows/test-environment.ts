/**
 * Whether the worker belongs to a test environment, where time may be made to pass. The worker says so with the bundle, before any
 * workflow runs: nobody who writes to Temporal can.
 */
export function isTestEnvironment(): boolean {
  return Reflect.get(globalThis, 'holdfastTests') === true;
}
