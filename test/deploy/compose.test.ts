import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse } from 'yaml';
import {
  loadComposeFile,
  neededVariables,
  readComposeFile,
  variablesOf,
} from '../../scripts/deploy/compose-file.ts';
import { holdfastProgram } from '../../src/cli/program.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { SEARCH_ATTRIBUTES } from '../../src/protocol/names.ts';
import { configuredServer } from '../../worker/temporal/client-config.ts';
import { startArguments } from '../../worker/temporal/start-flags.ts';
import { configuredUiUrl } from '../../worker/temporal/ui-link.ts';
import { root, textOf } from '../docs/documents.ts';

/** What a service may also say, as far as it is looked at here. */
interface RawService {
  image?: string;
  build?: string;
  user?: string;
  privileged?: boolean;
  read_only?: boolean;
  restart?: string;
  network_mode?: string;
  cap_add?: string[];
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
  healthcheck?: { test: string[] };
  logging?: { driver: string };
  environment?: Record<string, string>;
  volumes?: string[];
}

const raw = readComposeFile() as { services: Record<string, RawService> };
/** What somebody who deploys must give. */
const given = Object.fromEntries([...neededVariables(raw)].map((name) => [name, `of${name}`]));
const { services } = loadComposeFile(given);
const names = Object.keys(services);
const ours = names.filter((name) => services[name]?.build !== undefined);

