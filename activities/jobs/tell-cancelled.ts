import type { Attempt } from '../attempt.ts';
import type { ActivityDependencies } from '../dependencies.ts';
import { storeErrorIn } from '../tool/tool-failure.ts';
import { askHook, warnOfHook } from './job-hooks.ts';
import type { JobScene } from './job-scene.ts';

const TOLD = 'holdfast:job-cancelled';
const NOT_TOLD = 'holdfast:job-not-cancelled';

/**
 * Tells who does a job that its outcome is not wanted any more: once, unless that fails.
 *
 * @returns milliseconds until it should be tried again; undefined where it was told, or was tried often enough.
 */
export async function tellCancelled(
  dependencies: ActivityDependencies,
  scene: JobScene,
  current: Attempt,
): Promise<number | undefined> {
  const { store } = dependencies;
  const { once, tool, row } = scene;
  const { session, callKey } = row;
  const { cancel } = tool.job;
  if (cancel === undefined || Object.hasOwn(once, TOLD)) return undefined;
  try {
    await askHook(scene, 'cancel', cancel, current);
  } catch (error) {
    if (current.signal.aborted) throw current.aborted();
    const storeError = storeErrorIn(error);
    if (storeError !== undefined) throw storeError;
    warnOfHook(dependencies, scene, 'cancel', error);
    const { maximumAttempts, initialInterval, backoffCoefficient, maximumInterval } = tool.durable.retry;
    let failures = 1;
    while (Object.hasOwn(once, `${NOT_TOLD}/${failures}`)) failures += 1;
    await store.recordOnce({ session, callKey, key: `${NOT_TOLD}/${failures}`, value: true });
    if (failures >= maximumAttempts) return undefined;
    return Math.min(initialInterval * backoffCoefficient ** (failures - 1), maximumInterval);
  }
  await store.recordOnce({ session, callKey, key: TOLD, value: true });
  return undefined;
}
