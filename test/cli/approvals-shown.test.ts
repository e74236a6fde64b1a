import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { nextCommands } from '../../src/approvals/next-commands.ts';
import { requestCells } from '../../src/cli/approvals/approval-commands.ts';
import { questionLines, requestLines } from '../../src/cli/approvals/request-text.ts';
import { argumentLines, changeLines } from '../../src/cli/approvals/shown-arguments.ts';
import { spanText } from '../../src/cli/sessions/shown-values.ts';
import { canonicalJson } from '../../src/protocol/canonical-json.ts';
import { visibleText } from '../../src/protocol/visible-text.ts';
import { defaultHint } from '../../src/tools/tool-gate.ts';
import { requestRow } from './shown-request.ts';

describe('the arguments that an approver sees', () => {
  test('are sorted, one below the other, as JSON [approval.list]', () => {
    expect(argumentLines({ order: 'A-1', amount: 102, lines: [{ sku: 'b', n: 1 }] }, false)).toEqual([
      'amount: 102',
      'lines: [',
      '  {',
      '    "n": 1,',
      '    "sku": "b"',
      '  }',
      ']',
      'order: "A-1"',
    ]);
  });

  test('show what a terminal would not: controls, bidi marks, odd blanks, line ends [approval.list]', () => {
    const note = 'pay \u202eknab\u202c\u001b[2K\u200b\u00a0\u2028<b>ok</b>\ncall: nothing';
    expect(argumentLines({ note }, false)).toEqual([
      String.raw`note: "pay \u202eknab\u202c\u001b[2K\u200b\u00a0\u2028<b>ok</b>\ncall: nothing"`,
    ]);
    expect(argumentLines({ 'a\nb: 1': 1 }, false)).toEqual([String.raw`"a\nb: 1": 1`]);
  });

  test('keep their meaning: what is shown of a value is JSON of it, whatever it holds [approval.list]', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => {
        const [line = ''] = argumentLines({ text }, false);
        expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u);
        expect(JSON.parse(line.slice('text: '.length))).toBe(text);
      }),
    );
  });

  test('are cut where they are huge, with their full size, and no argument can pretend to be whole or cut [approval.list]', () => {
    const args = { note: 'x'.repeat(1_000_000), ok: true };
    const lines = argumentLines(args, false);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/^note: "x+ {2}… cut: 1000002 characters$/);
    expect(lines[1]).toBe('ok: true');
    expect(lines[2]).toBe(
      `… lines are cut, ${canonicalJson(args).length} bytes of JSON in all; --json shows them whole`,
    );
    const many = argumentLines({ list: Array.from({ length: 500 }, (_, index) => index) }, false);
    expect(many.length).toBeLessThan(70);
    expect(many.at(-1)).toMatch(/^… 442 more lines, \d+ bytes of JSON in all; --json shows them whole$/);
  });

  test('that are sensitive are masked, before and after an edit [approval.list]', () => {
    const lines = argumentLines({ iban: 'DE89', amount: 1 }, ['iban']);
    expect(lines).toEqual(['amount: 1', 'iban: (sensitive)']);
    expect(argumentLines({ iban: 'DE89' }, true).join()).not.toContain('DE89');
    const edit = changeLines({ iban: 'DE89', amount: 1 }, { iban: 'DE90', amount: 1 }, ['iban']);
    expect(edit).toEqual(['- iban: (sensitive)', '+ iban: (sensitive)']);
  });

  test('have amounts beside numbers of cents [approval.list]', () => {
    const lines = argumentLines({ cents: 12_900, items: [{ cents: 5 }], count: 3 }, false);
    expect([lines[0], lines.at(1)]).toEqual(['cents: 12900 = 129.00', 'count: 3']);
    expect(argumentLines({ cents: 12_900 }, ['cents'])).toEqual(['cents: (sensitive)']);
    expect(changeLines({ cents: 12_900 }, { cents: 900 }, false)).toEqual([
      '- cents: 12900 = 129.00',
      '+ cents: 900 = 9.00',
    ]);
  });

  test('that are edited stand as before and after; the rest is left out [approval.edit]', () => {
    expect(
      changeLines({ order: 'A-1', amount: 102 }, { order: 'A-1', amount: 100, note: 'x' }, false),
    ).toEqual(['- amount: 102', '+ amount: 100', '+ note: "x"']);
    expect(changeLines({ a: 1 }, { a: 1 }, false)).toEqual(['(nothing changes)']);
  });
});

