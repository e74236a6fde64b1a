import { randomUUID } from 'node:crypto';
import { openSetting } from './setting.ts';
const setting = await openSetting();
const mode = process.argv[2] ?? 'seq';
const shape = mode === 'seq' ? { calls: 20, parallel: false, resultBytes: 512 } : { calls: 50, parallel: true, resultBytes: 512 };
const n = Number(process.argv[3] ?? 20);
const lat: number[] = [];
for (let i = 0; i < n; i++) {
  const s = performance.now();
  const turn = await setting.client.startTurn({ app: 'bench', userId: 'u', sessionId: randomUUID(), message: JSON.stringify(shape) });
  await turn.result();
  const ms = performance.now() - s; lat.push(ms);
  if (ms > 5000) {
    console.log('SLOW', ms);
    const h = await setting.temporal.workflow.getHandle(turn.workflowId).fetchHistory();
    let prev = 0;
    for (const e of h.events ?? []) {
      const t = Number(e.eventTime?.seconds) * 1000 + Number(e.eventTime?.nanos) / 1e6;
      if (prev && t - prev > 1000) console.log('gap', t - prev, 'before event', String(e.eventId), e.eventType, JSON.stringify(e.activityTaskStartedEventAttributes ?? e.activityTaskTimedOutEventAttributes ?? e.workflowTaskScheduledEventAttributes ?? e.workflowTaskStartedEventAttributes ?? e.activityTaskCompletedEventAttributes?.startedEventId ?? ''));
      prev = t;
    }
  }
}
lat.sort((a, b) => a - b); console.log(mode, 'p50', lat[n >> 1]?.toFixed(0), 'max', lat[n - 1]?.toFixed(0));
await setting.close();
