import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { isApp } from '../../src/app/app.ts';
import { CliError } from '../../src/cli/cli-error.ts';
import { importFile } from '../../src/cli/import-file.ts';
import { chooseAgent, chooseApp, loadAgents } from '../../src/cli/load-agents.ts';

const agentsFile = (name: string) => fileURLToPath(new URL(`./agents/${name}.ts`, import.meta.url));

test('an App gives its name, its root agent and its settings [app.settings]', async () => {
  const file = agentsFile('shop');
  const loaded = await loadAgents(file);
  expect(loaded.app).toBe('corner-shop');
  expect(loaded.apps).toHaveLength(1);
  expect(isApp(loaded.apps[0])).toBe(true);
  expect(loaded.apps[0]?.durable).toMatchObject({
    retention: 90 * 86_400_000,
    budgets: { turn: { modelCalls: 20 } },
  });
  expect(loaded.agents.map(({ name }) => name)).toEqual(['seller', 'helper']);
  expect(chooseAgent(file, loaded, undefined).name).toBe('seller');
  expect(chooseAgent(file, loaded, 'helper').name).toBe('helper');
});

describe('plugins and runConfig alone make the app of the file’s name [cli.content]', () => {
  const folder = mkdtempSync(fileURLToPath(new URL('./agents/alone-', import.meta.url)));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const load = (name: string, source: string) => {
    const file = join(folder, name);
    const imports = "import { App, BasePlugin, LlmAgent, LoggingPlugin } from 'holdfast';";
    const agents = "export const rootAgent = new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash' });";
    writeFileSync(file, `${imports}\n${agents}\n${source}\n`);
    return { file, loaded: loadAgents(file) };
  };

  test('it has the plugins in their order, the settings, and the only agent as its root', async () => {
    const { loaded } = load(
      'shop.mjs',
      `export const plugins = [new LoggingPlugin('a'), new (class extends BasePlugin {})('b')];
       export const runConfig = { maxLlmCalls: 7, streamingMode: 'sse', supportCfc: false };`,
    );
    const { app, apps, rootAgent } = await loaded;
    expect(app).toBe('shop');
    expect(apps.map(({ name }) => name)).toEqual(['shop']);
    expect(apps[0]?.rootAgent).toBe(rootAgent);
    expect(apps[0]?.plugins.map(({ name }) => name)).toEqual(['a', 'b']);
    expect(apps[0]?.durable.runConfig).toEqual({ maxLlmCalls: 7, streamingMode: 'sse' });
  });

  test('either is enough', async () => {
    const withPlugins = await load('one.mjs', 'export const plugins = [];').loaded;
    expect(withPlugins.apps.map(({ name, plugins }) => [name, plugins])).toEqual([['one', []]]);
    const withConfig = await load('two.mjs', 'export const runConfig = { maxLlmCalls: 0 };').loaded;
    expect(withConfig.apps[0]?.durable.runConfig).toEqual({ maxLlmCalls: 0 });
  });

  test.each<[string, string, string]>([
    [
      'with-app.mjs',
      "export const plugins = []; export const runConfig = {}; export const app = new App({ name: 'x', rootAgent });",
      'the exports app and plugins and runConfig both say how the app runs: put plugins and durable: { runConfig } into the App',
    ],
    [
      'of-adk.mjs',
      'export const plugins = [{ name: "x", beforeRunCallback() {}, onUserMessageCallback() {} }];',
      "plugins[0]: a plugin of @google/adk; import its class, or BasePlugin, from 'holdfast' instead",
    ],
    [
      'no-list.mjs',
      'export const plugins = new LoggingPlugin();',
      'plugins: expected a list of plugins, got object',
    ],
    [
      'twice.mjs',
      'export const plugins = [new LoggingPlugin(), new LoggingPlugin()];',
      "plugins[1]: Plugin with name 'logging_plugin' already registered.",
    ],
    [
      'typo.mjs',
      'export const runConfig = { maxLlmCals: 5 };',
      'runConfig.maxLlmCals: is no field of a RunConfig',
    ],
    ['text.mjs', "export const runConfig = 'sse';", 'runConfig: expected an object, got string'],
    [
      'bidi.mjs',
      "export const runConfig = { streamingMode: 'bidi' };",
      'runConfig: StreamingMode.BIDI is not supported; use StreamingMode.SSE.',
    ],
    [
      'wrong.mjs',
      'export const runConfig = { maxLlmCalls: 1.5 };',
      'runConfig.maxLlmCalls: expected a whole number',
    ],
    ['my.shop.mjs', 'export const plugins = [];', 'its name gives the app\'s, and "my.shop" can\'t be one'],
  ])('%s', async (name, source, problem) => {
    const { file, loaded } = load(name, source);
    await expect(loaded).rejects.toThrow(CliError);
    await expect(loaded).rejects.toThrow(`${file}: ${problem}`);
  });

  test('they need to know who answers', async () => {
    const file = join(folder, 'two-agents.mjs');
    const agent = (name: string) =>
      `export const ${name} = new LlmAgent({ name: '${name}', model: 'gemini-2.5-flash' });`;
    writeFileSync(
      file,
      `import { LlmAgent } from 'holdfast';\n${agent('a')}\n${agent('b')}\nexport const plugins = [];\n`,
    );
    await expect(loadAgents(file)).rejects.toThrow(
      `${file}: plugins need to know who answers: export that agent as rootAgent`,
    );
  });
});

