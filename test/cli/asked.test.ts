import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { asked } from '../../src/cli/command-output.ts';

/** What somebody answers who presses these keys at a terminal. */
async function answerTo(keys: string): Promise<boolean> {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  const answer = asked('Delete it?', output, input);
  input.write(keys);
  return await answer;
}

test('only a yes is agreement, neither Ctrl-D nor an empty line is [cli.sessions]', async () => {
  expect(await answerTo('yes\r')).toBe(true);
  expect(await answerTo('no\r')).toBe(false);
  expect(await answerTo('\r')).toBe(false);
  expect(await answerTo('\u0004')).toBe(false);
});

test('Ctrl-C ends the command: 130, without a stack [cli.sessions]', async () => {
  await expect(answerTo('\u0003')).rejects.toMatchObject({
    name: 'Interrupted',
    code: 'HOLDFAST_COMMAND_INTERRUPTED',
  });
});
