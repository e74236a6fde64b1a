import type { WorkflowHandle } from '@temporalio/client';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import { call, text } from '../../src/testing/gemini-reply.ts';
import { OwnWorker } from '../own-workflows/own-worker.ts';
import type { TurnEnvironment } from './turn-environment.ts';
import type { TurnKind } from './turn-kinds.ts';

type Act = (
  environment: TurnEnvironment,
  names: SessionNames,
  handle: WorkflowHandle,
  called: Promise<void>,
) => Promise<unknown>;

/** @param given of the workflow, beside the names of its session. */
function running(workflow: string, given: object, act?: Act, more: Partial<TurnKind> = {}): TurnKind {
  return {
    script: [text('hello')],
    async drive(environment, names) {
      const own = new OwnWorker(environment);
      await own.start();
      const called = Promise.withResolvers<void>();
      const stop = environment.store.live.onNotice((notice) => {
        if (notice.type === 'call started') called.resolve();
      });
      try {
        const handle = await own.begin(workflow, { ...names, ...given });
        await act?.(environment, names, handle, called.promise);
        await handle.result();
      } finally {
        stop();
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

/** Turns that workflows of users run. */
export const OWN_TURN_KINDS: Record<string, TurnKind> = {
  'run-by-a-workflow': running('asks', { message: 'go' }),
  'given-up-by-its-workflow': running(
    'givesUp',
    { message: 'go' },
    async (_environment, _names, handle, called) => {
      await called;
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
