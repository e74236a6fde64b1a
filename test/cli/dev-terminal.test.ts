import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { type ChatInput, terminalInput } from '../../src/cli/dev/chat-input.ts';
import { Screen } from '../../src/cli/dev/screen.ts';

const ESCAPE = '\u001b';
/** One character, or one order to the terminal. */
const PIECES = new RegExp(`${ESCAPE}\\[[\\d;]*[A-Za-z]|[^${ESCAPE}]`, 'gs');

// Node edits no lines at a terminal that is called dumb.
beforeEach(() => {
  vi.stubEnv('TERM', 'xterm');
  return () => vi.unstubAllEnvs();
});

/** What a terminal of 40 columns shows: lines, as far as this program's output moves about in them. */
class Terminal extends PassThrough {
  readonly isTTY = true;
  readonly columns = 40;
  #rows = [''];
  #row = 0;
  #column = 0;

  override write(chunk: unknown): boolean {
    for (const [text] of String(chunk).matchAll(PIECES)) this.#take(text);
    return true;
  }

  get lines(): string[] {
    return this.#rows.map((row) => row.trimEnd());
  }

  #take(text: string): void {
    const row = this.#rows[this.#row] ?? '';
    const count = Number(/\d+/.exec(text)?.[0] ?? 1);
    if (text === '\n') this.#to(this.#row + 1);
    else if (text === '\r') this.#column = 0;
    else if (text.endsWith('G') && text.length > 1) this.#column = count - 1;
    else if (text.endsWith('A') && text.length > 1) this.#to(this.#row - count);
    else if (text === `${ESCAPE}[0J` || text === `${ESCAPE}[J`) {
      this.#rows = [...this.#rows.slice(0, this.#row), row.slice(0, this.#column)];
    } else if (!text.startsWith(ESCAPE)) {
      this.#rows[this.#row] =
        row.slice(0, this.#column).padEnd(this.#column) + text + row.slice(this.#column + 1);
      this.#column += 1;
    }
  }

  #to(row: number): void {
    this.#row = row;
    if (this.#rows[row] === undefined) this.#rows.push('');
    if (row === this.#rows.length - 1) this.#column = 0;
  }
}

function chat() {
  const keys = Object.assign(new PassThrough(), { isTTY: true });
  const terminal = new Terminal();
  const out = terminal as unknown as NodeJS.WriteStream;
  const screen = new Screen(out, out);
  const lines: string[] = [];
  const saved: string[][] = [];
  let interrupts = 0;
  const input: ChatInput = terminalInput(
    screen,
    { lines: ['an older line'], save: (all) => saved.push([...all]) },
    {
      line: (line) => lines.push(line),
      interrupt: () => {
        interrupts += 1;
      },
      end: () => undefined,
      complete: (line) =>
        ['/help', '/history'].some((word) => word.startsWith(line)) ? [['/help'], line] : [[], line],
    },
    keys as unknown as NodeJS.ReadStream,
    out,
  );
  onTestFinished(() => input.close());
  return {
    screen,
    input,
    lines,
    saved,
    shown: () => terminal.lines,
    interrupts: () => interrupts,
    async press(text: string) {
      for (const key of text) {
        const heard = once(keys, 'keypress');
        keys.write(key);
        await heard;
        await new Promise((taken) => setImmediate(taken));
      }
    },
  };
}

test('what comes while a person types at the prompt stands above it [cli.dev]', async () => {
  const { screen, press, shown, lines, saved } = chat();
  await press('hel');
  screen.note('↻ reloaded');
  expect(shown()).toEqual(['↻ reloaded', '› hel']);
  await press('lo\r');
  expect(lines).toEqual(['hello']);
  expect(saved.at(-1)).toEqual(['hello', 'an older line']);
  expect(shown()).toEqual(['↻ reloaded', '› hello', '›']);
});

test('text streams without a prompt; it waits while a line is typed, and goes on behind it [cli.dev]', async () => {
  const { screen, input, press, shown, lines } = chat();
  await press('go\r');
  input.busy(true);
  screen.text('The answer ');
  screen.text('is long');
  expect(shown()).toEqual(['› go', 'The answer is long']);
  await press('and');
  screen.text(', and goes on');
  expect(shown()).toEqual(['› go', 'The answer is long', '› and']);
  await press(' now\r');
  expect(lines).toEqual(['go', 'and now']);
  screen.text('.');
  expect(shown()).toEqual(['› go', 'The answer is long', '› and now', ', and goes on.']);
  input.busy(false);
  expect(shown()).toEqual(['› go', 'The answer is long', '› and now', ', and goes on.', '›']);
});

test('a line that is taken back lets the text go on at once [cli.dev]', async () => {
  const { screen, input, press, shown, lines } = chat();
  input.busy(true);
  screen.line('one');
  await press('a');
  screen.line('two');
  expect(shown()).toEqual(['one', '› a']);
  await press('\x7f');
  expect(shown()).toEqual(['one', 'two', '']);
  expect(lines).toEqual([]);
});

test('a line that is being typed when the turn ends is the next one [cli.dev]', async () => {
  const { screen, input, press, shown, lines } = chat();
  input.busy(true);
  screen.line('one');
  await press('thanks');
  screen.line('two');
  input.busy(false);
  expect(shown()).toEqual(['one', 'two', '› thanks']);
  await press('!\r');
  expect(lines).toEqual(['thanks!']);
});

test('Ctrl-C takes a typed line back, and interrupts where there is none; tab completes [cli.dev]', async () => {
  const { press, shown, interrupts, lines } = chat();
  await press('draft\x03');
  expect([interrupts(), shown()]).toEqual([0, ['›']]);
  await press('\x03');
  expect(interrupts()).toBe(1);
  await press('/h\t\r');
  expect(lines).toEqual(['/help']);
});
