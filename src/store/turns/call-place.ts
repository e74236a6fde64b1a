const CALL_KEY = /^(.+)\.(\d+)\.(\d+)$/s;

/** Where a call stands, read from its key. */
export interface CallPlace {
  runKey: string;
  step: number;
  index: number;
}

/** @throws TypeError where `callKey` isn't `<run key>.<step>.<index>`. */
export function placeOfCall(callKey: string): CallPlace {
  const [, runKey, step, index] = CALL_KEY.exec(callKey) ?? [];
  if (runKey === undefined) throw new TypeError(`callKey: ${JSON.stringify(callKey)} is no call's key`);
  return { runKey, step: Number(step), index: Number(index) };
}