test('without one the file gives the name, and no settings [app.settings]', async () => {
  expect(await loadAgents(agentsFile('orders'))).toMatchObject({ app: 'orders', apps: [] });
});

describe('an agents file is refused [app.settings]', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-agents-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const agent = (name: string) =>
    `{ [Symbol.for('holdfast.baseAgent')]: true, name: '${name}', get rootAgent() { return this; } }`;
  const app = `{ [Symbol.for('holdfast.app')]: true, name: 'shop', rootAgent: ${agent('seller')} }`;

  test.each<[string, string, string]>([
    [
      'an App of ADK',
      `export const app = { [Symbol.for('google.adk.app')]: true };`,
      "app is an App of another package: import App from 'holdfast' instead",
    ],
    [
      'an App of any other package',
      'class App {} export const app = new App();',
      "app is an App of another package: import App from 'holdfast' instead",
    ],
    ['what is no App', `export const app = 'shop';`, 'the export app is no App, but string'],
    [
      'an App under another name',
      `export const shop = ${app};`,
      'shop is an App: export it under the name app',
    ],
    [
      'two root agents',
      `export const rootAgent = ${agent('clerk')}; export const app = ${app};`,
      'the exports app and rootAgent name two root agents: leave rootAgent out',
    ],
  ])('%s', async (what, source, problem) => {
    const file = join(folder, `${what.replaceAll(' ', '-')}.mjs`);
    writeFileSync(file, source);
    const refused = loadAgents(file);
    await expect(refused).rejects.toThrow(CliError);
    await expect(refused).rejects.toThrow(`${file}: ${problem}`);
  });

  test.each([
    ['./words', './words.ts'],
    ['./words.js', './words.ts'],
    ['./shop', './shop/index.ts'],
  ])('an import of %s, with the whole name %s', async (given, whole) => {
    mkdirSync(join(folder, 'shop'), { recursive: true });
    for (const name of ['words.ts', 'shop/index.ts'])
      writeFileSync(join(folder, name), 'export const a = 1;');
    const file = join(folder, 'imports.mjs');
    writeFileSync(file, `import '${given}';\n// ${whole}`);
    await expect(importFile(file, file, Math.random())).rejects.toThrow(`write '${whole}'.`);
  });

  test('what throws while it is loaded, with its own stack alone', async () => {
    const file = join(folder, 'throws.mjs');
    writeFileSync(file, "function prepare() { throw new Error('no orders'); }\nprepare();\n");
    const { message } = await loadAgents(file).then(
      () => expect.unreachable(),
      (error: Error) => error,
    );
    expect(message).toMatch(/Error: no orders\n\s+at prepare .*throws\.mjs/);
    expect(message).not.toMatch(/importFile|load-agents/);
  });
});

test('a file that exports an App has that one alone; any other names its app as it likes [cli.apps]', () => {
  const own = { app: 'shop', isExported: true };
  expect(chooseApp('f.ts', own, undefined)).toBe('shop');
  expect(chooseApp('f.ts', own, 'shop')).toBe('shop');
  expect(() => chooseApp('f.ts', own, 'shpo')).toThrow(
    '--app: f.ts has no app "shpo"; did you mean "shop"?; it has shop',
  );
  expect(chooseApp('f.ts', { app: 'f', isExported: false }, 'shop')).toBe('shop');
  expect(() => chooseApp('f.ts', { app: 'f', isExported: false }, 'a/b')).toThrow('The app of f.ts is f');
});
