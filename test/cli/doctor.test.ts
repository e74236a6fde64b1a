import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { checkAgents } from '../../src/cli/doctor/check-agents.ts';
import { checkDisk, checkFolder } from '../../src/cli/doctor/check-folder.ts';
import { checkModel } from '../../src/cli/doctor/check-model.ts';
import {
  checkBundle,
  checkNode,
  checkPackages,
  checkPlatform,
  ownRuntime,
} from '../../src/cli/doctor/check-runtime.ts';
import { checkTemporal } from '../../src/cli/doctor/check-temporal.ts';
import { type Diagnosis, doctorCommand } from '../../src/cli/doctor/doctor-command.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import { error, text } from '../../src/testing/gemini-reply.ts';
import { startMockGemini } from '../../src/testing/mock-gemini.ts';
import { acquireFolder } from '../../worker/index.ts';
import { openLocalGateway } from '../../worker/local-gateway.ts';
import { freePort } from '../setup/free-port.ts';
import { capturedOutput } from './captured-output.ts';
import { surroundings, temporaryFolder, told } from './doctor-surroundings.ts';
import { UserProject } from './user-project.ts';

const linux = { nodeVersion: '24.1.0', platform: 'linux', arch: 'x64', glibc: '2.36' } as const;

describe('the program', () => {
  test.each([
    ['22.17.9', 'fail'],
    ['20.20.2', 'fail'],
    ['22.18.0', 'ok'],
    ['24.0.0', 'ok'],
  ])('Node %s: %s [cli.doctor]', (nodeVersion, status) => {
    const [finding] = checkNode({ ...linux, nodeVersion });
    expect(finding).toMatchObject({ status, message: expect.stringContaining(nodeVersion) });
    if (status === 'fail') expect(finding?.fix).toContain('install Node 22.18');
  });

  test('a platform without the SDK’s native part, and a Linux without glibc [cli.doctor]', () => {
    expect(told(checkPlatform(linux), 'platform')).toEqual(['ok: linux-x64, glibc 2.36']);
    expect(told(checkPlatform({ ...linux, glibc: undefined }), 'platform')).toEqual([
      expect.stringMatching(/^fail: .*musl.* → .*Debian/),
    ]);
    expect(told(checkPlatform({ ...linux, arch: 's390x' }), 'platform')).toEqual([
      expect.stringMatching(/^fail: .*linux-s390x → run workers on one of linux-x64/),
    ]);
    expect(told(checkPlatform(ownRuntime()), 'platform')).toEqual([expect.stringMatching(/^ok/)]);
  });

  test('packages of one version; a project with another one is told [cli.doctor]', () => {
    const project = temporaryFolder();
    expect(told(checkPackages(project), 'packages')).toEqual([
      expect.stringMatching(/^ok: holdfast \d+\.\d+\.\d+.*, Temporal SDK \d+\.\d+\.\d+$/),
    ]);
    const client = join(project, 'node_modules/@temporalio/client');
    mkdirSync(client, { recursive: true });
    writeFileSync(join(client, 'package.json'), '{"name":"@temporalio/client","version":"1.11.0"}');
    expect(told(checkPackages(project), 'packages')[1]).toMatch(
      /^warn: this project has @temporalio\/client 1\.11\.0, .* → install @temporalio\/client@\d/,
    );
  });

  test('a workflow bundle of another build, and none [cli.doctor]', async () => {
    expect(told(await checkBundle(), 'workflow bundle')).toEqual([expect.stringMatching(/^ok: built for/)]);
    const file = join(temporaryFolder(), 'bundle.js');
    writeFileSync(file, '// holdfast workflow bundle {"sdk":"1.0.0","protocol":1}\n');
    expect(told(await checkBundle(file), 'workflow bundle')).toEqual([
      expect.stringMatching(/^fail: .*SDK 1\.0\.0 .*→ install the package again/s),
    ]);
    expect(told(await checkBundle(`${file}.none`), 'workflow bundle')).toEqual([
      expect.stringMatching(/^fail: no workflow bundle/),
    ]);
  });
});

