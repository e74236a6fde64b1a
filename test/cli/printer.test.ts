import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { printItem } from '../../src/cli/print-item.ts';
import { terminalPrinter } from '../../src/cli/printer.ts';
import type { StreamItem } from '../../src/client/stream-item.ts';
import type { Part } from '../../src/events/content.ts';
import { createEvent } from '../../src/events/event.ts';

/** A terminal, or a file, that shows what was written to it, whichever stream it came by. */
function shownBy(isTTY: boolean) {
  let shown = '';
  const stream = () => {
    const sink = new PassThrough();
    sink.on('data', (chunk) => {
      shown += String(chunk);
    });
    return Object.assign(sink, { isTTY, fd: 1 }) as unknown as NodeJS.WriteStream;
  };
  const printer = terminalPrinter(stream(), stream());
  return {
    print: (...items: StreamItem[]) => {
      for (const item of items) printItem(printer, item);
      return stripVTControlCharacters(shown);
    },
    note: (line: string) => printer.note(line),
    outcome: (...ended: Parameters<typeof printer.outcome>) => {
      printer.outcome(...ended);
      return shown;
    },
  };
}

const PLACE = { runKey: 'e-1', step: 1 };

function text(said: string, index: number, more: { attempt?: number; thought?: true } = {}): StreamItem {
  return { type: 'text', ...PLACE, agent: 'support', attempt: 1, index, text: said, ...more };
}

function answer(parts: Part[], step = 1): StreamItem {
  const event = createEvent({ invocationId: 'e-1', author: 'support', content: { role: 'model', parts } });
  return { type: 'event', seq: 2, kind: 'model', runKey: 'e-1', step, event };
}

describe('the answer on a terminal', () => {
  test('is written as it comes, and not a second time [stream.text]', () => {
    const { print } = shownBy(true);
    expect(print(text('Hello', 0))).toBe('support  Hello');
    expect(print(text(' there,\nA', 1))).toBe('support  Hello there,\nA');
    expect(print(text('da', 2), answer([{ text: 'Hello there,\n' }, { text: 'Ada.' }]))).toBe(
      'support  Hello there,\nAda.\n',
    );
    expect(print(answer([{ text: 'More.' }], 2))).toBe('support  Hello there,\nAda.\nsupport  More.\n');
  });

  test('is followed by its calls, and goes on behind what comes between [stream.text]', () => {
    const { print, note } = shownBy(true);
    print(text('I think', 0, { thought: true }), text('One', 1));
    note('a remark');
    const event = answer([{ text: 'One two' }, { functionCall: { name: 'look_up', args: { id: 1 } } }]);
    expect(print(text(' two', 2), event)).toBe(
      'support  One\na remark\nsupport   two\nsupport  → look_up({"id":1})\n',
    );
  });

  test('that was dropped is said to be, and begins anew [stream.retry]', () => {
    const { print } = shownBy(true);
    const dropped: StreamItem = { type: 'text dropped', ...PLACE, attempt: 2 };
    expect(
      print(text('Never', 0), dropped, text('This ', 0, { attempt: 2 }), answer([{ text: 'This one.' }])),
    ).toBe('support  Never\n(this answer was dropped)\nsupport  This one.\n');
    expect(shownBy(true).print(dropped, answer([{ text: 'One.' }]))).toBe('support  One.\n');
  });

  test('of which text was missed, or came otherwise, is written whole by its event [stream.text]', () => {
    const missed = shownBy(true);
    expect(missed.print(text('b', 1), text('c', 2), answer([{ text: 'abc' }]))).toBe('support  abc\n');
    const begun = shownBy(true);
    expect(begun.print(text('a', 0), text('c', 2), answer([{ text: 'abc' }]))).toBe('support  abc\n');
    const other = shownBy(true);
    expect(other.print(text('xyz', 0), answer([{ text: 'abc' }]))).toBe('support  xyz\nsupport  abc\n');
  });

  test('in a file is what its event says [stream.text]', () => {
    const dropped: StreamItem = { type: 'text dropped', ...PLACE, attempt: 2 };
    expect(shownBy(false).print(text('Never', 0), dropped, answer([{ text: 'This one.' }]))).toBe(
      'support  This one.\n',
    );
  });

  test('moves no cursor and changes no title [stream.text]', () => {
    const { print } = shownBy(true);
    const shown = print(
      text('\u001b]0;title\u0007a\u0008b', 0),
      answer([{ text: '\u001b]0;title\u0007a\u0008b' }]),
    );
    expect(shown).toBe('support  a\ufffdb\n');
  });

  test('neither does why a turn failed, and the session is named as a shell reads it [stream.text]', () => {
    const failed = {
      status: 'failed' as const,
      error: { code: 'HOLDFAST_X', message: 'refused: \u001b]0;title\u0007\u001b[2Jno\u009b31m' },
      usage: { modelCalls: 1, promptTokens: 0, outputTokens: 0, totalTokens: 0 },
    };
    const named = { app: 'shop', userId: "o'hara", sessionId: 'two words\u001b[2J' };
    const ended = { ...failed, v: 1 as const, invocationId: 'e-1', events: { from: 1, to: 2 } };
    const shown = shownBy(false).outcome(ended, named);
    expect(shown).toContain('HOLDFAST_X: refused: no');
    expect(shown).toContain(`--app shop --user 'o'\\''hara' --session 'two words'`);
    expect(stripVTControlCharacters(shown)).toBe(shown);
  });
});
