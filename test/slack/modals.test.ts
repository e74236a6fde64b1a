import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { InputBlock, ModalView } from '../../src/slack/block-kit.ts';
import {
  editModal,
  editProblems,
  type ModalValues,
  readEdit,
  readReason,
  readSubject,
  rejectModal,
} from '../../src/slack/request-modals.ts';
import { plainMessage } from '../../src/slack/slack-text.ts';
import { sessionOfThread, threadOfSession } from '../../src/slack/thread-session.ts';
import { viewProblems } from '../../src/testing/slack-block-check.ts';

const SUBJECT = { requestId: 'rq-1', channel: 'C0APPROVALS', ts: '1700000000.000001' };
const TEXT = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('<!channel>', '\u202Ex', 'a\nb', '"quoted"', '&amp;', '', ' ', 'x'.repeat(3_001)),
);
const REQUEST = fc.record({
  tool: TEXT,
  args: fc.dictionary(TEXT, fc.oneof(TEXT, fc.jsonValue()), { maxKeys: 80 }),
  sensitive: fc.oneof(fc.boolean(), fc.array(TEXT, { maxLength: 3 })),
});

function inputsOf({ blocks }: ModalView): InputBlock[] {
  return blocks.filter((block) => block.type === 'input');
}

/** As somebody sends it who has touched nothing but what is given. */
function sent(modal: ModalView, changed: Readonly<Record<string, string>> = {}): ModalValues {
  return Object.fromEntries(
    inputsOf(modal).map(({ block_id: id, element }) => {
      const value = changed[id] ?? element.initial_value ?? '';
      return [id, { [element.action_id]: { value: value === '' ? null : value } }];
    }),
  );
}

describe('forms', () => {
  test('keep within Slack’s limits, and one that nobody has touched edits nothing [slack.approve]', () => {
    fc.assert(
      fc.property(REQUEST, (request) => {
        expect(viewProblems(rejectModal(SUBJECT, request))).toEqual([]);
        const modal = editModal(SUBJECT, request);
        if (modal === undefined) return;
        expect(viewProblems(modal)).toEqual([]);
        expect(readSubject(modal.private_metadata)).toEqual(SUBJECT);
        expect(editProblems(sent(modal))).toEqual({});
        expect(readEdit(sent(modal), request)).toBeUndefined();
      }),
    );
  });

  test('what is edited is what was typed; the other arguments stay what they were, and sensitive ones are left out [slack.approve]', () => {
    fc.assert(
      fc.property(REQUEST, fc.string(), fc.nat(), (request, typed, which) => {
        const modal = editModal(SUBJECT, request);
        if (modal === undefined) return;
        const inputs = inputsOf(modal);
        const input = inputs[which % inputs.length];
        if (input === undefined) return;
        const isJson = input.block_id.startsWith('json:');
        const text = isJson ? JSON.stringify(typed) : typed;
        if (text === (input.element.initial_value ?? '')) return;
        const edited = readEdit(sent(modal, { [input.block_id]: text }), request);
        const { sensitive, args } = request;
        const open = Object.keys(args).filter((name) => sensitive === false || !isNamed(sensitive, name));
        expect(Object.keys(edited ?? {}).sort()).toEqual(open.sort());
        const changed = open.filter((name) => JSON.stringify(edited?.[name]) !== JSON.stringify(args[name]));
        expect(changed.length).toBeLessThanOrEqual(1);
        for (const name of changed) expect(edited?.[name]).toBe(typed);
      }),
    );
  });

  test('nothing of sensitive arguments is in them [slack.secret]', () => {
    const request = { tool: 'pay', args: { card: '4111', cents: 5 }, sensitive: ['card'] };
    expect(JSON.stringify(editModal(SUBJECT, request))).not.toMatch(/4111|card/);
    expect(editModal(SUBJECT, { ...request, sensitive: true })).toBeUndefined();
  });

  test('say what is no JSON, and give no reason where none was typed [slack.approve]', () => {
    const modal = editModal(SUBJECT, { tool: 'pay', args: { cents: 5 }, sensitive: false });
    if (modal === undefined) throw new Error('there is no form');
    expect(Object.keys(editProblems(sent(modal, { 'json:0': 'five' })))).toEqual(['json:0']);
    expect(readReason({ reason: { value: { value: ' ' } } })).toBeUndefined();
    expect(readReason({ reason: { value: { value: 'too old' } } })).toBe('too old');
    expect(['', 'null', '[]', '{}', '{"requestId":1}'].map(readSubject)).toEqual(Array(5).fill(undefined));
  });
});

function isNamed(sensitive: boolean | readonly string[], name: string): boolean {
  return typeof sensitive === 'boolean' ? sensitive : sensitive.includes(name);
}

describe('a thread’s session', () => {
  const thread = { team: 'T0HOLDFAST', channel: 'C0GENERAL', ts: '1700000000.000001' };

  test('is known again with any of the secrets, and with no other [slack.thread]', () => {
    const id = sessionOfThread(thread, 'old');
    expect(threadOfSession(id, ['new', 'old'])).toEqual(thread);
    expect(threadOfSession(id, ['new'])).toBeUndefined();
  });

  test('is nobody’s whose name was changed [slack.thread]', () => {
    const id = sessionOfThread(thread, 'secret');
    fc.assert(
      fc.property(fc.nat(id.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, character) => {
        const changed = `${id.slice(0, at)}${character}${id.slice(at + 1)}`;
        if (changed !== id) expect(threadOfSession(changed, ['secret'])).toBeUndefined();
      }),
    );
    for (const other of [
      '',
      'slack:',
      id.slice(0, -1),
      `${id}x`,
      ` ${id}`,
      id.replace('C0GENERAL', 'C0OTHER'),
    ]) {
      expect(threadOfSession(other, ['secret'])).toBeUndefined();
    }
  });
});

test('what people type comes to the agent as they see it [slack.thread]', () => {
  expect(
    [
      'a &lt;b&gt; &amp; c',
      '&amp;lt;',
      'see <https://example.com/x>',
      'see <https://example.com|example.com>',
      'see <https://example.com|here>',
      'mail <mailto:a@example.com|a@example.com>',
      '<@U0MIRA> and <#C0GENERAL|general> and <!here>',
    ].map(plainMessage),
  ).toEqual([
    'a <b> & c',
    '&lt;',
    'see https://example.com/x',
    'see https://example.com',
    'see here (https://example.com)',
    'mail a@example.com',
    '@U0MIRA and #general and @here',
  ]);
});