describe('the folder', () => {
  const releases: (() => void)[] = [];
  afterEach(() => {
    for (const release of releases.splice(0)) release();
  });

  test('none, one of nobody, one in use by a process without a gateway [cli.doctor]', async () => {
    const around = surroundings();
    expect(told(await checkFolder(around), 'folder')).toEqual([
      expect.stringMatching(/^ok: .*not there yet/),
    ]);
    expect(existsSync(around.folder)).toBe(false);
    const { release } = acquireFolder(around.folder);
    releases.push(release);
    expect(told(await checkFolder(around), 'folder')).toEqual([
      expect.stringMatching(
        new RegExp(`^warn: .*in use by process ${process.pid} since .*gateway doesn't answer`),
      ),
    ]);
    release();
    expect(told(await checkFolder(around), 'folder')).toEqual([
      expect.stringMatching(/^ok: .*in use by nobody/),
    ]);
  });

  test('a server that is down: the owner of the folder can do nothing [cli.doctor]', async () => {
    const around = surroundings({ env: { HOLDFAST_TEMPORAL_CLI: process.env.HOLDFAST_TEMPORAL_CLI } });
    const { release } = acquireFolder(around.folder);
    releases.push(release);
    const temporal = { address: `127.0.0.1:${await freePort()}`, version: '1' };
    writeFileSync(join(around.folder, 'dev.json'), JSON.stringify({ temporal }), { mode: 0o600 });
    expect(told(await checkTemporal(around), 'temporal')).toEqual([
      expect.stringMatching(
        new RegExp(`^fail: .*is down.* process ${process.pid}.* → .*kill ${process.pid}`),
      ),
    ]);
    release();
    expect(told(await checkTemporal(around), 'temporal')[0]).toMatch(/^ok: .*the next command starts it/);
  });

  test('one in use by a process whose gateway answers [cli.doctor]', async () => {
    const { folder } = surroundings();
    const ownership = acquireFolder(folder);
    releases.push(ownership.release);
    const gateway = await openLocalGateway({
      ownership,
      client: new GatewayClient({ url: 'http://127.0.0.1:9', token: 'none' }),
      about: () => ({
        v: 1,
        version: '0',
        namespace: 'default',
        taskQueue: 'q',
        store: 'embedded',
        apps: [],
        agents: [],
      }),
      ready: async () => ({}),
    });
    try {
      expect(told(await checkFolder(surroundings({ folder })), 'folder')).toEqual([
        expect.stringMatching(
          new RegExp(`^ok: .*in use by process ${process.pid} since .*, whose gateway answers$`),
        ),
      ]);
    } finally {
      await gateway.close();
    }
  });

  test('unused where server and store are named, a file in its place [cli.doctor]', async () => {
    const named = { HOLDFAST_STORE: 'postgres://db', TEMPORAL_ADDRESS: 'temporal:7233' };
    const around = surroundings({ env: named });
    expect(told(await checkFolder(around), 'folder')).toEqual([expect.stringMatching(/^ok: not used/)]);
    expect(await checkDisk(around)).toEqual([]);
    const file = join(temporaryFolder(), 'file');
    writeFileSync(file, '');
    expect(told(await checkFolder(surroundings({ folder: file })), 'folder')).toEqual([
      expect.stringMatching(/^fail: .*is a file → name another folder/),
    ]);
  });

  test.skipIf(process.platform === 'win32')(
    'open to other users, and a damaged dev.json [cli.doctor]',
    async () => {
      const { folder } = surroundings();
      mkdirSync(folder, { mode: 0o700 });
      const file = join(folder, 'dev.json');
      writeFileSync(file, '{"gateway":{"token":"secret-word"}}');
      chmodSync(file, 0o644);
      expect(told(await checkFolder(surroundings({ folder })), 'folder')).toEqual([
        `warn: ${file} can be read by other users: the token of the gateway and the transcripts are in there → chmod 600 ${file}`,
        `ok: ${folder}, in use by nobody`,
      ]);
      chmodSync(file, 0o600);
      writeFileSync(file, '[]');
      expect(told(await checkFolder(surroundings({ folder })), 'folder')[0]).toMatch(
        /^fail: .*dev\.json is not a JSON object → delete it/,
      );
    },
  );

  test.each([
    [5 * 2 ** 30, 'ok: 5.0 GiB free'],
    [2 ** 29, 'warn: 0.5 GiB free'],
    [2 ** 20, 'fail: 0.0 GiB free'],
  ])('a disk with %d bytes free: %s [cli.doctor]', async (free, begin) => {
    expect(told(await checkDisk(surroundings(), async () => free), 'disk')[0]).toMatch(
      new RegExp(`^${begin}`),
    );
    expect(told(await checkDisk(surroundings()), 'disk')).toEqual([expect.stringContaining('GiB free at')]);
  });
});

