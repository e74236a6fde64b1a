import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { historyToJSON } from '@temporalio/common/lib/proto-utils.js';
import { openTurnEnvironment } from '../test/setup/turn-environment.ts';
import { TURN_KINDS, turnKindAgents } from '../test/setup/turn-kinds.ts';
import { buildBundle } from './build-bundle.ts';

/** Records one history of each kind of turn into `test/histories`, or only of the kinds named as arguments. */
const only = process.argv.slice(2);
const folder = fileURLToPath(new URL('../test/histories/', import.meta.url));
mkdirSync(folder, { recursive: true });
await buildBundle();
const environment = await openTurnEnvironment({ agents: turnKindAgents });
try {
  for (const [kind, { script, runConfig, drive }] of Object.entries(TURN_KINDS)) {
    if (only.length > 0 && !only.includes(kind)) continue;
    environment.gemini.reset(script);
    const names = { app: 'histories', userId: 'ada', sessionId: kind };
    if (drive === undefined)
      await environment.run({ ...names, message: 'go', ...(runConfig ? { runConfig } : {}) });
    else await drive(environment, names);
    const workflowId = `histories/ada/${kind}`;
    const history = await environment.temporal.workflow.getHandle(workflowId).fetchHistory();
    writeFileSync(
      `${folder}${kind}.json`,
      `{"workflowId":${JSON.stringify(workflowId)},"history":${historyToJSON(history)}}\n`,
    );
    console.log(`${kind}: ${history.events?.length} events`);
  }
} finally {
  await environment.close();
}
