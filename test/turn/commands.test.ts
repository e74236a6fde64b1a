import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
import { commandTool } from '../../src/tools/workspace/command-tool.ts';
import { bubblewrapHere } from '../../src/tools/workspace/sandbox.ts';
import { Workspace } from '../../src/tools/workspace/workspace.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const found = await bubblewrapHere();
const reason = 'problem' in found ? found.problem : '';
const workspace = new Workspace();
const lines: string[] = [];

let environment: TurnEnvironment;
beforeAll(async () => {
  const tools = [
    commandTool({ workspace, allow: ['seq', 'cat'] }),
    commandTool({ workspace, name: 'run_line', shell: true }),
  ];
  const agents = [new LlmAgent({ name: 'coder', model: 'gemini-2.5-flash', tools })];
  const logger = { info: (message: string, about?: object) => lines.push(JSON.stringify([message, about])) };
  const silent = () => undefined;
  const workerOptions = { logger: { debug: silent, warn: silent, error: silent, ...logger } };
  environment = await openTurnEnvironment({ agents, workerOptions });
});
afterAll(() => environment.close());

describe.skipIf(reason !== '')('commands in a turn', () => {
  test('are asked about, run in the folder of the session, and are told by the worker [commands.turn]', async () => {
    environment.gemini.reset(
      stepCalls([
        [{ name: 'run_line', args: { command: 'echo "a b" > a.txt; ls; exit 2' } }],
        [{ name: 'run_command', args: { argv: ['cat', 'a.txt'] } }],
      ]),
    );
    const turn = await AskingTurn.start(environment);
    const [request] = await turn.pending();
    expect(request).toMatchObject({ hint: 'Run: echo "a b" > a.txt; ls; exit 2' });
    await turn.confirm({ confirmed: true });
    expect(await turn.responses()).toEqual([
      { exitCode: 2, output: 'a.txt\n' },
      { exitCode: 0, output: 'a b\n' },
    ]);
    expect(lines.filter((line) => line.includes('bubblewrap'))).toHaveLength(2);
  });

  test('a rejected one is not run, and a machine without a sandbox ends no turn [commands.refusal]', async () => {
    environment.gemini.reset(stepCalls([[{ name: 'run_line', args: { command: 'touch x; ls' } }]]));
    const turn = await AskingTurn.start(environment);
    await turn.confirm({ confirmed: false });
    expect(JSON.stringify(await turn.responses())).toContain('rejected');

    const { PATH } = process.env;
    process.env.PATH = '/nowhere';
    environment.gemini.reset(stepCalls([[{ name: 'run_command', args: { argv: ['seq', '3'] } }]], 'sorry'));
    const { result, events } = await environment.run({ message: 'go' });
    process.env.PATH = PATH;
    expect(result).toMatchObject({ status: 'completed', text: 'sorry' });
    expect(JSON.stringify(events)).toContain('this machine has no sandbox');
  });

  test('stream to followers, and a long output is queried [commands.turn]', async () => {
    environment.gemini.reset(
      stepCalls([
        [{ name: 'run_command', args: { argv: ['seq', '100000'] } }],
        [{ name: 'run_command', args: { argv: ['seq', '2'] } }],
      ]),
    );
    const items: StreamItem[] = [];
    const stop = new AbortController();
    const names = { app: 'test', userId: 'ada', sessionId: 'streams' };
    const following = (async () => {
      for await (const item of environment.client.stream(names, { signal: stop.signal })) items.push(item);
    })();
    await environment.run({ ...names, message: 'go' });
    const told = () => items.flatMap((item) => (item.type === 'tool chunk' ? [item] : []));
    await expect.poll(() => told().length).toBeGreaterThan(2);
    stop.abort();
    await following;
    const text = told().flatMap(({ content }) => (typeof content === 'string' ? [content] : []));
    expect(text.join('')).toMatch(/^1\n2\n3\n/);
    const { requests } = environment.gemini;
    expect(JSON.stringify(requests.at(-1)?.body)).toMatch(/results\/run_command\/.*artifact_grep/s);
  });
});

if (reason !== '')
  test('commands are not run: there is no wall here', ({ skip }) => {
    skip(true, `no bubblewrap: ${reason}`);
  });
