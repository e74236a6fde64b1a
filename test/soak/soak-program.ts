import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { DefaultLogger, Runtime } from '@temporalio/worker';
import { tableOf } from './report.ts';
import { runSoak } from './run-soak.ts';

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '200' },
    turns: { type: 'string', default: '100' },
    store: { type: 'string', default: 'pglite' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    workers: { type: 'string', default: '2' },
    steps: { type: 'string', default: 'activity' },
    'at-once': { type: 'string', default: '4' },
    'heap-every': { type: 'string', default: '0' },
    out: { type: 'string' },
    json: { type: 'boolean', default: false },
  },
});

function count(name: 'kills' | 'turns' | 'seed' | 'workers' | 'at-once' | 'heap-every'): number {
  const number = Number(values[name]);
  if (Number.isSafeInteger(number) && number >= 0) return number;
  throw new TypeError(`--${name}: expected a whole number, got ${JSON.stringify(values[name])}`);
}

const { store } = values;
if (store !== 'pglite' && store !== 'postgres')
  throw new TypeError("--store: expected 'pglite' or 'postgres'");
const { steps } = values;
if (steps !== 'activity' && steps !== 'inline' && steps !== 'chain')
  throw new TypeError("--steps: expected 'activity', 'inline' or 'chain'");
// What ends with this process listens for its exit.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
Runtime.install({ logger: new DefaultLogger('ERROR') });
const folder = values.out === undefined ? mkdtempSync(join(tmpdir(), 'holdfast-soak-')) : resolve(values.out);
const report = await runSoak({
  folder,
  store,
  steps,
  seed: count('seed'),
  kills: count('kills'),
  turns: count('turns'),
  workers: count('workers'),
  atOnce: count('at-once'),
  heapEvery: count('heap-every') || undefined,
  onProgress: (line) => process.stderr.write(`${line}\n`),
});
console.log(values.json ? JSON.stringify(report, undefined, 1) : tableOf(report));
const kept = report.violations.length > 0;
if (!kept && values.out === undefined) rmSync(folder, { recursive: true, force: true });
// A client that was given up may still have something open.
process.exit(kept ? 1 : 0);
