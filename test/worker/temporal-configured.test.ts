import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { Client, Connection } from '@temporalio/client';
import { defineSearchAttributeKey, TypedSearchAttributes } from '@temporalio/common';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TemporalUnreachable } from '../../src/client/client-errors.ts';
import { SEARCH_ATTRIBUTES } from '../../src/protocol/names.ts';
import { configuredServer } from '../../worker/temporal/client-config.ts';
import { openTemporal } from '../../worker/temporal/connect.ts';
import { choosePorts } from '../../worker/temporal/embedded.ts';
import { TemporalConfigInvalid } from '../../worker/temporal/errors.ts';
import { answers } from '../../worker/temporal/probe.ts';
import { retriesUntilClosed } from '../../worker/temporal/retries-until-closed.ts';
import { configuredUiUrl, workflowUrl } from '../../worker/temporal/ui-link.ts';
import { OBTAIN_TIMEOUT, temporalExecutable, temporaryFolder } from './temporal-fixture.ts';

const SECRET = 'sekret-0815';
const unusedFolder = '/nonexistent/.holdfast';

/** A server of someone else's: in memory, without our flags. */
async function startForeignServer(...flags: string[]): Promise<{ address: string; server: ChildProcess }> {
  const { path } = await temporalExecutable();
  const { grpc } = await choosePorts(undefined);
  const server = spawn(
    path,
    [
      'server',
      'start-dev',
      '--headless',
      '--ip',
      '127.0.0.1',
      '--port',
      String(grpc),
      '--log-level',
      'error',
      ...flags,
    ],
    { stdio: 'ignore' },
  );
  const address = `127.0.0.1:${grpc}`;
  expect(await answers(address, 120_000)).toBe(true);
  return { address, server };
}

async function endServer(server: ChildProcess): Promise<void> {
  const exited = once(server, 'exit');
  server.kill('SIGKILL');
  await exited;
}

describe('a configured server', () => {
  let foreign: Awaited<ReturnType<typeof startForeignServer>>;

  beforeAll(async () => {
    foreign = await startForeignServer('--namespace', 'team');
  }, OBTAIN_TIMEOUT);

  afterAll(() => endServer(foreign.server));

  test('gets the search attributes and takes them at once [temporal.attributes]', async () => {
    const lines: string[] = [];
    const target = await openTemporal({
      folder: unusedFolder,
      env: { TEMPORAL_ADDRESS: foreign.address, TEMPORAL_NAMESPACE: 'team' },
      onProgress: (line) => lines.push(line),
    });
    expect(target).toMatchObject({
      address: foreign.address,
      namespace: 'team',
      kind: 'configured',
      startedHere: false,
      searchAttributes: 'registered',
      stop: undefined,
    });
    expect(lines).toEqual(["registered Holdfast's search attributes in namespace team"]);
    const connection = await Connection.connect({
      ...target.connectionOptions,
      interceptors: retriesUntilClosed(),
    });
    onTestFinished(() => connection.close());
    const client = new Client({ connection, namespace: target.namespace });
    const attributes = SEARCH_ATTRIBUTES.map((name) => ({
      key: defineSearchAttributeKey(name, 'KEYWORD'),
      value: 'x',
    }));
    await client.workflow.start('agentTurn', {
      workflowId: 'a/b/c',
      taskQueue: 'nobody',
      typedSearchAttributes: new TypedSearchAttributes(attributes),
    });
    await expect.poll(async () => (await client.workflow.count("HoldfastApp = 'x'")).count).toBe(1);
  });

  test('is found through a profile [temporal.configured]', async () => {
    const file = join(temporaryFolder(), 'temporal.toml');
    writeFileSync(file, `[profile.staging]\naddress = "${foreign.address}"\nnamespace = "team"\n`);
    const env = { TEMPORAL_CONFIG_FILE: file, TEMPORAL_PROFILE: 'staging' };
    expect(await openTemporal({ folder: unusedFolder, env })).toMatchObject({
      address: foreign.address,
      namespace: 'team',
    });
  });

  test('without the namespace is an error that says how to make it [temporal.unreachable]', async () => {
    const env = { TEMPORAL_ADDRESS: foreign.address, TEMPORAL_NAMESPACE: 'absent' };
    const failure = await openTemporal({ folder: unusedFolder, env }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TemporalUnreachable);
    expect(String(failure)).toContain('has no namespace "absent"');
    expect(String(failure)).toContain('temporal operator namespace create --namespace absent');
  });

  test('that takes no more attributes is used without them, with one warning [temporal.attributes]', async () => {
    const taken = Array.from({ length: 8 }, (_, index) => [
      '--search-attribute',
      `Other${index}=Keyword`,
    ]).flat();
    const { address, server } = await startForeignServer(...taken);
    onTestFinished(() => endServer(server));
    const warnings: string[] = [];
    const target = await openTemporal({
      folder: unusedFolder,
      env: { TEMPORAL_ADDRESS: address },
      onWarning: (line) => warnings.push(line),
    });
    expect(target.searchAttributes).toBe('missing');
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain(
      'temporal operator search-attribute create --namespace default --name HoldfastApp',
    );
  });

  test('where an attribute has another type is used without them [temporal.attributes]', async () => {
    const { address, server } = await startForeignServer('--search-attribute', 'HoldfastApp=Int');
    onTestFinished(() => endServer(server));
    const warnings: string[] = [];
    const onWarning = (line: string) => warnings.push(line);
    const target = await openTemporal({
      folder: unusedFolder,
      env: { TEMPORAL_ADDRESS: address },
      onWarning,
    });
    expect(target.searchAttributes).toBe('missing');
    expect(warnings).toEqual([expect.stringContaining('HoldfastApp exist with a type other than Keyword')]);
  });

  test('that is down is an error after 5 s, without the key [temporal.unreachable]', async () => {
    const { grpc } = await choosePorts(undefined);
    const env = { TEMPORAL_ADDRESS: `127.0.0.1:${grpc}`, TEMPORAL_API_KEY: SECRET };
    const started = Date.now();
    const failure = await openTemporal({ folder: unusedFolder, env }).catch((error: unknown) => error);
    // A slow machine needs longer than 5 s for them, and less than gRPC, which tries for ever.
    expect(Date.now() - started).toBeLessThan(60_000);
    expect(failure).toMatchObject({ code: 'HOLDFAST_TEMPORAL_UNREACHABLE', address: env.TEMPORAL_ADDRESS });
    expect(String(failure)).toContain(`Temporal at 127.0.0.1:${grpc} doesn't answer within 5 s (TLS on`);
    expect(String(failure)).toContain('unset TEMPORAL_ADDRESS');
    expect(inspect(failure, { depth: 9 })).not.toContain(SECRET);
  });
});

