import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cancelCall, interruptTurn, listTurns, showStatus } from '../../src/cli/turns/turn-commands.ts';
import { GatewayClient } from '../../src/client/gateway-client.ts';
import type { TurnHandle } from '../../src/client/turns/turn-handle.ts';
import { capturedOutput } from './captured-output.ts';
import { HoldfastProcess } from './holdfast-process.ts';
import { UserProject } from './user-project.ts';

const AGENTS = `
import { setTimeout } from 'node:timers/promises';
import { LlmAgent, tool } from 'holdfast';
import { calls, error, text } from 'holdfast/testing';
import { z } from 'zod';

const made = { description: 'A tool.', parameters: z.object({}) };
const sleep = tool({
  ...made,
  name: 'sleep',
  heartbeatTimeout: 1500,
  execute: async (_args, ctx) => {
    await setTimeout(600_000, undefined, { signal: ctx?.abortSignal });
    return {};
  },
});
const refund = tool({ ...made, name: 'refund', requireConfirmation: true, execute: () => ({}) });

export const rootAgent = new LlmAgent({ name: 'clerk', model: 'gemini-2.5-flash', tools: [sleep, refund] });
export const geminiScript = (_request, { functionResponses, userText }) => {
  if (userText === 'fail') return error(400, 'no');
  return functionResponses.length > 0 ? text('Done.') : calls([{ name: userText, args: {} }]);
};
`;

describe('holdfast turns, beside the process that runs them', () => {
  const project = new UserProject();
  const place = { folder: project.folder, env: {} };
  let dev: HoldfastProcess;
  let client: GatewayClient;
  const send = async (sessionId: string, message: string): Promise<TurnHandle> =>
    await client.sendMessage({ app: 'agents', userId: 'ada', sessionId, message });
  const listed = async (options: Partial<Parameters<typeof listTurns>[0]>): Promise<unknown> => {
    const output = capturedOutput();
    await listTurns({ ...place, ...options, json: true }, output);
    const [{ turns }] = output.values() as [{ turns: { sessionId: string; status: string }[] }];
    return turns.map(({ sessionId, status }) => `${sessionId} ${status}`).sort();
  };

  beforeAll(async () => {
    dev = new HoldfastProcess(['dev', project.write('agents.ts', AGENTS), '--no-chat'], {
      cwd: project.path,
    });
    await dev.prints(/gateway {3}http/);
    const { gateway } = JSON.parse(readFileSync(join(project.folder, 'dev.json'), 'utf8'));
    client = new GatewayClient(gateway);
  });
  afterAll(async () => {
    dev.kill('SIGTERM');
    await dev.finished();
    await project.remove();
  });

  test('lists them by their state, shows one, interrupts it, and cancels its call [cli.turns]', async () => {
    const sleeping = await send('sleeps', 'sleep');
    await send("it's", 'refund');
    await (await send('fails', 'fail')).result();
    await expect.poll(() => listed({})).toEqual(["it's waiting_approval", 'sleeps running']);
    expect(await listed({ status: 'waiting_approval' })).toEqual(["it's waiting_approval"]);
    expect(await listed({ status: 'waiting_approval', session: "it's" })).toEqual(["it's waiting_approval"]);
    expect(await listed({ session: 'x" OR HoldfastSession = "sleeps' })).toEqual([]);
    await expect.poll(() => listed({ status: 'failed' })).toEqual(['fails failed']);
    const table = capturedOutput();
    await listTurns({ ...place, status: 'running' }, table);
    expect(table.lines[1]).toMatch(/^agents\/ada\/sleeps +running +clerk +/);

    const shown = capturedOutput();
    await showStatus('agents/ada/sleeps', place, shown);
    expect(shown.lines.join('\n')).toMatch(/^running: clerk, step 1, .*\nsleep (\S+) runs since/);
    const [, callKey = ''] = /sleep (\S+) runs/.exec(shown.lines.join('\n')) ?? [];
    const cancelled = capturedOutput();
    await cancelCall('sleeps', callKey, { ...place, user: 'ada', reason: 'too long', json: true }, cancelled);
    expect(cancelled.values()).toMatchObject([{ confirmed: true, callKey }]);
    expect(await sleeping.result()).toMatchObject({ status: 'completed', text: 'Done.' });

    const ended = capturedOutput();
    await interruptTurn("agents/ada/it's", place, ended);
    expect(ended.notes).toEqual([expect.stringMatching(/^e-\S+ ends$/)]);
    await expect.poll(() => listed({})).toEqual([]);
    const none = capturedOutput();
    await showStatus('agents/ada/sleeps', { ...place, json: true }, none);
    expect(none.values()).toEqual([{ status: null }]);
  });
});