describe('the model', () => {
  test.each([
    [{}, /^warn: no key for Gemini.*mock server.* → set GEMINI_API_KEY/],
    [{ GOOGLE_API_KEY: 'secret-word' }, /^ok: Gemini by the key of GOOGLE_API_KEY$/],
    [
      { GOOGLE_GENAI_USE_VERTEXAI: 'true' },
      /^fail: Vertex AI .*without a project → set GOOGLE_CLOUD_PROJECT/,
    ],
    [{ GOOGLE_GENAI_USE_VERTEXAI: '1', GOOGLE_CLOUD_PROJECT: 'p1' }, /^ok: Gemini on Vertex AI, project p1$/],
  ])('%o [cli.doctor]', async (env, message) => {
    const findings = await checkModel(surroundings({ env }));
    expect(told(findings, 'model')).toEqual([expect.stringMatching(message)]);
    expect(JSON.stringify(findings)).not.toContain('secret-word');
  });

  test('those of the file: the package and key of each provider, or what is missing [cli.doctor]', async () => {
    const project = new UserProject();
    onTestFinished(() => project.remove());
    const agents = project.write(
      'agents.ts',
      `import { AiSdkModel, Gemini, LlmAgent } from 'holdfast';
       const names = ['anthropic/a', 'openai/b', 'bedrock/c', 'openai-compatible/d'];
       const router = { specificationVersion: 'v3', provider: 'openrouter.chat', modelId: 'e', supportedUrls: {} };
       const made = { ...router, doGenerate() {}, doStream() {} };
       const own = [new AiSdkModel({ model: made }), new Gemini({ apiKey: 'secret-word' })];
       const subAgents = [...names, ...own].map((model, index) => new LlmAgent({ name: 'a' + index, model }));
       export const rootAgent = new LlmAgent({ name: 'root', model: 'gemini-2.5-flash', subAgents });`,
    );
    const env = { OPENAI_API_KEY: 'secret-word' };
    const findings = await checkModel(surroundings({ agents, env }));
    expect(told(findings, 'model')).toEqual([
      expect.stringMatching(/^warn: no key for Gemini/),
      expect.stringMatching(/^fail: no key for anthropic\/a.* → set ANTHROPIC_API_KEY/),
      'ok: openai/b by @ai-sdk/openai and the key of OPENAI_API_KEY',
      'ok: bedrock/c by @ai-sdk/amazon-bedrock, by AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: AWS_BEARER_TOKEN_BEDROCK is not set',
      expect.stringMatching(/^fail: .*set OPENAI_COMPATIBLE_BASE_URL/),
      "ok: openrouter/e is a model of the file's own",
      "ok: gemini-2.5-flash is a model of the file's own",
    ]);
    expect(JSON.stringify(findings)).not.toContain('secret-word');
    const missing = project.write(
      'missing.ts',
      "import { LlmAgent } from 'holdfast'; export const rootAgent = new LlmAgent({ name: 'root', model: 'groq/x' });",
    );
    expect(told(await checkAgents(surroundings({ agents: missing })), 'agents')).toEqual([
      expect.stringMatching(/^fail: .*npm install @ai-sdk\/groq/),
    ]);
  });

  test('--ask-model asks for real: an answer, and a refusal without the key [cli.doctor]', async () => {
    const gemini = await startMockGemini({ script: [text('yes'), error(429, 'quota of secret-word-1')] });
    const env = { ...gemini.env, GEMINI_API_KEY: 'secret-word-1' };
    const before = { ...process.env };
    Object.assign(process.env, env);
    try {
      const around = surroundings({ env, askModel: true });
      expect(told(await checkModel(around), 'model')[1]).toMatch(
        /^ok: gemini-\S+ has answered after \d+ ms$/,
      );
      const refused = await checkModel(around);
      expect(told(refused, 'model')[1]).toMatch(/^fail: .*quota/);
      expect(JSON.stringify(refused)).not.toContain('secret-word');
    } finally {
      for (const name of Object.keys(env)) delete process.env[name];
      Object.assign(process.env, before);
      await gemini.close();
    }
  });
});

describe('holdfast doctor', () => {
  test('all at once, exit 1 where something fails; starts and makes nothing [cli.doctor]', async () => {
    const { folder } = surroundings();
    const env = { HOLDFAST_TEMPORAL_CLI: join(folder, 'no-temporal'), HOLDFAST_STORE: 'nonsense' };
    const output = capturedOutput();
    const old = { ...linux, nodeVersion: '18.0.0' };
    expect(await doctorCommand(undefined, { folder, env, json: true }, output, old)).toBe(1);
    const [{ ok, findings }] = output.values() as [Diagnosis];
    expect(ok).toBe(false);
    expect(findings.filter(({ status }) => status === 'fail').map(({ about }) => about)).toEqual([
      'node',
      'temporal',
      'store',
    ]);
    for (const { status, fix } of findings) expect(fix === undefined).toBe(status === 'ok');
    expect(existsSync(folder)).toBe(false);
  });

  test('for people: a line for each, what to do below it; warnings alone are exit 0 [cli.doctor]', async () => {
    const output = capturedOutput();
    const { folder } = surroundings();
    expect(await doctorCommand(undefined, { folder, env: { HOLDFAST_CACHE: folder } }, output)).toBe(0);
    const at = output.lines.findIndex((line) => /^warn {2}model {2,}no key for Gemini/.test(line));
    expect(output.lines[at + 1]).toMatch(/^ {8,}→ set GEMINI_API_KEY/);
    expect(output.lines[0]).toMatch(/^ok {4}node {2,}Node \d+/);
    expect(output.notes.at(-1)).toMatch(/^0 to mend, \d+ to know of, \d+ in order$/);
  });
});
