import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import { GatedStage } from '../setup/gated-stage.ts';
import { inTier } from '../setup/tier.ts';
import { Actor, type PlayedScenario } from './actor.ts';
import { checkGates } from './checks.ts';
import { type GatedEvidence, gatherGates } from './evidence.ts';
import { followsMessages } from './model.ts';
import { doomsOf, gatedScenarios } from './plan.ts';

/** Another seed plays other scenarios; more sessions take longer. */
const seed = Number(process.env.HOLDFAST_GATES_SEED ?? 1);
const sessions = Number(process.env.HOLDFAST_GATES_SESSIONS ?? inTier(1, 10));
const AT_ONCE = 8;

/** It only ends what would never end. */
const LONGEST = 180_000 + sessions * 10_000;

test('whatever is said, twice, too late, by the wrong ones, and whatever is stopped and killed: a gated call starts once for an approval, and with what was approved [confirm.once] [confirm.default] [confirm.many] [approval.audit]', {
  timeout: LONGEST + 120_000,
}, async () => {
  const scenarios = gatedScenarios(seed, sessions);
  const stage = await GatedStage.open(followsMessages, doomsOf(scenarios));
  try {
    await stage.worker.start();
    const patience = AbortSignal.timeout(LONGEST);
    const played: PlayedScenario[] = [];
    const left = scenarios.values();
    const playOn = async () => {
      for (const scenario of left) {
        played.push(await new Actor(stage, scenario, seed, patience).play());
        // In the middle of it the server dies, too.
        if (played.length === Math.floor(sessions / 2)) await stage.restartServer();
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, playOn));
    const evidence: GatedEvidence[] = [];
    for (const one of played) evidence.push(await gatherGates(stage, one));
    const violations = evidence.flatMap(checkGates);
    if (violations.length > 0) await keep(stage, evidence);
    expect(violations).toEqual([]);
    report(stage, evidence);
  } finally {
    await stage.close();
  }
});

/** What explains a violation, for who asks for it. */
async function keep(stage: GatedStage, evidence: readonly GatedEvidence[]): Promise<void> {
  const folder = process.env.HOLDFAST_GATES_OUT;
  if (folder === undefined) return;
  cpSync(stage.folder, folder, { recursive: true, filter: (path) => !path.endsWith('/store') });
  const inPlain = (_key: string, value: unknown) => (value instanceof Set ? [...value] : value);
  writeFileSync(join(folder, 'evidence.json'), JSON.stringify(evidence, inPlain, 1));
  for (const { played, openRuns } of evidence) {
    if (openRuns === 0) continue;
    const { app, userId, sessionId } = played.scenario.names;
    const history = await stage.temporal.workflow
      .getHandle(workflowIdOf(app, userId, sessionId))
      .fetchHistory();
    writeFileSync(join(folder, `${sessionId}.json`), JSON.stringify(history, undefined, 1));
  }
}

/** Figures for who plays it for long. */
function report({ worker }: GatedStage, evidence: readonly GatedEvidence[]): void {
  if (process.env.HOLDFAST_GATES_SESSIONS === undefined) return;
  const requests = evidence.flatMap((one) => one.requests);
  const ends = Object.groupBy(requests, ({ status }) => status);
  const counts = Object.entries(ends).map(([status, of = []]) => `${of.length} ${status}`);
  const effects = evidence.flatMap(({ calls }) => calls.flatMap((call) => call.effects)).length;
  process.stderr.write(
    `seed ${seed}: ${sessions} sessions, ${worker.deaths} deaths of workers, ${counts.join(', ')}, ${effects} effects\n`,
  );
}
