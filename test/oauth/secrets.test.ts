import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import pg from 'pg';
import { expect, test } from 'vitest';
import { openStore } from '../../src/store/open-store.ts';
import { Browser, CLIENT } from '../setup/authorization-server.ts';
import { freePort } from '../setup/free-port.ts';
import { databaseWithStore } from '../setup/own-database.ts';
import { until } from '../setup/until.ts';
import { APP, openOAuthDesk } from './oauth-desk.ts';

/** All rows of all tables, as text. */
async function dumpOf(url: string): Promise<string> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows } = await client.query(
      `select table_name from information_schema.tables where table_schema = 'holdfast' and table_type = 'BASE TABLE'`,
    );
    const dumps: string[] = [];
    for (const { table_name: table } of rows) {
      const { rows: texts } = await client.query(`select t::text as row from holdfast.${table} t`);
      dumps.push(`${table}: ${texts.map(({ row }) => row).join('\n')}`);
    }
    return dumps.join('\n');
  } finally {
    await client.end();
  }
}

test('no token, code, verifier or client secret of a run is anywhere but in the sealed column [oauth.secrets]', async () => {
  const database = await databaseWithStore();
  const store = await openStore({ url: database.url });
  const spans = new InMemorySpanExporter();
  const logged: string[] = [];
  const metricsAddress = `127.0.0.1:${await freePort()}`;
  const log = (message: string, more: unknown) => void logged.push(`${message} ${JSON.stringify(more)}`);
  const refused = new Set<string>();
  const desk = await openOAuthDesk({
    environment: {
      metricsAddress,
      workerOptions: {
        store,
        logger: { debug: log, info: log, warn: log, error: log },
        tracing: { spanProcessors: [new SimpleSpanProcessor(spans)] },
      },
    },
    execute: async (context) => {
      const token = context.authCredential?.oauth2?.accessToken ?? '';
      if (!refused.has(token)) return { done: true };
      await context.credential({ refused: token });
      throw new Error('the calendar is closed');
    },
  });
  try {
    const told: string[] = [];
    const { client, server } = desk;
    // Denied, consented, refused, refreshed, failed, disconnected.
    const turn = await desk.send('ada', ['list_events'], 'denied');
    told.push(JSON.stringify(await desk.pending('ada')));
    const browser = new Browser();
    told.push(await desk.connect('ada', { says: 'no', browser }));
    told.push(await desk.connect('ada'), String((await turn.result()).text));
    refused.add((await desk.tokensOf('ada')).accessToken ?? '');
    const failing = await desk.send('ada', ['list_events'], 'failing');
    told.push(String((await failing.result()).text));
    told.push(JSON.stringify(await client.credentials.list({ app: APP })));
    const names = { app: APP, userId: 'ada', sessionId: 'denied' };
    told.push(
      JSON.stringify(await client.sessions.get(names)),
      JSON.stringify(await client.approvals.audit(names)),
    );
    const [stored] = await client.credentials.list({ app: APP, userId: 'ada' });
    await client.credentials.remove({ app: APP, userId: 'ada', credentialRef: stored?.credentialRef ?? '' });
    await desk.connect('bob');

    const secrets = [...server.secrets, CLIENT.clientSecret];
    // Codes, verifiers, access, refresh and ID tokens of two people, and a refresh.
    expect(server.secrets.size).toBeGreaterThanOrEqual(12);
    const places: Record<string, string> = {
      database: await dumpOf(database.url),
      told: told.join('\n'),
      logs: [...logged, JSON.stringify(desk.lines)].join('\n'),
      spans: spans
        .getFinishedSpans()
        .map((span) => JSON.stringify([span.name, span.attributes, span.events, span.status]))
        .join('\n'),
      metrics: await until(async () => await (await fetch(`http://${metricsAddress}/metrics`)).text()),
    };
    for await (const { workflowId, runId, ...execution } of desk.environment.temporal.workflow.list()) {
      const history = await desk.environment.temporal.workflow.getHandle(workflowId, runId).fetchHistory();
      const json = JSON.stringify(history).replaceAll(/"data":"([^"]*)"/g, (_all, data: string) =>
        Buffer.from(data, 'base64').toString(),
      );
      places[`history of ${workflowId}`] =
        `${json}${JSON.stringify(execution.memo)}${JSON.stringify(execution.searchAttributes)}`;
    }
    expect(Object.keys(places).length).toBeGreaterThan(6);
    for (const place of ['database', 'logs', 'spans', 'metrics'])
      expect(places[place]).toContain('list_events');
    const leaks = Object.entries(places).flatMap(([place, text]) =>
      secrets.filter((secret) => text.includes(secret)).map((secret) => `${secret.slice(0, 6)}… in ${place}`),
    );
    expect(leaks).toEqual([]);
  } finally {
    await desk.close();
    await store.close();
    await database.drop();
  }
});
