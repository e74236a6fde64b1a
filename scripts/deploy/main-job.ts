import { Client, Connection } from '@temporalio/client';
import { app } from '../../examples/support/agents.ts';
import { HoldfastClient } from '../../src/client/holdfast-client.ts';
import { workflowIdOf } from '../../src/protocol/identity.ts';
import { SEARCH_ATTRIBUTES } from '../../src/protocol/names.ts';
import { openStore } from '../../src/store/open-store.ts';
import { until } from './native-process.ts';

const PATIENCE = 180_000;
const VISIBLE_WITHIN = 60_000;
const NAMES = { app: app.name, userId: 'ada', sessionId: 'deployed' };
/** Calls side by side, then one that depends on them. */
const MESSAGE = 'Compare FH-12511 with FH-12529, refund FH-12529, and tell me where FH-12787 is.';

export interface MainJob {
  address: string;
  namespace: string;
  storeUrl: string;
  taskQueue: string;
  /** Turns, one right after the other, in one session. */
  turns: number;
  /** Rejects when one of the deployment's processes has ended. */
  failed: Promise<never>;
}

export interface MainJobReport {
  answer: string;
  calls: number;
  /** Milliseconds of each turn, from the message to its result. */
  turnMs: number[];
}

/**
 * Tries the deployment's purpose: turns of one session that complete, whose events are in the store and whose runs are found
 * by their search attributes.
 *
 * @throws Error that says which of it didn't happen.
 */
export async function doMainJob({ address, namespace, ...job }: MainJob): Promise<MainJobReport> {
  const connection = await Connection.connect({ address });
  const temporal = new Client({ connection, namespace });
  const store = await openStore({ url: job.storeUrl });
  try {
    const client = new HoldfastClient({
      temporal,
      store,
      taskQueue: job.taskQueue,
      searchAttributes: true,
    });
    const turnMs: number[] = [];
    let answer = '';
    let calls = 0;
    for (let number = 1; number <= job.turns; number += 1) {
      const started = Date.now();
      const turn = await client.sendMessage({ ...NAMES, messageId: `m${number}`, message: MESSAGE });
      const signal = AbortSignal.timeout(PATIENCE);
      const result = await Promise.race([turn.result({ signal }), job.failed]);
      turnMs.push(Date.now() - started);
      if (result.status !== 'completed')
        throw new Error(`turn ${number} is ${result.status}: ${JSON.stringify(result.error)}`);
      answer = typeof result.text === 'string' ? result.text : JSON.stringify(result.text);
      const events = await store.sessions.readEvents({ ...NAMES, after: result.events.from - 1 });
      const parts = events.flatMap(({ event }) => event.content?.parts ?? []);
      calls = parts.filter((part) => part.functionCall !== undefined).length;
      if (calls === 0) throw new Error(`turn ${number} called no tool: ${answer}`);
    }
    await until(VISIBLE_WITHIN, () => findRuns(temporal, job.turns));
    return { answer, calls, turnMs };
  } finally {
    await store.close();
    await connection.close();
  }
}

async function findRuns(temporal: Client, expected: number): Promise<void> {
  const { userId, sessionId } = NAMES;
  const query = [
    `HoldfastApp = '${app.name}'`,
    `HoldfastUser = '${userId}'`,
    `HoldfastSession = '${sessionId}'`,
    `HoldfastAgent = '${app.rootAgent.name}'`,
    `ExecutionStatus = 'Completed'`,
  ].join(' AND ');
  const { count } = await temporal.workflow.count(query);
  if (count !== expected)
    throw new Error(`${count} of ${expected} runs are found by their search attributes`);
  const { searchAttributes } = await temporal.workflow
    .getHandle(workflowIdOf(app.name, userId, sessionId))
    .describe();
  const missing = SEARCH_ATTRIBUTES.filter((name) => searchAttributes[name]?.[0] === undefined);
  if (missing.length > 0) throw new Error(`the last run has no ${missing.join(', ')}`);
}
