import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HoldfastProcess, holdfast } from './holdfast-process.ts';
import { atTerminal, hasTerminals } from './terminal-process.ts';
import { UserProject } from './user-project.ts';

const AGENTS = `
import { LlmAgent, tool } from 'holdfast';
import { calls, text } from 'holdfast/testing';
import { z } from 'zod';

const refund = tool({
  name: 'refund',
  description: 'Refunds.',
  parameters: z.object({ order: z.string() }),
  requireConfirmation: true,
  execute: ({ order }) => ({ refunded: order }),
});

export const rootAgent = new LlmAgent({ name: 'cashier', model: 'gemini-2.5-flash', tools: [refund] });
export const geminiScript = (_request, { functionResponses, userText }) => {
  if (functionResponses.length > 0) return text('It is done.');
  if (userText.startsWith('refund')) return calls([{ name: 'refund', args: { order: 'A-1' } }]);
  return text('You said ' + userText + '.');
};
`;

describe.skipIf(!hasTerminals)('while a turn waits for people, the chat of holdfast dev', () => {
  const project = new UserProject();
  let dev: HoldfastProcess;
  const answerTo = async (line: string, end: RegExp): Promise<string> => {
    const read = dev.stdout.length;
    dev.type(line);
    const answer = () => dev.stdout.slice(read) || (dev.isOver ? dev.stderr : '');
    await expect.poll(answer).toMatch(end);
    return answer();
  };

  beforeAll(async () => {
    const agents = project.write('agents.ts', AGENTS);
    dev = atTerminal(['dev', agents, '--session', 'first'], { cwd: project.path });
    await dev.prints(/agents\/user\/first/);
  });

  afterAll(async () => {
    if (!dev.isOver) dev.kill('SIGTERM');
    await dev.finished();
    await project.remove();
  });

  test('goes on in another session, and comes back to the turn [dev.waits]', async () => {
    await answerTo('refund', /approve\? y, n/);
    await answerTo('', /it waits on/);
    expect(await answerTo('/waiting', /holdfast approvals list shows all sessions/)).toContain('refund');
    expect(await answerTo('/session second', /second: new/)).toContain(
      'session first waits on; /session first',
    );
    expect(await answerTo('hello', /1 model call/)).toContain('You said hello.');
    await answerTo('/session first', /session first: \d events/);
    const approved = await answerTo('/approve', /2 model calls/);
    expect(approved).toContain('approved');
    expect(approved).toContain('It is done.');
  });

  test('says of one’s own approval by a command that it counts, and of nobody else’s [dev.waits]', async () => {
    await answerTo('refund', /approve\? y, n/);
    const approved = await answerTo('/approve', /2 model calls/);
    expect(approved).toContain('approved');
    expect(approved).not.toContain('somebody else');
  });
});

test('the chat joins a turn that others have begun, at its start and by /session [dev.waits]', async () => {
  const project = new UserProject();
  const cwd = project.path;
  const agents = project.write('agents.ts', AGENTS);
  let dev: HoldfastProcess | undefined;
  try {
    for (const session of ['one', 'two'])
      await holdfast(['run', agents, '--session', session, '--message', 'refund', '--no-wait'], { cwd });
    dev = new HoldfastProcess(['dev', agents, '--session', 'one'], { cwd, typed: true });
    for (const session of ['one', 'two']) {
      if (session === 'two') dev.type('/session two');
      await dev.prints(new RegExp(`session ${session} is answering a message: here is its turn`));
      const read = { out: dev.stdout.length, err: dev.stderr.length };
      dev.type('/approve');
      await expect.poll(() => dev?.stdout.slice(read.out)).toContain('cashier  It is done.');
      await expect.poll(() => dev?.stderr.slice(read.err)).toMatch(/2 model calls/);
    }
    dev.endOfInput();
    expect((await dev.finished()).code).toBe(0);
  } finally {
    if (dev?.isOver === false) dev.kill('SIGTERM');
    await dev?.finished();
    await project.remove();
  }
});
