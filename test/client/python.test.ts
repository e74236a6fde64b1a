import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { findTemporalCli } from '../../src/cli/temporal/temporal-cli.ts';
import { invocationIdOf, workflowIdOf } from '../../src/protocol/identity.ts';
import { text } from '../../src/testing/gemini-reply.ts';
import { root, textOf } from '../docs/documents.ts';
import { HeldTool } from '../setup/held-tool.ts';
import { pythonWithTemporal } from '../setup/python-with-temporal.ts';
import { stepCalls } from '../setup/scripts.ts';
import { isDeep } from '../setup/tier.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const python = pythonWithTemporal();
const pythonPath = 'path' in python ? python.path : '';

/** The development server that Holdfast builds with Go is no CLI. */
const cli = await findTemporalCli(process.env);
const noCli = typeof cli === 'string' ? '' : `: no Temporal CLI: ${cli.why}`;

const why = 'missing' in python ? `: ${python.missing}` : '';
const execute = promisify(execFile);

/** Python's SDK may crash its interpreter while that one finalizes, when all is said and done. */
async function executed(
  program: string,
  args: readonly string[],
  options: { env: NodeJS.ProcessEnv },
): Promise<{ stdout: string }> {
  try {
    return await execute(program, args, { ...options, encoding: 'utf8' });
  } catch (error) {
    const { stdout, stderr, signal } = error as { stdout: string; stderr: string; signal: string | null };
    const crashed =
      signal === 'SIGSEGV' || signal === 'SIGABRT' || stderr.includes('Python runtime state: finalizing');
    if (stdout.endsWith('\n') && crashed) return { stdout };
    throw error;
  }
}
const example = `${root}examples/python/start_turn.py`;

const ANSWER = 'It is on its way.';
const REFUSED =
  /message: \d+ bytes of JSON with its stateDelta, at most 65536 travel through Temporal: send it by a HoldfastClient with a store/;

