import { condition, defineSignal, log, setHandler } from '@temporalio/workflow';

/** Workflows of a test, in a bundle of their own. */

export const go = defineSignal('go');

export async function waits(): Promise<string> {
  let hasCome = false;
  setHandler(go, () => {
    hasCome = true;
  });
  await condition(() => hasCome);
  log.warn('the signal has come');
  return 'gone on';
}

/** Never ends once it is told to go. */
export async function loops(): Promise<void> {
  await waits();
  for (;;);
}

export async function rejects(): Promise<void> {
  void Promise.reject(new Error('nobody hears this'));
  await condition(() => false);
}
