import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { GATE_KIND_KEYS } from '../test/setup/gate-turn-kinds.ts';
import { makeStore } from '../test/setup/made-store.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../test/setup/turn-environment.ts';
import { TURN_KINDS, type TurnKind, turnKindAgents, turnKindApps } from '../test/setup/turn-kinds.ts';
import { buildBundle } from './build-bundle.ts';

/** Records one history of each kind of turn into `test/histories`, or only of the kinds named as arguments. */
const only = process.argv.slice(2);
const unknown = only.filter((kind) => !Object.hasOwn(TURN_KINDS, kind));
if (unknown.length > 0)
  throw new Error(`no such kind: ${unknown.join(', ')}; there are ${Object.keys(TURN_KINDS).join(', ')}`);

const folder = fileURLToPath(new URL('../test/histories/', import.meta.url));
mkdirSync(folder, { recursive: true });
await buildBundle();
await makeStore();

const chosen = Object.entries(TURN_KINDS).filter(([kind]) => only.length === 0 || only.includes(kind));
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
    `${folder}${name}.json`,
    `{"workflowId":${JSON.stringify(workflowId)},"history":${historyToJSON(history)}}\n`,
  );
  console.log(`${name}: ${history.events?.length} events`);
}
