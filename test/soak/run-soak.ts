import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as startTimer } from 'node:timers';
import { setTimeout } from 'node:timers/promises';
import type { StepMode } from '../setup/step-mode.ts';
import { Chaos } from './chaos.ts';
import { checkEffects } from './check-effects.ts';
import { checkHooks } from './check-hooks.ts';
import { checkTranscript } from './check-transcript.ts';
import { checkUsage } from './check-usage.ts';
import { Driver, type PlayedScenario, workflowIdOfScenario } from './driver.ts';
import { gatherSession, type SessionEvidence, type SoakEvidence } from './evidence.ts';
import { messagesOf, type Scenario, scenarios } from './plan.ts';
import type { SoakReport } from './report.ts';
import { openStage, type Stage } from './stage.ts';
import { Findings, type Violation } from './violation.ts';

export interface SoakOptions {
  seed: number;
  kills: number;
  /** At least so many turns; there are more where the kills take longer. */
  turns: number;
  store: 'pglite' | 'postgres';
  /** Where everything is kept; what a violation needs stays there. */
  folder: string;
  /** Worker processes on PostgreSQL. Defaults to 2. */
  workers?: number;
  /** How agents run their steps. Defaults to single ones. */
  steps?: StepMode | undefined;
  /** Scenarios that are played at once. Defaults to 4. */
  atOnce?: number;
  /** Milliseconds until the next kill, once all is up again. Defaults to 300 to 3,000. */
  every?: readonly [least: number, most: number];
  /** The worker's heap is measured after each so many answers, without kills. Defaults to never. */
  heapEvery?: number;
  /** Told how it goes. */
  onProgress?: (line: string) => void;
}

/** How long an answer may take once nothing is killed any more, milliseconds. */
const LONGEST_END = 180_000;

/** The log of requests holds their bodies. */
const LONGEST_REQUEST_LOG = 100;

/** Kills what runs while turns are answered, then looks at what has become of them. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { folder, store, workers = 2, onProgress = () => undefined } = options;
  const began = Date.now();
  const found = new Findings();
  const stage = await openStage({
    folder,
    store,
    workers,
    steps: options.steps,
    onProblem: (what) => found.expect(false, 'workers never exit by themselves', () => what),
  });
  let quiet = false;
  try {
    const { played, driver, outages, late, heap } = await play(options, stage, found, onProgress);
    quiet = !late;
    onProgress(
      `${late ? 'given up' : 'all is answered'} after ${Math.round((Date.now() - began) / 1_000)} s; looking at ${played.length} sessions`,
    );
    await allClosed(stage, played);
    for (const { message } of stage.gemini.refusals) refused(found, message);
    const evidence = await gather(stage, played);
    const effects = checkEffects(evidence);
    const model = checkUsage(evidence);
    const transcripts = evidence.sessions.flatMap(checkTranscript);
    const violations = [
      ...found.violations,
      ...transcripts,
      ...effects.violations,
      ...model.violations,
      ...evidence.sessions.flatMap((session) => checkHooks(session, evidence)),
      ...evidence.sessions.flatMap(otherProblems),
    ];
    if (violations.length > 0) keepEvidence(folder, evidence, violations);
    return {
      seed: options.seed,
      store,
      seconds: Math.round((Date.now() - began) / 1_000),
      kills: {
        worker: outages.count('worker'),
        temporal: outages.count('temporal'),
        store: outages.count('store'),
      },
      failedStarts: stage.failedStarts(),
      sessions: played.length,
      turns: played.reduce((sum, { scenario }) => sum + messagesOf(scenario).length, 0),
      ends: countEnds(evidence.sessions),
      effects: effects.figures,
      model: model.figures,
      wrongTranscripts: new Set(transcripts.map(({ sessionId }) => sessionId)).size,
      clientOutages: Object.fromEntries(driver.outages),
      latency: latencyOf(played),
      heap,
      violations,
      ...(violations.length > 0 ? { folder } : {}),
    };
  } finally {
    await stage.close(quiet);
  }
}

async function play(
  { seed, kills, turns, atOnce = 4, every = [300, 3_000], heapEvery = Number.POSITIVE_INFINITY }: SoakOptions,
  stage: Stage,
  found: Findings,
  onProgress: (line: string) => void,
) {
  const { victims, outages, clients, temporal, model, gemini } = stage;
  const ending = new AbortController();
  let answers = 0;
  const heap: Promise<number>[] = [];
  let patience: NodeJS.Timeout | undefined;
  const driver = new Driver({
    clients,
    temporal,
    model,
    signal: ending.signal,
    onAnswer: () => {
      answers += 1;
      patience?.refresh();
      if (answers % heapEvery === 0) heap.push(stage.heapUsed());
      if (gemini.requests.length < LONGEST_REQUEST_LOG) return;
      for (const { message } of gemini.refusals) refused(found, message);
      gemini.reset();
    },
  });
  const chaos = new Chaos({
    seed,
    victims,
    outages,
    every,
    onKill(kind) {
      if (chaos.kills % 10 === 0) onProgress(`${chaos.kills} kills (${kind}), ${answers} answers`);
    },
  });
  let planned = 0;
  let killing = true;
  const played: PlayedScenario[] = [];
  const plan = scenarios(seed);
  const playOn = async () => {
    while (!ending.signal.aborted && (planned < turns || killing)) {
      const scenario: Scenario = plan.next().value;
      planned += messagesOf(scenario).length;
      const one = await driver.play(scenario);
      played.push(one);
    }
  };
  const playing = Promise.all(Array.from({ length: atOnce }, playOn));
  try {
    await chaos.run(kills, ending.signal);
  } catch (error) {
    // What still waits would go on behind the end of what it waits for.
    ending.abort(error);
    await playing;
    throw error;
  } finally {
    killing = false;
  }
  onProgress(`${chaos.kills} kills are done, ${answers} answers of ${planned}`);
  patience = startTimer(() => ending.abort(new Error(`no answer for ${LONGEST_END / 1_000} s`)), LONGEST_END);
  await playing;
  clearTimeout(patience);
  return { played, driver, outages, late: ending.signal.aborted, heap: await Promise.all(heap) };
}

function refused(found: Findings, message: string): void {
  found.expect(false, 'the model takes every transcript', () => message);
}

/** Runs close behind the answers of their turns. */
async function allClosed({ temporal }: Stage, played: readonly PlayedScenario[]): Promise<void> {
  const deadline = Date.now() + LONGEST_END / 3;
  for (const { scenario } of played) {
    const query = `WorkflowId = '${workflowIdOfScenario(scenario)}' AND ExecutionStatus = 'Running'`;
    while (Date.now() < deadline && (await temporal.workflow.count(query)).count > 0) await setTimeout(100);
  }
}