/** A block of the document by its language and what its first line holds. */
function block(language: string, first: string): string {
  const blocks = [...textOf('docs/clients.md').matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  const found = blocks.find(
    ([, name, code]) => name === language && code?.split('\n', 1)[0]?.includes(first),
  );
  if (found?.[2] === undefined) throw new Error(`docs/clients.md has no ${language} block with ${first}`);
  return found[2];
}

describe('clients in other languages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-clients-'));
  const held = new HeldTool();
  let environment: TurnEnvironment;

  beforeAll(async () => {
    environment = await openTurnEnvironment({
      agents: [new LlmAgent({ name: 'support', model: 'gemini-2.5-flash', tools: [held.tool()] })],
    });
    symlinkSync(process.env.HOLDFAST_TEMPORAL_CLI ?? '', join(folder, 'temporal'));
    writeFileSync(join(folder, 'send_message.py'), block('python', 'send_message.py'));
  });
  beforeEach(() => held.hold());
  afterAll(async () => {
    await environment.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const answer = () => environment.gemini.reset(() => text(ANSWER));
  const holdThenAnswer = () => environment.gemini.reset(stepCalls([[{ name: 'hold' }]], ANSWER));

  /** Runs a program that finds the server by its environment, and returns what it prints. */
  async function output(program: string, args: readonly string[]): Promise<string> {
    const { address, namespace } = environment.place;
    const { stdout } = await executed(program, args, {
      env: {
        ...process.env,
        TEMPORAL_ADDRESS: address,
        TEMPORAL_NAMESPACE: namespace,
        PATH: `${folder}${delimiter}${process.env.PATH}`,
      },
    });
    return stdout;
  }

  const startTurn = (sessionId: string, messageId: string, message: string) =>
    output(pythonPath, [example, 'shop', 'ada', sessionId, messageId, message]);
  const sendMessage = (sessionId: string, messageId: string, message: string) =>
    output(pythonPath, [join(folder, 'send_message.py'), 'shop', 'ada', sessionId, messageId, message]);

  async function said(sessionId: string): Promise<(string | undefined)[]> {
    const events = await environment.store.sessions.readEvents({ app: 'shop', userId: 'ada', sessionId });
    const messages = events.filter(({ kind }) => kind === 'message');
    return messages.map(({ event }) => event.content?.parts?.[0]?.text);
  }

  test.skipIf('missing' in python)(
    `a turn is started from Python in 15 lines and answered; its message id is it ever after${why} [message.python]`,
    async () => {
      const program = readFileSync(example, 'utf8');
      expect(program.trimEnd().split('\n').length).toBeLessThanOrEqual(15);
      expect(block('python', 'import asyncio, json')).toBe(program);
      answer();
      const sessionId = 'a session/with ~ and 😀';
      const result: unknown = JSON.parse(await startTurn(sessionId, 'm1', 'Where is order A-1?'));
      expect(result).toMatchObject({
        v: 1,
        status: 'completed',
        text: ANSWER,
        invocationId: invocationIdOf('shop', 'ada', sessionId, 'm1'),
      });
      expect(JSON.parse(await startTurn(sessionId, 'm1', 'Where is order A-1?'))).toEqual(result);
      expect(await said(sessionId)).toEqual(['Where is order A-1?']);
      expect(environment.gemini.requests).toHaveLength(1);
    },
  );

  if (isDeep) {
    test.skipIf('missing' in python)(
      `signal-with-start from Python starts a turn, and queues a message while one runs${why} [message.python]`,
      async () => {
        holdThenAnswer();
        const first = sendMessage('s1', 'm1', 'Where is order A-1?');
        await held.begun();
        await expect(startTurn('s1', 'm2', 'And order A-2?')).rejects.toMatchObject({
          stderr: expect.stringContaining('WorkflowAlreadyStartedError'),
        });
        const second = sendMessage('s1', 'm2', 'And order A-2?');
        const names = { app: 'shop', userId: 'ada', sessionId: 's1' };
        await expect.poll(async () => (await environment.client.status(names))?.queued).toBe(1);
        held.release();
        const printed = `${invocationIdOf('shop', 'ada', 's1', 'm1')} ${ANSWER} 1\n`;
        expect([await first, await second]).toEqual([printed, printed]);
        expect(await said('s1')).toEqual(['Where is order A-1?', 'And order A-2?']);
        expect(environment.gemini.requests).toHaveLength(4);
        expect(environment.gemini.refusals).toEqual([]);
      },
    );
  }

  if (isDeep) {
    test.skipIf('missing' in python)(
      `a message over 64 KiB from Python is refused, and told what to do; the session goes on${why} [message.python] [message.large]`,
      async () => {
        answer();
        const large = 'x'.repeat(65 * 1024);
        await expect(startTurn('large', 'm1', large)).rejects.toMatchObject({
          stderr: expect.stringMatching(REFUSED),
        });
        await expect(sendMessage('large', 'm1', large)).rejects.toMatchObject({
          stderr: expect.stringMatching(REFUSED),
        });
        holdThenAnswer();
        const turn = startTurn('large', 'm2', 'Where is order A-1?');
        await held.begun();
        const refused = sendMessage('large', 'm3', large);
        const handle = environment.temporal.workflow.getHandle(workflowIdOf('shop', 'ada', 'large'));
        const details = async () =>
          (await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata')).currentDetails;
        await expect.poll(details).toMatch(REFUSED);
        held.release();
        await Promise.all([turn, refused]);
        expect(await said('large')).toEqual(['Where is order A-1?']);
      },
    );
  }

  test.skipIf(process.platform === 'win32' || noCli !== '')(
    `the commands of the document start a turn, queue a message, and ask${noCli} [turn.start]`,
    async () => {
      answer();
      const sh = (first: string) => output('sh', ['-ec', block('sh', first)]);
      expect(await sh('workflow start')).toContain(ANSWER);

      holdThenAnswer();
      const names = { app: 'shop', userId: 'ada', sessionId: 's2' };
      const turn = await environment.client.sendMessage({ ...names, message: 'hold' });
      await held.begun();
      expect(await sh('workflow signal')).toMatch(/\bstatus\W+queued\b/);
      expect(await environment.client.status(names)).toMatchObject({ queued: 1 });
      held.release();
      const run = environment.temporal.workflow.getHandle(turn.workflowId, turn.runId);
      expect(await run.result()).toMatchObject({ others: [{ status: 'completed' }] });
      expect(await said('s2')).toEqual(['Where is order A-1?', 'hold', 'And order A-2?']);
    },
  );
});
