import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { isApp } from '../../src/agents/app.ts';
import { CliError } from '../../src/cli/cli-error.ts';
import { chooseAgent, loadAgents } from '../../src/cli/load-agents.ts';

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

test('without one the file gives the name, and no settings [app.settings]', async () => {
  expect(await loadAgents(agentsFile('orders'))).toMatchObject({ app: 'orders', apps: [] });
});

describe('an agents file is refused [app.settings]', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-agents-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const agent = (name: string) => `{ [Symbol.for('holdfast.llmAgent')]: true, name: '${name}' }`;
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
