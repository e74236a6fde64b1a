import type { WorkflowHandle } from '@temporalio/client';
import type { SessionNames } from '../../src/store/store.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import { OwnWorker } from '../own-workflows/own-worker.ts';
import type { TurnEnvironment } from './turn-environment.ts';
import type { TurnKind } from './turn-kinds.ts';

type Act = (environment: TurnEnvironment, names: SessionNames, handle: WorkflowHandle) => Promise<unknown>;

/** @param given of the workflow, beside the names of its session. */
function running(workflow: string, given: object, act?: Act, more: Partial<TurnKind> = {}): TurnKind {
  return {
    script: [text('hello')],
    async drive(environment, names) {
      const own = new OwnWorker(environment);
      await own.start();
      try {
        const handle = await own.begin(workflow, { ...names, ...given });
        await act?.(environment, names, handle);
        await handle.result();
      } finally {
        await own.stop();
      }
    },
    ...more,
  };
}

async function untilWaiting({ client }: TurnEnvironment, names: SessionNames): Promise<string> {
  for (;;) {
    const [request] = await client.approvals.list(names);
    if (request !== undefined) return request.requestId;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function untilCalled({ store }: TurnEnvironment): Promise<void> {
  const started = Promise.withResolvers<void>();
  const stop = store.onNotice((notice) => {
    if (notice.type === 'call started') started.resolve();
  });
  await started.promise;
  stop();
}

/** Turns that workflows of users run. */
export const OWN_TURN_KINDS: Record<string, TurnKind> = {
  'run-by-a-workflow': running('asks', { message: 'go' }),
  'given-up-by-its-workflow': running(
    'givesUp',
    { message: 'go' },
    async (environment, _names, handle) => {
      await untilCalled(environment);
      await handle.signal('stop');
    },
    { script: [call('never')] },
  ),
  'asked-for-a-workflow': running('asksPeople', { hint: 'Publish?' }, async (environment, names) => {
    const requestId = await untilWaiting(environment, names);
    await environment.client.approvals.confirm({ requestId }, { confirmed: true });
  }),
  'taken-back-by-its-workflow': running(
    'asksInVain',
    { hint: 'Publish?' },
    async (environment, names, handle) => {
      await untilWaiting(environment, names);
      await handle.signal('stop');
    },
  ),
  'tool-run-for-a-workflow': running('runsJob', { tool: 'add', args: { a: 1, b: 1 } }),
};
