import type { VictimKind } from '../setup/soak-outages.ts';
import type { EffectFigures } from './check-effects.ts';
import type { ModelFigures } from './check-usage.ts';
import type { Violation } from './violation.ts';

/** What a soak has shown. */
export interface SoakReport {
  seed: number;
  store: 'pglite' | 'postgres';
  seconds: number;
  kills: Record<VictimKind, number>;
  /** Worker processes that could not start because what they need was down, and were started again. */
  failedStarts: number;
  sessions: number;
  turns: number;
  /** How the turns ended, by what the store has recorded. */
  ends: Record<string, number>;
  effects: EffectFigures;
  model: ModelFigures;
  /** Sessions with at least one violation of their transcript. */
  wrongTranscripts: number;
  /** What clients met and tried again after, with how often. */
  clientOutages: Record<string, number>;
  /** Time from sending to the answer, of all answers, milliseconds. */
  latency: { p50: number; p95: number; max: number };
  /** Bytes that a worker's heap holds after garbage collections, in the order in which they were measured. */
  heap: number[];
  violations: Violation[];
  /** Where the evidence of violations lies. */
  folder?: string;
}

/** The table of a soak, for people. */
export function tableOf(report: SoakReport): string {
  const { kills, turns, effects, model, latency, ends } = report;
  const counts = (of: Record<string, number>) =>
    Object.entries(of)
      .map(([name, count]) => `${count} ${name}`)
      .join(', ');
  const rows: [string, string | number][] = [
    ['store, seed, seconds', `${report.store}, ${report.seed}, ${report.seconds}`],
    [
      'kills',
      `${report.store === 'pglite' ? 'a worker’s with its store: ' : ''}${counts(kills)} (${Object.values(kills).reduce((sum, count) => sum + count, 0)} in all)`,
    ],
    ['sessions / turns', `${report.sessions} / ${turns}`],
    ['ends of turns', counts(ends)],
    ['effects expected / lost', `${effects.expected} / ${effects.lost}`],
    ['repeated effects, record not written', effects.repeated],
    ['charges asked again under their key', effects.chargesAskedAgain],
    [
      'model steps / extra calls / reported unknown',
      `${model.steps} / ${model.extraCalls} / ${model.unknownCalls}`,
    ],
    ['wrong transcripts', report.wrongTranscripts],
    ['answer after p50 / p95 / max, ms', `${latency.p50} / ${latency.p95} / ${latency.max}`],
    ['starts of workers in vain', report.failedStarts],
    ['clients met', counts(report.clientOutages) || 'nothing'],
    ['heap, MB', report.heap.map((bytes) => (bytes / 1e6).toFixed(1)).join(' ') || 'not measured'],
    ['violations', report.violations.length],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const lines = rows.map(([name, value]) => `| ${name.padEnd(width)} | ${value} |`);
  const violations = report.violations.map(
    ({ sessionId = 'all', promise, what }) => `VIOLATION ${sessionId}: ${promise}: ${what}`,
  );
  const evidence = report.folder === undefined ? [] : [`evidence: ${report.folder}`];
  return [...lines, ...violations, ...evidence].join('\n');
}