function service(name: string) {
  const loaded = services[name];
  if (loaded === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return loaded;
}

/** Without comments: a name in one isn't read. */
const code = globSync(['src/**/*.ts', 'worker/**/*.ts'], { cwd: root })
  .map((path) => textOf(path).replace(/\/\*\*.*?\*\/|^\s*\/\/.*$/gms, ''))
  .join('\n');

/** Names that the code looks up in an environment: `env.NAME`, `variable('NAME')`, and those of other makers in lists. */
const inCode = [
  ...code.matchAll(
    /\benv\.([A-Z][A-Z0-9_]+)\b|\bvariable\('([A-Z0-9_]+)'|'((?:TEMPORAL|GOOGLE)_[A-Z0-9_]+|GEMINI_API_KEY)'/g,
  ),
].map(([, property, asked, quoted]) => property ?? asked ?? quoted ?? '');

const { commands } = await holdfastProgram();

/** Variables that a command takes for options. */
function ofCommand(name: string): string[] {
  const command = commands.find((candidate) => candidate.name() === name);
  if (command === undefined) throw new Error(`there is no command ${name}`);
  return command.options.flatMap(({ envVar }) => envVar ?? []);
}

/** What a deployment with a key for Gemini, a server and a PostgreSQL of its own can do without. */
const DISPENSABLE = [
  // Other ways to name the server, its credentials, and what is Temporal's own.
  /^TEMPORAL_(PROFILE|CONFIG_FILE|API_KEY|TLS|UI_)/,
  // Of the embedded server.
  /^HOLDFAST_(CACHE|TEMPORAL_CLI)$/,
  // Other names of the key, another address, Vertex AI.
  /^GOOGLE_/,
  // Of models of the AI SDK, whose packages come with the agents that name them.
  /^OPENAI_COMPATIBLE_/,
  // Of programs with a runner of their own.
  /^HOLDFAST_QUIET$/,
  // Options with a default; links to where people read transcripts.
  /^HOLDFAST_(WAIT|LOG|TRANSCRIPT_URL)$/,
  // Of what an override adds: a collector, a codec, another model's name.
  /^OTEL_|^HOLDFAST_(DATA_CONVERTER|CODEC_\w+)$|^ADK_/,
  // Of the system.
  /^(HOME|LOCALAPPDATA|XDG_CACHE_HOME|PATH)$/,
];

function secondsOf(text = ''): number {
  const [, seconds] = /^(\d+)s$/.exec(text) ?? [];
  return Number(seconds);
}

describe('docker-compose.yml', () => {
  const validate = new Ajv2020({
    strict: false,
    allErrors: true,
    formats: { duration: true },
  }).compile(JSON.parse(textOf('test/deploy/compose-spec.json')));

  test('is what the Compose Specification takes [deploy.compose]', () => {
    validate(raw);
    expect(validate.errors).toBeNull();
    const refused = (worker: unknown) => !validate({ services: { worker } });
    expect(refused({ image: 'a', restart: true })).toBe(true);
    expect(refused({ image: 'a', depends: ['b'] })).toBe(true);
    expect(refused({ image: 'a', healthcheck: { interval: 5 } })).toBe(true);
    expect(refused({ image: 'a' })).toBe(false);
  });

  test('has Postgres, Temporal, its UI, worker and gateway [deploy.compose]', () => {
    expect(names).toEqual(
      expect.arrayContaining(['postgres', 'temporal', 'temporal-ui', 'worker', 'gateway']),
    );
    expect(ours).toEqual(['worker', 'gateway']);
  });

  test.each(['worker', 'gateway'])(
    '%s: each of its variables is read by the code [deploy.compose]',
    (name) => {
      const { TEMPORAL_NAMESPACE, ...others } = service(name).environment;
      const read = new Set([...inCode, ...ofCommand(name)]);
      expect(Object.keys(others).filter((variable) => !read.has(variable))).toEqual([]);
      // This one Temporal's own package reads.
      const env = { ...service(name).environment, TEMPORAL_NAMESPACE: 'planted' };
      expect(TEMPORAL_NAMESPACE).toBe('default');
      expect(configuredServer(env)).toEqual({
        connectionOptions: { address: 'temporal:7233' },
        namespace: 'planted',
      });
      expect(configuredUiUrl('temporal:7233', env)).toBe('http://localhost:8080');
    },
  );

  test('every variable that the code reads is given, or can be done without [deploy.compose]', () => {
    const read = new Set([...inCode, ...ours.flatMap(ofCommand)]);
    expect([...read]).toEqual(expect.arrayContaining(['HOLDFAST_STORE', 'TEMPORAL_ADDRESS']));
    const given = new Set(ours.flatMap((name) => Object.keys(service(name).environment)));
    const missing = [...read].filter(
      (name) => !given.has(name) && !DISPENSABLE.some((kind) => kind.test(name)),
    );
    expect(missing).toEqual([]);
  });

  test('images are pinned to a version, and fit each other [deploy.compose]', () => {
    for (const name of names)
      expect(service(name).image, name).toMatch(
        /^[a-z/-]+:\d+\.\d+(\.\d+)?(-[a-z]+)?(@sha256:[0-9a-f]{64})?$/,
      );
    const byTag = names.filter((name) => !service(name).image.includes('@') && !ours.includes(name));
    // No digest of it is recorded yet: docs/deploy.md says how it is looked up.
    expect(byTag).toEqual(['temporal-ui']);
    const tagOf = (name: string) => /:([^@]+)/.exec(service(name).image)?.[1];
    expect([tagOf('temporal-schema'), tagOf('temporal-namespace')]).toEqual([
      tagOf('temporal'),
      tagOf('temporal'),
    ]);
    const { version } = JSON.parse(textOf('package.json'));
    expect(ours.map(tagOf)).toEqual([version, version]);
  });

  test('no port is published beyond this machine [deploy.compose]', () => {
    const ports = names.flatMap((name) => service(name).ports);
    expect(ports.length).toBeGreaterThan(0);
    expect(ports.filter((port) => !/^127\.0\.0\.1:\d+:\d+$/.test(port))).toEqual([]);
    expect(names.filter((name) => raw.services[name]?.network_mode !== undefined)).toEqual([]);
  });

  test('nothing of ours has rights that it does not need [deploy.compose]', () => {
    for (const name of ours) {
      expect(raw.services[name], name).toMatchObject({
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        read_only: true,
      });
    }
    for (const [name, { user, privileged, cap_add }] of Object.entries(raw.services)) {
      expect([name, user, privileged, cap_add]).toEqual([name, undefined, undefined, undefined]);
    }
  });

  test('who waits for another one waits for what that one tells [deploy.compose]', () => {
    const conditions = names.flatMap((name) => Object.entries(service(name).depends_on));
    expect(conditions.length).toBeGreaterThan(5);
    for (const [name, { condition }] of conditions) {
      const { healthcheck, restart } = raw.services[name] ?? {};
      if (condition === 'service_healthy') expect(healthcheck?.test[0], name).toBe('CMD');
      else
        expect([name, condition, restart]).toEqual([name, 'service_completed_successfully', 'on-failure:5']);
    }
  });

  test('a service that stays is started again, is watched, keeps its log within bounds and has time to end [deploy.compose]', () => {
    const staying = names.filter((name) => raw.services[name]?.restart === 'unless-stopped');
    expect(staying.sort()).toEqual(['gateway', 'postgres', 'temporal', 'temporal-ui', 'worker']);
    expect(staying.filter((name) => raw.services[name]?.healthcheck === undefined)).toEqual([]);
    expect(names.filter((name) => raw.services[name]?.logging?.driver !== 'local')).toEqual([]);
    const { HOLDFAST_SHUTDOWN_GRACE = '' } = service('worker').environment;
    expect(secondsOf(raw.services.worker?.stop_grace_period)).toBeGreaterThan(
      secondsOf(HOLDFAST_SHUTDOWN_GRACE),
    );
  });

  test('the checks of ours ask the ports that are served [deploy.compose]', () => {
    const asked = ours.map((name) => raw.services[name]?.healthcheck?.test);
    const ask = ['CMD', 'node', '/app/deploy/is-ready.mjs'];
    const { HOLDFAST_HEALTH_PORT } = service('worker').environment;
    const { HOLDFAST_GATEWAY_PORT, HOLDFAST_GATEWAY_HOST } = service('gateway').environment;
    expect(asked).toEqual([
      [...ask, HOLDFAST_HEALTH_PORT],
      [...ask, HOLDFAST_GATEWAY_PORT],
    ]);
    // Its access is by one token: it is nobody's but its container's.
    expect(HOLDFAST_GATEWAY_HOST).toBe('127.0.0.1');
    expect(service('gateway').ports).toEqual([]);
  });

  test('secrets come from outside, and .env.example names all that does [deploy.compose]', () => {
    const literal = Object.values(raw.services)
      .flatMap(({ environment = {} }) => Object.entries(environment))
      .filter(([name, value]) => /PASSWORD|PWD|TOKEN|KEY|SECRET|_STORE/.test(name) && !value.includes('${'));
    expect(literal).toEqual([]);
    const example = [...textOf('.env.example').matchAll(/^#?([A-Z_]+)=(.*)$/gm)];
    expect(example.map(([, name]) => name).sort()).toEqual([...variablesOf(raw)].sort());
    const shown = Object.fromEntries(example.map(([, name = '', value = '']) => [name, value]));
    expect(loadComposeFile({ ...shown, ...given })).toEqual(loadComposeFile(given));
  });

  test('has no password of its own: each is given, and .env is made with random ones [deploy.secrets]', () => {
    const passwords = [...variablesOf(raw)].filter((name) => name.endsWith('_PASSWORD'));
    expect(passwords).toHaveLength(3);
    expect([...neededVariables(raw)].sort()).toEqual(passwords.sort());
    for (const name of passwords) {
      const { [name]: _left, ...others } = given;
      for (const env of [others, { ...others, [name]: '' }])
        expect(() => loadComposeFile(env)).toThrow(
          `docker-compose.yml needs ${name}: run sh deploy/make-env.sh`,
        );
    }
    const copy = mkdtempSync(join(tmpdir(), 'holdfast-env-'));
    onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
    mkdirSync(join(copy, 'deploy'));
    for (const file of ['.env.example', 'deploy/make-env.sh']) copyFileSync(root + file, join(copy, file));
    const make = () => spawnSync('sh', ['deploy/make-env.sh'], { cwd: copy, encoding: 'utf8' });
    expect(make()).toMatchObject({ status: 0, stderr: '' });
    const file = join(copy, '.env');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const env = parseEnv(readFileSync(file, 'utf8'));
    expect(new Set(passwords.map((name) => env[name])).size).toBe(3);
    for (const name of passwords) expect(env[name]).toMatch(/^[0-9a-f]{48}$/);
    expect(() => parseCredentialKeys(env.HOLDFAST_CREDENTIAL_KEYS ?? '')).not.toThrow();
    expect(Object.keys(loadComposeFile(env).services)).toEqual(names);
    // Another start would lock itself out of the volume.
    expect(make()).toMatchObject({ status: 1, stderr: '.env is there already, and stays as it is\n' });
    expect(parseEnv(readFileSync(file, 'utf8'))).toEqual(env);
  });

  test('what it mounts is there, and PostgreSQL keeps its data in the volume [deploy.compose]', () => {
    const sources = names.flatMap((name) =>
      service(name).volumes.map((volume) => volume.split(':')[0] ?? ''),
    );
    const folders = sources.filter((source) => source.startsWith('./'));
    expect(folders.filter((folder) => !existsSync(root + folder))).toEqual([]);
    expect(existsSync(`${root}examples/support/agents.ts`)).toBe(true);
    // Images of 18 and later keep them in a folder of the version below this one.
    expect(service('postgres').volumes).toContain('postgres:/var/lib/postgresql');
  });

  test('registers the search attributes that turns carry [deploy.compose]', () => {
    const script = textOf('deploy/temporal/set-up-namespace.sh');
    const registered = [...script.matchAll(/--name (\w+) --type (\w+)/g)].map(([, name, type]) => [
      name,
      type,
    ]);
    expect(registered).toEqual(SEARCH_ATTRIBUTES.map((name) => [name, 'Keyword']));
  });

  test('the server’s settings are those of the embedded one [deploy.compose]', () => {
    const settings: Record<string, [{ value: unknown }]> = parse(
      textOf('deploy/temporal/dynamic-config.yaml'),
    );
    const deployed = Object.entries(settings).map(([key, [{ value }]]) => [key, value]);
    const embedded = startArguments('', { grpc: 1, ui: 2 }, new Set())
      .map((word) => /^(\w+\.\w+)=(.*)$/.exec(word))
      .filter((match) => match !== null)
      .map(([, key, value = '']) => [key, JSON.parse(value)]);
    expect(embedded.length).toBeGreaterThan(3);
    expect(deployed).toEqual(expect.arrayContaining(embedded));
  });
});

describe('Dockerfile', () => {
  const lines = textOf('Dockerfile').split('\n');

  test('is glibc, of the Node that the tests run on, and not root [deploy.compose]', () => {
    const bases = lines.filter((line) => line.startsWith('FROM ')).map((line) => line.split(' ')[1]);
    const { node } = JSON.parse(textOf('package.json')).devDependencies;
    expect(bases.filter((base) => base !== 'node')).toEqual([
      expect.stringMatching(
        new RegExp(`^node:${node.replaceAll('.', '\\.')}-bookworm-slim@sha256:[0-9a-f]{64}$`),
      ),
    ]);
    const users = lines.filter((line) => line.startsWith('USER '));
    expect(users.at(-1)).toMatch(/^USER [1-9]\d*:[1-9]\d*$/);
    expect(
      lines.slice(lines.lastIndexOf(users.at(-1) ?? '')).filter((line) => line.startsWith('RUN ')),
    ).toEqual([]);
  });

  test('is built of nothing but what is named [deploy.compose]', () => {
    const [first, ...kept] = textOf('.dockerignore')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(first).toBe('*');
    expect(kept.filter((line) => !existsSync(root + line.replace(/^!/, '')))).toEqual([]);
    expect(kept.filter((line) => /env|\.git|node_modules|test|docs/.test(line))).toEqual([]);
  });
});
