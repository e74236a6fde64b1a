import { openStore } from '../../src/store/open-store.ts';
import { Turn } from './suite/turns/turn.ts';

/** Appends turns until it is killed; each line names what the store has acknowledged. */
const [folder = '', sessions = '1', template] = process.argv.slice(2);
const store = await openStore({
  folder,
  onProgress: (line) => console.log(`progress ${line}`),
  ...(template === undefined ? {} : { template }),
});
console.log('open');

await Promise.all(Array.from({ length: Number(sessions) }, (_, index) => append(`s${index}`)));

async function append(sessionId: string): Promise<void> {
  const names = { app: 'kill', userId: 'ada', sessionId };
  for (;;) {
    const turn = new Turn(store, {
      names,
      fence: { startedAt: Date.now(), invocation: performance.now() | 0 },
    });
    const { seq } = await turn.opened(1);
    acknowledge(seq, 'message', turn.invocationId);
    acknowledge((await turn.commit(1, 2)).seq, 'model', turn.invocationId);
    await Promise.all([turn.settle(1, 0, { ok: true }), turn.settle(1, 1, { ok: true })]);
    acknowledge((await turn.opened(2)).seq, 'responses', turn.invocationId);
    acknowledge((await turn.commit(2, 0)).seq, 'model', turn.invocationId);
  }

  function acknowledge(seq: number, kind: string, invocationId: string): void {
    console.log(`seq ${sessionId} ${seq} ${kind} ${invocationId}`);
  }
}
