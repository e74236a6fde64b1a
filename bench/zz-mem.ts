import { randomUUID } from 'node:crypto';
import { NativeConnection } from '@temporalio/worker';
import { createWorker } from '../worker/index.ts';
import { HoldfastClient } from '../src/client/holdfast-client.ts';
import { openSetting, benchAgent, BARE_QUEUE } from './setting.ts';
import { median } from './statistics.ts';
const setting = await openSetting();
const sessions = new Map<string, any>();
const mem: any = {
  async openStep(i: any) {
    let s = i.session ? sessions.get(i.session) : undefined;
    if (!s) { s = { id: randomUUID().slice(0, 22), names: i.identity, events: [], calls: new Map(), steps: new Map(), from: 1 }; sessions.set(s.id, s); }
    const add = (kind: string, step: number, event: any) => s.events.push({ seq: s.events.length + 1, kind, runKey: i.runKey, step, event: { ...event, id: 'x', timestamp: 1 } });
    if (i.message) add('message', 1, i.message);
    else { const prev = s.steps.get(i.step - 1); add('responses', i.step - 1, { invocationId: i.invocationId, author: 'a', content: { role: 'user', parts: prev.calls.map((c: any) => ({ functionResponse: { id: c.callId, name: c.tool, response: s.calls.get(c.callKey) } })) }, actions: {} }); }
    return { kind: 'open', session: s.id, names: s.names, seq: s.events.length, from: 1, events: s.events.slice(i.knownSeq ?? 0), state: {}, lastAgent: undefined, attempt: 1, failures: 0, usage: { modelCalls: 0, promptTokens: 0, outputTokens: 0, totalTokens: 0 } };
  },
  async commitStep(c: any) { const s = sessions.get(c.session); for (const e of c.events) s.events.push({ seq: s.events.length + 1, kind: e.kind, runKey: c.runKey, step: c.step, event: { ...e.event, id: 'x', timestamp: 1 } }); s.steps.set(c.step, c); return { kind: 'committed', seq: s.events.length, from: 1, outcome: { ...c.outcome, seq: s.events.length, from: 1 } }; },
  async beginCall(c: any) { return { kind: 'started', names: { app: 'a', userId: 'u', sessionId: 's' }, invocationId: 'e', userContent: undefined, state: {}, attempt: 1, failures: 0, unknown: false, once: {} }; },
  async settleCall(c: any) { sessions.get(c.session).calls.set(c.callKey, c.response); return { first: true, response: c.response, failed: false, actions: {} }; },
};
const native = await NativeConnection.connect({ address: (setting.temporal.connection as any).options.address });
const w = await createWorker({ agents: [benchAgent()], store: mem, connection: native, taskQueue: 'mem', searchAttributes: true });
const running = w.run();
const memClient = new HoldfastClient({ temporal: setting.temporal, taskQueue: 'mem', searchAttributes: true });
const shape = { calls: 20, parallel: false, resultBytes: 512 };
const run: Record<string, () => Promise<unknown>> = {
  bare: () => setting.temporal.workflow.execute('bareTurn', { workflowId: randomUUID(), taskQueue: BARE_QUEUE, args: [{ ...shape, write: false }] }),
  'bare+write': () => setting.temporal.workflow.execute('bareTurn', { workflowId: randomUUID(), taskQueue: BARE_QUEUE, args: [{ ...shape, write: true }] }),
  mem: async () => (await memClient.startTurn({ app: 'b', userId: 'u', sessionId: randomUUID(), message: JSON.stringify(shape) })).result(),
  holdfast: async () => (await setting.client.startTurn({ app: 'b', userId: 'u', sessionId: randomUUID(), message: JSON.stringify(shape) })).result(),
};
const r: Record<string, number[]> = {};
for (let i = 0; i < Number(process.argv[2] ?? 15); i++) for (const k of i % 2 ? Object.keys(run) : Object.keys(run).reverse()) { const s = performance.now(); await run[k]!(); (r[k] ??= []).push(performance.now() - s); }
for (const k of Object.keys(run)) console.log(k.padEnd(12), 'p50', median(r[k]!).toFixed(0), 'vs bare', median(r[k]!.map((v, i) => v / r.bare![i]!)).toFixed(2), 'vs write', median(r[k]!.map((v, i) => v / r['bare+write']![i]!)).toFixed(2));
w.shutdown(); await running; await native.close();
await setting.close();
