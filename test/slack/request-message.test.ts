import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ACTIONS, type AskedRequest, endedMessage, pendingMessage } from '../../src/slack/request-message.ts';
import { slackLines, slackText } from '../../src/slack/slack-text.ts';
import { blockProblems } from '../../src/testing/slack-block-check.ts';
import { inTier } from '../setup/tier.ts';

const HOSTILE = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.constantFrom(
    '<!channel>',
    '<!here|here>',
    '<@U0MIRA0001>',
    '<https://evil.example|Approved by mira>',
    '&lt;!channel&gt;',
    '*bold* _it_ ~gone~ `code` ```block```',
    '\u202Eevorppa\u202C',
    'a\u200Bb\uFEFFc\u2066d',
    'line\nApproved by mira\r\nline',
    '\uD800 lone',
    '😀'.repeat(900),
    '&'.repeat(5_000),
    '<'.repeat(3_000),
    'x'.repeat(20_000),
    '',
  ),
);

const REQUEST: fc.Arbitrary<AskedRequest> = fc.record(
  {
    requestId: fc.stringMatching(/^[\w.-]{1,80}$/),
    kind: fc.constantFrom('confirmation', 'input', 'credential'),
    app: HOSTILE,
    userId: HOSTILE,
    sessionId: HOSTILE,
    agent: HOSTILE,
    path: fc.array(HOSTILE, { maxLength: 30 }),
    tool: HOSTILE.filter((name) => name !== ''),
    hint: HOSTILE,
    args: fc.dictionary(
      HOSTILE,
      fc.oneof(HOSTILE, fc.jsonValue(), fc.array(HOSTILE), fc.dictionary(HOSTILE, HOSTILE)),
      { maxKeys: 60 },
    ),
    terms: fc.record({ quorum: fc.integer({ min: 1, max: 20 }), allowEdit: fc.boolean() }),
    requester: HOSTILE,
    until: fc.integer({ min: 0, max: 4e12 }),
    votes: fc.array(
      fc.record({ by: fc.record({ principal: HOSTILE, verified: fc.boolean() }), confirmed: fc.boolean() }),
      { maxLength: 30 },
    ),
  },
  {
    requiredKeys: [
      'requestId',
      'kind',
      'app',
      'userId',
      'sessionId',
      'agent',
      'path',
      'tool',
      'hint',
      'args',
      'terms',
    ],
  },
);

/** Each text that Slack draws, by its kind. */
function textsOf(value: unknown): { type: string; text: string }[] {
  if (Array.isArray(value)) return value.flatMap(textsOf);
  if (typeof value !== 'object' || value === null) return [];
  const own = 'text' in value && typeof value.text === 'string' && 'type' in value ? [value] : [];
  return [...(own as { type: string; text: string }[]), ...Object.values(value).flatMap(textsOf)];
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Default_Ignorable_Code_Point}]/u;
const ENTITY_OR_NONE = /^(?:[^&<>]|&amp;|&lt;|&gt;)*$/u;