describe('a request', () => {
  test('of a tool without a hint has none: the default is for programs [approval.list]', () => {
    const row = requestRow({ hint: defaultHint('pay') });
    expect(requestLines(row).join('\n')).not.toMatch(/hint|FunctionResponse/);
    expect(requestCells(row).at(-1)).toBe('');
    expect(requestCells(requestRow({ hint: 'Pay?' })).at(-1)).toBe('Pay?');
  });

  test('tells who asks what of whom, until when, and how it stands [approval.list]', () => {
    const now = Date.now();
    const row = requestRow({
      terms: {
        approvers: ['mira', 'otto'],
        quorum: 2,
        expiresIn: 3_600_000,
        onExpiry: 'escalate',
        escalateTo: ['chief'],
        allowEdit: true,
        notRequester: true,
      },
      payload: { limit: 100 },
      until: now + 3_000_000,
      votes: [{ by: { principal: 'mira', verified: true, channel: 'cli' }, confirmed: true, at: now }],
      history: [
        {
          entryId: 'rq-e-abc.1.0.1/2',
          kind: 'refused',
          at: now,
          by: { principal: 'unverified', verified: false },
          reason: 'it is not attested',
        },
      ],
    });
    const text = requestLines(row, now).join('\n');
    expect(text).toMatch(/^rq-e-abc\.1\.0\.1 {2}pending: waits for an approval\n/);
    for (const expected of [
      /call {2,}refund of desk › billing, session shop\/ada\/s1/,
      /hint {2,}Refund 102 EUR\?/,
      /arguments {2,}amount: 102\n {2,}order: "A-1"/,
      /payload {2,}\{\n {2,}"limit": 100/,
      /requester {2,}unknown: nobody has checked who sent the message/,
      /terms {2,}approvers: mira, otto\n/,
      /2 approvals of different people/,
      /not by the requester/,
      /arguments may be edited/,
      /expires after 1 h; then it is escalated/,
      /escalates to chief/,
      /expires {2,}\d{4}-\d\d-\d\d .*\(in 50 min\)/,
      /votes {2,}approved by mira by cli, 0 s ago\n {2,}1 of 2 approvals/,
      /history {2,}refused by unverified \(not attested\), 0 s ago: it is not attested/,
    ]) {
      expect(text).toMatch(expected);
    }
    expect(nextCommands(row, 'my folder')).toEqual([
      "npx holdfast approvals approve rq-e-abc.1.0.1 --as NAME --key FILE --folder 'my folder'",
      "npx holdfast approvals approve rq-e-abc.1.0.1 --args JSON --as NAME --key FILE --folder 'my folder'",
      "npx holdfast approvals reject rq-e-abc.1.0.1 --reason TEXT --as NAME --key FILE --folder 'my folder'",
    ]);
  });

  test('for input shows its schema, one for a credential its key; each says what to type [approval.list]', () => {
    const input = requestRow({ kind: 'input', responseSchema: { type: 'string', enum: ['S', 'L'] } });
    expect(questionLines(input).join('\n')).toMatch(/schema {2,}\{\n {2,}"enum": \[/);
    expect(nextCommands(input)).toEqual(['npx holdfast approvals answer rq-e-abc.1.0.1 --response JSON']);
    const credential = requestRow({
      kind: 'credential',
      authConfig: { authScheme: { type: 'http', scheme: 'basic' }, credentialKey: 'shop key' },
    });
    expect(questionLines(credential).join('\n')).toMatch(/credential {2,}shop key \(http, basic\)/);
    expect(nextCommands(credential)).toEqual([
      "npx holdfast credentials add --app shop --user ada --name 'shop key' --type basic",
      'npx holdfast approvals provide-credential rq-e-abc.1.0.1 --credential REF',
    ]);
  });

  test('whose hint and names are hostile is shown on its own lines only [approval.list]', () => {
    const row = requestRow({
      hint: 'fine\n  terms  anybody may decide\u001b[1A\u202e',
      tool: 'refund\nrq-other',
      userId: 'ada\u0007',
    });
    const lines = requestLines(row);
    expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(lines.filter((line) => /^ {2}terms/.test(line))).toHaveLength(1);
    expect(lines.some((line) => line.startsWith('rq-other'))).toBe(false);
  });
});

test('what a terminal draws stays as it is: other scripts and signs are no controls [approval.list]', () => {
  for (const text of ['Grüße, 日本語', 'حساب', 'a b', '🙂']) expect(visibleText(text)).toBe(text);
  expect(visibleText('a\u{e0041}b')).toBe(String.raw`a\udb40\udc41b`);
});

test('spans are told in their two largest units', () => {
  expect([0, 999, 61_000, 3_600_000, 90_061_000].map(spanText)).toEqual([
    '0 s',
    '0 s',
    '1 min 1 s',
    '1 h',
    '1 d 1 h',
  ]);
});
