import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadComposeFile, neededVariables, readComposeFile } from '../../scripts/deploy/compose-file.ts';
import { runSqlFile } from '../../scripts/deploy/create-databases.ts';
import { type NativePlace, nativePlace } from '../../scripts/deploy/native-place.ts';
import {
  lastLines,
  type NativeProcess,
  runToEnd,
  startProcess,
  until,
} from '../../scripts/deploy/native-process.ts';
import { VARIABLE_NAMES } from '../../src/cli/variables.ts';
import { openTemporal, type TemporalTarget } from '../../worker/index.ts';
import { root } from '../docs/documents.ts';
import { endServer } from '../setup/end-server.ts';
import { type PostgresServer, startPostgresServer } from '../setup/postgres-server.ts';

const HEALTHY_WITHIN = 120_000;
const GRACE = 30_000;

/** What somebody who deploys must give; all else is as the file has it. */
const given = Object.fromEntries([...neededVariables(readComposeFile())].map((name) => [name, `of${name}`]));
const { services } = loadComposeFile(given);

function serviceOf(name: string) {
  const service = services[name];
  if (service === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return service;
}

describe('worker and gateway of the Compose file, as processes', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-compose-'));
  const running: NativeProcess[] = [];
  let postgres: PostgresServer;
  let temporal: TemporalTarget;
  let place: NativePlace;

  beforeAll(async () => {
    const own = join(folder, '.holdfast');
    mkdirSync(own, { mode: 0o700 });
    [postgres, temporal] = await Promise.all([
      startPostgresServer(),
      openTemporal({ folder: own, env: { ...process.env, TEMPORAL_ADDRESS: '' } }),
    ]);
    place = await nativePlace(postgres.port, temporal.address);
    const database = serviceOf('postgres');
    const file = place.wordOf(database, '/docker-entrypoint-initdb.d/create-databases.sql');
    await runSqlFile(file, postgres.urlOf('postgres'), database.environment);
    mkdirSync(join(folder, 'bin'));
    symlinkSync(join(root, 'bin/holdfast.js'), join(folder, 'bin/holdfast'));
  });
  afterAll(async () => {
    for (const each of running) await each.stop(GRACE);
    await endServer(join(folder, '.holdfast'));
    await postgres?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  /** What the image has, and nothing of this process's. */
  const base = () => ({
    PATH: [join(folder, 'bin'), dirname(process.execPath), process.env.PATH].join(':'),
    HOME: folder,
  });

  const program = (name: string, more: Record<string, string>) => {
    const cwd = join(folder, name);
    mkdirSync(cwd, { recursive: true });
    const env = { ...base(), ...more, ...place.environmentOf(name, serviceOf(name)) };
    return { name, cwd, env, log: join(folder, `${name}.log`) };
  };

  const healthy = async (name: string, more: Record<string, string>) => {
    const [, command = '', ...words] = serviceOf(name).healthcheck?.test ?? [];
    const args = words.map((word) => place.wordOf(serviceOf(name), word));
    await until(HEALTHY_WITHIN, () =>
      runToEnd({ ...program(name, more), command: [command, ...args], log: join(folder, 'checks.log') }),
    );
  };

  const start = (name: string, more: Record<string, string>) => {
    const words = (serviceOf(name).command ?? []).map((word) => place.wordOf(serviceOf(name), word));
    const started = startProcess({ ...program(name, more), command: ['holdfast', ...words] });
    running.push(started);
    return started;
  };

  const surroundings: [what: string, more: Record<string, string>][] = [
    ['the variables of its defaults', {}],
    [
      'all others that Holdfast knows passed empty',
      Object.fromEntries(VARIABLE_NAMES.filter((name) => name !== 'HOME').map((name) => [name, ''])),
    ],
  ];

  test.each(surroundings)('are ready with %s, and end on SIGTERM [deploy.starts]', async (_what, more) => {
    const started = ['worker', 'gateway'].map((name) => start(name, more));
    const failed = Promise.race(started.map((each) => each.failed));
    for (const name of ['worker', 'gateway']) await Promise.race([failed, healthy(name, more)]);
    for (const each of started) expect(await each.stop(GRACE), lastLines(each.log)).toBe(0);
  });
});
