import { globSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { VARIABLE_NAMES } from '../../src/cli/variables.ts';
import { setVariables, variable } from '../../src/environment.ts';
import { resolveConnection } from '../../src/models/gemini-connection.ts';
import { withGeminiVariables } from '../../src/models/gemini-exchange.ts';
import { lacksGeminiKey } from '../../src/testing/offer-gemini.ts';
import { configuredServer } from '../../worker/temporal/client-config.ts';
import { root, textOf } from '../docs/documents.ts';
import { inTier, isDeep } from '../setup/tier.ts';
import { holdfast } from './holdfast-process.ts';
import { UserProject } from './user-project.ts';

const AGENTS = `
import { LlmAgent } from 'holdfast';
import { text } from 'holdfast/testing';

export const rootAgent = new LlmAgent({ name: 'responder', model: 'gemini-2.5-flash' });
export const geminiScript = () => text('two');
`;

const EMPTY = Object.fromEntries(VARIABLE_NAMES.map((name) => [name, '']));
const BLANK = Object.fromEntries(VARIABLE_NAMES.map((name) => [name, ' ']));

describe('an empty variable counts as not set [cli.empty]', () => {
  const project = new UserProject();
  const agents = project.write('agents.ts', AGENTS);
  afterAll(() => project.remove());
  // Where this test's own cache is.
  const { HOME: home = '', HOLDFAST_TEMPORAL_CLI: program = '' } = process.env;

  const kinds: [what: string, variables: Record<string, string>][] = [
    ['empty', EMPTY],
    ['blank', BLANK],
  ];
  if (isDeep) {
    test.each(kinds.slice(0, inTier(1, kinds.length)))(
      'in commands: all of them are %s',
      async (_what, variables) => {
        const env = { ...variables, HOME: home, HOLDFAST_TEMPORAL_CLI: program };
        const options = { cwd: project.path, env };
        const ran = await holdfast(['run', agents, '--message', 'how many?', '--json'], options);
        expect(ran).toMatchObject({ code: 0, stdout: expect.stringContaining('"text":"two"') });
        const listed = await holdfast(['sessions', 'list', '--json'], options);
        expect(listed).toMatchObject({ code: 0, stdout: expect.stringContaining('"agents"') });
        const gateway = await holdfast(['gateway'], options);
        // As where nothing is set: it says what it lacks, and names no empty file or port.
        expect(gateway).toMatchObject({
          code: 2,
          stderr: expect.stringContaining('set TEMPORAL_ADDRESS and HOLDFAST_STORE'),
        });
      },
    );
  }

  test.each(VARIABLE_NAMES)('in code: %s', (name) => {
    for (const value of ['', ' ', '\n']) {
      expect(variable(name, { [name]: value })).toBeUndefined();
      expect(setVariables({ [name]: value, other: 'set' })).toEqual({ other: 'set' });
    }
    expect(variable(name, { [name]: 'set' })).toBe('set');
  });

  test('in what connects to Temporal and to Gemini', () => {
    expect(configuredServer(setVariables(BLANK))).toBeUndefined();
    expect(configuredServer({ ...BLANK, TEMPORAL_ADDRESS: 'temporal:7233' })).toEqual({
      connectionOptions: { address: 'temporal:7233' },
      namespace: 'default',
    });
    expect(lacksGeminiKey([], EMPTY)).toBe(lacksGeminiKey([], {}));
    // The name that wins is empty, the other one counts.
    const vertex = { ...EMPTY, GOOGLE_GENAI_USE_VERTEXAI: 'true', GOOGLE_CLOUD_PROJECT: 'shop' };
    const { options } = withGeminiVariables(vertex, () => resolveConnection({}));
    expect(options.vertexai).toBe(true);
    const keyed = { ...EMPTY, GEMINI_API_KEY: 'key-of-gemini' };
    expect(withGeminiVariables(keyed, () => resolveConnection({})).options).toMatchObject({
      vertexai: false,
      apiKey: 'key-of-gemini',
    });
  });

  test('since one file reads the process’s environment', () => {
    const readers = globSync(['{src,worker,activities,workflows}/**/*.ts'], { cwd: root })
      .map((path) => path.replaceAll('\\', '/'))
      // The command forgets empty ones before anything looks.
      .filter((path) => !path.startsWith('src/cli/'))
      .filter((path) => /\bprocess\.env\b/.test(textOf(path).replace(/\/\*\*.*?\*\/|\/\/[^\n]*/gs, '')));
    expect(readers.sort()).toEqual(
      [
        // Programs and the sandbox need variables of the system.
        'src/tools/workspace/run-program.ts',
        'src/tools/workspace/sandbox.ts',
        'src/environment.ts',
        // These hand it on to what reads by `variable`, or write to it.
        'src/runner/embedded-services.ts',
        'src/models/gemini-connection.ts',
        'src/models/gemini-exchange.ts',
        'src/testing/open-test-environment.ts',
        // The environment of `ps`.
        'worker/temporal/server-process.ts',
      ].sort(),
    );
  });
});