describe('the configuration [temporal.configured]', () => {
  function failureOf(env: NodeJS.ProcessEnv): unknown {
    try {
      return configuredServer(env);
    } catch (error) {
      return error;
    }
  }

  test('counts only where it names a server', () => {
    expect(configuredServer({})).toBeUndefined();
    expect(configuredServer({ TEMPORAL_ADDRESS: '', TEMPORAL_NAMESPACE: 'x' })).toBeUndefined();
    expect(
      configuredServer({ TEMPORAL_ADDRESS: 'a:1', TEMPORAL_NAMESPACE: '', XDG_CONFIG_HOME: '/none' }),
    ).toEqual({
      connectionOptions: { address: 'a:1' },
      namespace: 'default',
    });
  });

  test('turns TLS on with an API key', () => {
    const env = { TEMPORAL_ADDRESS: 'a:1', TEMPORAL_API_KEY: SECRET, TEMPORAL_GRPC_META_TEAM: 'x' };
    expect(configuredServer(env)?.connectionOptions).toEqual({
      address: 'a:1',
      apiKey: SECRET,
      tls: true,
      metadata: { team: 'x' },
    });
  });

  test.each([
    ['an address with a scheme', { TEMPORAL_ADDRESS: 'http://localhost:7233' }, 'TEMPORAL_ADDRESS'],
    ['an address with blanks', { TEMPORAL_ADDRESS: 'local host' }, 'host:port'],
    ['an unknown profile', { TEMPORAL_PROFILE: 'nope' }, "'nope' not found"],
    ['a missing file', { TEMPORAL_CONFIG_FILE: '/none/t.toml' }, '/none/t.toml'],
    [
      'a missing certificate',
      { TEMPORAL_ADDRESS: 'a:1', TEMPORAL_TLS_SERVER_CA_CERT_PATH: '/none.pem' },
      '/none.pem',
    ],
    [
      'half a key pair',
      { TEMPORAL_ADDRESS: 'a:1', TEMPORAL_TLS_CLIENT_CERT_DATA: 'x' },
      'TEMPORAL_TLS_CLIENT_KEY_PATH',
    ],
    [
      'a line break in the key',
      { TEMPORAL_ADDRESS: 'a:1', TEMPORAL_API_KEY: `${SECRET}\n` },
      'TEMPORAL_API_KEY',
    ],
    ['a line break in a header', { TEMPORAL_ADDRESS: 'a:1', TEMPORAL_GRPC_META_A: `${SECRET}\n` }, '"a"'],
  ])('with %s is an error that names it and no secret', (_, env, named) => {
    const failure = failureOf({ ...env, XDG_CONFIG_HOME: '/none' });
    expect(failure).toBeInstanceOf(TemporalConfigInvalid);
    expect(String(failure)).toContain(named);
    expect(inspect(failure, { depth: 9 })).not.toContain(SECRET);
  });

  test('with malformed TOML gives the place, not the lines around it', () => {
    const file = join(temporaryFolder(), 'temporal.toml');
    writeFileSync(file, `[profile.default]\napi_key = "${SECRET}\n`);
    const failure = failureOf({ TEMPORAL_CONFIG_FILE: file });
    expect(failure).toMatchObject({ code: 'HOLDFAST_TEMPORAL_CONFIG_INVALID' });
    expect(String(failure)).toContain('not valid TOML at line 2');
    expect(inspect(failure, { depth: 9 })).not.toContain(SECRET);
  });
});

describe('links into the UI [temporal.link]', () => {
  test('percent-encode every part', () => {
    const target = { namespace: 'team/1', uiUrl: 'http://ui' };
    expect(workflowUrl(target, 'a/b?/c%')).toBe('http://ui/namespaces/team%2F1/workflows/a%2Fb%3F%2Fc%25');
    expect(workflowUrl(target, 'a', 'r')).toBe('http://ui/namespaces/team%2F1/workflows/a/r/history');
    expect(workflowUrl({ namespace: 'x' }, 'a')).toBeUndefined();
  });

  test('lead to the configured UI, Temporal Cloud, or nowhere', () => {
    expect(configuredUiUrl('a:1', { TEMPORAL_UI_URL: 'https://ui.example/t/' })).toBe('https://ui.example/t');
    expect(configuredUiUrl('ns.acc.tmprl.cloud:7233', {})).toBe('https://cloud.temporal.io');
    expect(configuredUiUrl('us-west-2.aws.api.temporal.io:7233', {})).toBe('https://cloud.temporal.io');
    expect(configuredUiUrl('localhost:7233', {})).toBeUndefined();
    expect(() => configuredUiUrl('a:1', { TEMPORAL_UI_URL: 'ui.example' })).toThrow(TemporalConfigInvalid);
  });
});
