import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { GATE_KIND_KEYS } from '../test/setup/gate-turn-kinds.ts';
import { OWN_HISTORIES, RECORDED } from '../test/setup/histories.ts';
import { startDatabases } from '../test/setup/own-database.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../test/setup/turn-environment.ts';
import { TURN_KINDS, type TurnKind, turnKindAgents, turnKindApps } from '../test/setup/turn-kinds.ts';
import { buildBundle } from './build-bundle.ts';

/** Records a history of each kind of turn that has none, or of the kinds named as arguments, among this release's. */
const named = process.argv.slice(2);
const unknown = named.filter((kind) => !Object.hasOwn(TURN_KINDS, kind));
if (unknown.length > 0)
  throw new Error(`no such kind: ${unknown.join(', ')}; there are ${Object.keys(TURN_KINDS).join(', ')}`);

mkdirSync(OWN_HISTORIES, { recursive: true });
await buildBundle();
const stopDatabases = await startDatabases();

const isChosen = (kind: string) =>
  named.length === 0 ? !RECORDED.some((each) => each.kind === kind) : named.includes(kind);
const chosen = Object.entries(TURN_KINDS).filter(([kind]) => isChosen(kind));
for (const [serverConfig, kinds] of Map.groupBy(chosen, ([, kind]) => kind.serverConfig)) {
  const agents = turnKindAgents();
  const environment = await openTurnEnvironment({
    agents,
    apps: turnKindApps(agents),
    workerOptions: { credentialKeys: GATE_KIND_KEYS },
    ...(serverConfig ? { serverConfig } : {}),
  });
  try {
    for (const [name, kind] of kinds) await record(environment, name, kind);
  } finally {
    await environment.close();
  }
}

await stopDatabases();
// The Temporal server that environments share ends with the process.
process.exit();

async function record(environment: TurnEnvironment, name: string, kind: TurnKind): Promise<void> {
  const { script, runConfig, drive, recorded, recordedWorkflow, app = 'histories' } = kind;
  environment.gemini.reset(script);
  const names = { app, userId: 'ada', sessionId: name };
  const workflowId = recordedWorkflow?.(names) ?? `${app}/ada/${name}`;
  if (drive === undefined)
    await environment.run({ ...names, message: 'go', ...(runConfig ? { runConfig } : {}) });
  else await drive(environment, names);
  const { workflow } = environment.temporal;
  const { raw } = await workflow.getHandle(workflowId).describe();
  const firstRun = raw.workflowExecutionInfo?.firstRunId;
  const runId = recorded === 'first' && firstRun ? firstRun : undefined;
  const history = await workflow.getHandle(workflowId, runId).fetchHistory();
  writeFileSync(
    join(OWN_HISTORIES, `${name}.json`),
    `{"workflowId":${JSON.stringify(workflowId)},"history":${historyToJSON(history)}}\n`,
  );
  console.log(`${name}: ${history.events?.length} events`);
}
