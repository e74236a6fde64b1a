import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import { Language, Outcome } from '@google/genai';
import { describe, expect, test } from 'vitest';
import { Screen } from '../../src/cli/dev/screen.ts';
import { TurnText } from '../../src/cli/dev/turn-text.ts';
import { jsonPrinter, terminalPrinter } from '../../src/cli/run/printer.ts';
import { printItem } from '../../src/cli/run/run-turn.ts';
import type { StreamItem } from '../../src/client/stream/stream-item.ts';
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

/** The same for the chat of `holdfast dev`. */
function chat() {
  let shown = '';
  const sink = new PassThrough();
  sink.on('data', (chunk) => {
    shown += String(chunk);
  });
  const stream = Object.assign(sink, { isTTY: true, fd: 1 }) as unknown as NodeJS.WriteStream;
  const turn = new TurnText(new Screen(stream, stream));
  return (...items: StreamItem[]) => {
    for (const item of items) turn.item(item);
    return stripVTControlCharacters(shown);
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

function said(kind: 'callback' | 'responses', parts: Part[]): StreamItem {
  const event = createEvent({ invocationId: 'e-1', author: 'support', content: { role: 'model', parts } });
  return { type: 'event', seq: 1, kind, ...PLACE, event };
}

const CALL = { runKey: 'e-1', callKey: 'e-1.1.0', tool: 'watch' };

function chunk(content: unknown, index: number, more: { callKey?: string; error?: string } = {}): StreamItem {
  return { type: 'tool chunk', ...CALL, attempt: 1, index, content, ...more };
}

const settled: StreamItem = { type: 'call finished', ...CALL, failed: false };

describe('what a streaming tool yields', () => {
  test('is written beneath its call as it comes, line by line [tool.streaming]', () => {
    const { print } = shownBy(true);
    print({ type: 'call started', ...CALL, attempt: 1 }, chunk('one', 0), chunk(' line\ntwo', 1));
    expect(print(chunk({ done: 2 }, 2), chunk('three', 3, { error: 'slow' }), settled)).toBe(
      [
        '  watch 1.0 started',
        '    watch │ one line',
        '    watch │ two',
        '    watch │ {"done":2}',
        '    watch │ three',
        '    watch │ error: slow',
        '  watch 1.0 finished',
        '',
      ].join('\n'),
    );
  });

  test('is told apart by call, and from the answer that is being written [tool.streaming]', () => {
    const { print } = shownBy(true);
    const other = { callKey: 'e-1.1.1' };
    expect(print(text('I look', 0), chunk('a', 0), chunk('b', 0, other), chunk('c', 1), text('.', 1))).toBe(
      'support  I look\n    watch │ a\n    watch │ b\n    watch │ c\nsupport  .',
    );
  });

  test('says where something is missing, and what was dropped [tool.streaming]', () => {
    const { print } = shownBy(true);
    const dropped: StreamItem = {
      type: 'tool chunks dropped',
      runKey: 'e-1',
      callKey: CALL.callKey,
      attempt: 2,
    };
    expect(print(chunk('a', 0), chunk('c', 2), dropped, dropped)).toBe(
      '    watch │ a\n    watch │ …\n    watch │ c\n    watch │ (what came of this call was dropped)\n',
    );
  });

  test('moves no cursor and changes no title [tool.streaming]', () => {
    const { print } = shownBy(true);
    const evil = '\u001b]0;title\u0007\u001b[2Jx\u0008';
    const shown = print(chunk(evil, 0), chunk({ [evil]: evil }, 1), settled);
    expect(['\u0007', '\u0008', '\u001b'].filter((control) => shown.includes(control))).toEqual([]);
  });

  test('with --json is a line of its own, with a type, which events don’t have [tool.streaming]', () => {
    const out = new PassThrough();
    const printer = jsonPrinter(out as unknown as NodeJS.WriteStream, new PassThrough() as never);
    const items = [chunk('a\nb', 0), answer([{ text: 'done' }])];
    for (const item of items) printItem(printer, item);
    const lines = String(out.read())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toEqual([items[0], expect.objectContaining({ author: 'support' })]);
    expect(lines[1]).not.toHaveProperty('type');
  });
});

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
    expect(shown).toBe(`${String.raw`support  \u001b]0;title\u0007a\u0008b`}\n`);
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
    expect(shown).toContain(String.raw`HOLDFAST_X: refused: \u001b]0;title\u0007\u001b[2Jno\u009b31m`);
    expect(shown).toContain(`--app shop --user 'o'\\''hara' --session 'two words\\u001b[2J'`);
    expect(stripVTControlCharacters(shown)).toBe(shown);
  });
});

test('code that a model has written is shown, and what it came to [cli.run]', () => {
  const code = answer([
    { text: 'Let me see.' },
    { executableCode: { language: Language.PYTHON, code: 'print(1)\n' } },
  ]);
  const result = said('responses', [{ codeExecutionResult: { outcome: Outcome.OUTCOME_OK, output: '1' } }]);
  expect(shownBy(true).print(code, result)).toBe(
    'support  Let me see.\nsupport  → PYTHON "print(1)\\n"\nsupport  ← OUTCOME_OK "1"\n',
  );
  expect(chat()(code, result)).toBe('support  Let me see.\n  → PYTHON "print(1)\\n"\n  ← OUTCOME_OK "1"\n');
});

test('what a callback says is shown, and the text beside it once [cli.run]', () => {
  const items = [
    text('On its way.', 0),
    said('callback', [{ text: 'Checked.' }]),
    answer([{ text: 'On its way.' }]),
  ];
  const shown = 'support  On its way.\nsupport  Checked.\n';
  expect(shownBy(true).print(...items)).toBe(shown);
  expect(chat()(...items)).toBe(shown);
});

test('a plan is shown when it changes, and nothing in it reaches the terminal [plan.shown]', () => {
  const event = createEvent({
    invocationId: 'e-1',
    author: 'support',
    content: { role: 'user', parts: [{ functionResponse: { name: 'update_plan', response: { steps: 2 } } }] },
  });
  event.actions.stateDelta = {
    plan_of_support: [
      { text: 'look', status: 'done' },
      { text: 'write\u001b[2J', status: 'in_progress' },
    ],
    other: 1,
  };
  const item: StreamItem = { type: 'event', seq: 1, kind: 'responses', ...PLACE, event };
  const lines = ['  support  ☑ look', String.raw`  support  ▸ write\u001b[2J`, ''].join('\n');
  expect(shownBy(true).print(item)).toContain(lines);
  expect(chat()(item)).toContain(lines);
});