describe('messages of requests', () => {
  test('keep within Slack’s limits, and nothing in them is markup, a mention or unseen, whatever models and users wrote [slack.message]', () => {
    fc.assert(
      fc.property(REQUEST, fc.boolean(), HOSTILE, (request, opens, reason) => {
        const outcome = {
          status: 'approved',
          at: 1_700_000_000_000,
          by: [reason, 'mira'],
          reason,
          editedArgs: request.args,
        };
        const drawn = [
          pendingMessage(request, { opens, mentions: ['U0MIRA0001', reason] }),
          endedMessage(request, outcome),
        ];
        for (const { blocks, text } of drawn) {
          expect(blockProblems(blocks, 'message')).toEqual([]);
          expect(text.length).toBeLessThanOrEqual(3_000);
          expect(text).toMatch(ENTITY_OR_NONE);
          expect(text).not.toMatch(UNSEEN);
          for (const each of textsOf(blocks)) {
            if (each.type === 'mrkdwn') {
              // Those whom the configuration names, and nothing that anybody wrote.
              expect(['<@U0MIRA0001>']).toContain(each.text);
              continue;
            }
            expect(each.text).toMatch(ENTITY_OR_NONE);
            expect(each.text).not.toMatch(UNSEEN);
          }
        }
      }),
      { numRuns: inTier(30, 300) },
    );
  });

  test('buttons carry the request’s id alone, and only those that it takes', () => {
    fc.assert(
      fc.property(REQUEST, fc.boolean(), (request, opens) => {
        const { blocks } = pendingMessage(request, { opens });
        const buttons = blocks.flatMap((block) => (block.type === 'actions' ? block.elements : []));
        expect(buttons.every(({ value }) => value === request.requestId)).toBe(true);
        const ids = buttons.map(({ action_id: id }) => id);
        const isConfirmation = request.kind === 'confirmation';
        expect(ids.includes(ACTIONS.approve)).toBe(isConfirmation);
        expect(ids.includes(ACTIONS.reject)).toBe(isConfirmation);
        expect(ids.includes(ACTIONS.edit)).toBe(isConfirmation && request.terms.allowEdit === true);
        expect(ids.includes(ACTIONS.open)).toBe(opens);
      }),
    );
  });

  test('whoever decides is told where not all of the arguments is shown', () => {
    const request: AskedRequest = {
      requestId: 'r1',
      kind: 'confirmation',
      app: 'shop',
      userId: 'ada',
      sessionId: 's1',
      agent: 'refunds',
      path: ['shop', 'refunds'],
      tool: 'refund',
      hint: 'Refund?',
      args: { order: 'FH-12529', amount: 80 },
      terms: {},
    };
    const shown = (args: Record<string, unknown>) =>
      textsOf(pendingMessage({ ...request, args }, { opens: true }).blocks).map(({ text }) => text);
    expect(shown(request.args)).toEqual(
      expect.arrayContaining(['refund waits for an approval', 'order', '"FH-12529"', 'amount', '80']),
    );
    const isTold = (texts: string[]) => texts.some((text) => text.includes('Not all of it fits here'));
    expect(isTold(shown(request.args))).toBe(false);
    expect(isTold(shown({ note: 'x'.repeat(2_000) }))).toBe(true);
    expect(isTold(shown(Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`a${n}`, n]))))).toBe(true);
  });

  test('the longest of everything still fits', () => {
    const long = '<'.repeat(5_000);
    const voter = { by: { principal: long, verified: true }, confirmed: true };
    const request: AskedRequest = {
      ...{
        requestId: 'r1',
        kind: 'confirmation',
        app: long,
        userId: long,
        sessionId: long,
        agent: long,
        tool: long,
      },
      hint: long,
      requester: long,
      path: Array.from({ length: 30 }, () => long),
      args: Object.fromEntries(
        Array.from({ length: 60 }, (_, n) => [`${n}${long}`.slice(0, 150 + n), long.slice(0, 20)]),
      ),
      terms: { quorum: 20, allowEdit: true },
      until: 4e12,
      votes: Array.from({ length: 30 }, () => voter),
    };
    const by = Array.from({ length: 30 }, () => long);
    const outcome = { status: long, by, reason: long, editedArgs: request.args, at: 4e12 };
    expect(blockProblems(pendingMessage(request, { opens: true }).blocks, 'message')).toEqual([]);
    expect(blockProblems(endedMessage(request, outcome).blocks, 'message')).toEqual([]);
  });

  test('text is cut behind whole characters and entities, with its length', () => {
    fc.assert(
      fc.property(HOSTILE, fc.integer({ min: 40, max: 300 }), (text, longest) => {
        for (const shown of [slackText(text, longest), slackLines(text, longest).text]) {
          expect(shown.length).toBeLessThanOrEqual(longest);
          expect(shown).toMatch(ENTITY_OR_NONE);
        }
      }),
    );
    expect(slackText('a < b & c', 40)).toBe('a &lt; b &amp; c');
    expect(slackText('<'.repeat(100), 40)).toBe(`${'&lt;'.repeat(6)}… 100 characters`);
    expect(slackLines('one\ntwo', 40)).toEqual({ text: 'one\ntwo', isCut: false });
  });
});
