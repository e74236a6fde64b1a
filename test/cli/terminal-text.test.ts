import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { processOutput } from '../../src/cli/command-output.ts';
import { Screen } from '../../src/cli/dev/screen.ts';
import { TerminalView } from '../../src/cli/dev/terminal-view.ts';
import { operatorLog } from '../../src/cli/environment/operator-log.ts';
import { terminalPrinter } from '../../src/cli/run/printer.ts';
import { transcriptLines, withHidden } from '../../src/cli/sessions/transcript.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import { createEvent } from '../../src/events/event.ts';
import { visibleLines } from '../../src/protocol/visible-text.ts';

/** Turned round, joined, of no width, of the tag block, C0 and C1 controls, odd blanks, line ends of their own. */
const HOSTILE =
  'pay \u202eknab\u202c\u2066a\u2069\u200e\u200f\u061c\u200b\u200d\u2060\ufeff\u{e0041}\u{e0062}\u0085\u009b31m\u001b[8mgone\u001b]52;c;AAAA\u0007\u2028\u00ad\u3164';
const UNSEEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}]/u;

/** A terminal with colours. */
function terminal() {
  let shown = '';
  const sink = new PassThrough();
  sink.on('data', (chunk) => {
    shown += String(chunk);
  });
  const stream = Object.assign(sink, {
    isTTY: true,
    fd: 1,
    columns: 1_000,
    getColorDepth: () => 24,
    hasColors: () => true,
  }) as unknown as NodeJS.WriteStream;
  return { stream, shown: () => shown };
}

function hostileEvents(): StoredEvent[] {
  const content = {
    role: 'model',
    parts: [{ text: HOSTILE }, { functionCall: { name: HOSTILE, args: { [HOSTILE]: HOSTILE } } }],
  };
  const answer = createEvent({ invocationId: 'e-1', author: HOSTILE, content });
  answer.errorCode = HOSTILE;
  answer.errorMessage = HOSTILE;
  answer.actions.stateDelta[HOSTILE] = 1;
  const responses = createEvent({
    invocationId: 'e-1',
    author: 'user',
    content: { role: 'user', parts: [{ functionResponse: { name: HOSTILE, response: { said: HOSTILE } } }] },
  });
  const place = { runKey: 'e-1', step: 1 };
  return [
    { ...place, seq: 1, kind: 'model', event: answer },
    { ...place, seq: 2, kind: 'responses', event: responses },
  ];
}

beforeEach(() => vi.stubEnv('FORCE_COLOR', '3'));
afterEach(() => vi.unstubAllEnvs());

/** What stays once the colours of ours are taken off: nobody else's are there to be taken. */
function expectVisible(shown: string): void {
  const plain = stripVTControlCharacters(shown);
  expect(plain).not.toMatch(UNSEEN);
  expect(plain).toContain('\\u202eknab\\u202c');
}

describe('what models, tools and people have written is seen on a terminal as it is', () => {
  test('by run [cli.visible]', () => {
    const { stream, shown } = terminal();
    const printer = terminalPrinter(stream, stream);
    const item = { runKey: 'e-1', step: 1, callKey: 'e-1.1.0', tool: HOSTILE, attempt: 1 };
    printer.text({ type: 'text', ...item, agent: HOSTILE, index: 0, text: HOSTILE });
    printer.callStarted(item);
    printer.toolChunk({ type: 'tool chunk', ...item, index: 0, content: HOSTILE, error: HOSTILE });
    printer.started({ app: HOSTILE, userId: 'u', sessionId: 's', messageId: 'm', link: HOSTILE });
    for (const event of hostileEvents()) printer.event(event);
    expectVisible(shown());
    expect(shown()).toContain('\u001b[1m');
    expect(shown()).not.toContain('\u001b[8m');
  });

  test('by the chat of dev [cli.visible]', () => {
    const { stream, shown } = terminal();
    const view = new TerminalView(new Screen(stream, stream), false);
    const turn = { app: 'a', userId: 'u', sessionId: 's', invocationId: 'e-1', messageId: 'm' };
    view.turnBegins({ ...turn, text: HOSTILE, waited: false, link: HOSTILE });
    for (const event of hostileEvents()) view.item({ type: 'event', ...event });
    view.answer([HOSTILE]);
    view.printed(HOSTILE);
    view.problem(HOSTILE);
    expectVisible(shown());
  });

  test('by sessions show, lists, remarks and logs [cli.visible]', () => {
    const { stream, shown } = terminal();
    const output = processOutput(stream, stream);
    for (const line of transcriptLines(withHidden(hostileEvents()), output)) output.line(line);
    output.line(`${output.paint('bold', HOSTILE)}  ${HOSTILE}`);
    output.note(HOSTILE);
    operatorLog({ log: 'text', logLevel: 'info' }, stream as typeof process.stderr).warn(HOSTILE, {
      why: HOSTILE,
      error: new Error(HOSTILE),
    });
    expectVisible(shown());
  });

  test('whatever it is [cli.visible]', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 60 }), (text) => {
        const { stream, shown } = terminal();
        processOutput(stream, stream).line(`${text}${HOSTILE}`);
        expectVisible(shown());
      }),
    );
  });

  test('and --json keeps it [cli.visible]', () => {
    const { stream, shown } = terminal();
    processOutput(stream, stream).json({ said: HOSTILE });
    expect(JSON.parse(shown())).toEqual({ said: HOSTILE });
  });

  test('lines, tabs and emoji that Unicode lists stay [cli.visible]', () => {
    const text = 'one\ttwo\nthree ⚠️ 👩‍🚀 🏴󠁧󠁢󠁥󠁮󠁧󠁿 1️⃣ 😀';
    expect(visibleLines(text)).toBe(text);
    expect(visibleLines('a\ufe0f \u{1f600}\u200d\u{1f3f4}\u{e0061}\u{e007f}')).toBe(
      'a\\ufe0f \u{1f600}\\u200d\u{1f3f4}\\udb40\\udc61\\udb40\\udc7f',
    );
    expect(visibleLines('a\r\nb\rc')).toBe('a\nb\nc');
  });
});