async function gather(stage: Stage, played: readonly PlayedScenario[]): Promise<SoakEvidence> {
  const { effects, model, outages, temporal } = stage;
  const store = await stage.openStore();
  const sessions: SessionEvidence[] = [];
  for (const one of played) sessions.push(await gatherSession(one, store, temporal));
  return { sessions, effects: effects.read(), charges: effects.charges(), model, outages };
}

function otherProblems({ played, workflowProblems }: SessionEvidence): Violation[] {
  const found = new Findings(played.scenario.sessionId);
  for (const problem of played.problems) found.expect(false, 'every message is answered', () => problem);
  for (const problem of workflowProblems)
    found.expect(false, 'every workflow ends, and none gets stuck', () => problem);
  return found.violations;
}

function countEnds(sessions: readonly SessionEvidence[]): Record<string, number> {
  const ends: Record<string, number> = {};
  for (const { invocations } of sessions) {
    for (const { status } of invocations.values()) ends[status] = (ends[status] ?? 0) + 1;
  }
  return ends;
}

function latencyOf(played: readonly PlayedScenario[]): SoakReport['latency'] {
  const sorted = played.flatMap(({ answers }) => answers.map(({ took }) => took)).sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}

/** What explains a violation: the session as the store has it, the effects of its calls, and who was killed when. */
function keepEvidence(folder: string, evidence: SoakEvidence, violations: readonly Violation[]): void {
  const place = join(folder, 'evidence');
  mkdirSync(place, { recursive: true });
  const write = (name: string, value: unknown) =>
    writeFileSync(join(place, `${name}.json`), `${JSON.stringify(value, inPlain, 1)}\n`);
  write('violations', violations);
  write('outages', evidence.outages.all);
  const wrong = new Set(violations.map(({ sessionId }) => sessionId));
  for (const session of evidence.sessions) {
    const { sessionId } = session.played.scenario;
    if (!wrong.has(sessionId)) continue;
    const runKeys = [...session.invocations.values()].map(({ invocationId }) => invocationId);
    const effects = evidence.effects.filter(({ callKey }) =>
      runKeys.some((key) => callKey.startsWith(`${key}.`)),
    );
    write(sessionId, { ...session, effects });
  }
}

function inPlain(_key: string, value: unknown): unknown {
  return value instanceof Map ? Object.fromEntries(value) : value;
}
