import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Content, Part } from '../../src/events/content.ts';
import { CallIds } from '../../src/flows/call-ids.ts';
import type { TranscriptEvent } from '../../src/flows/event-visibility.ts';
import { contentsOf as contentsAtOnce, PerspectiveContents } from '../../src/flows/perspective-contents.ts';
import type { Perspective } from '../../src/tools/invocation-context.ts';

const ROOT = { agent: 'root', include: 'default' } as const;

type Draft = Omit<TranscriptEvent, 'seq'>;

const user = (...parts: Part[]): Content => ({ role: 'user', parts });
const model = (...parts: Part[]): Content => ({ role: 'model', parts });
const call = (name: string, id?: string): Part => ({
  functionCall: { name, args: {}, ...(id === undefined ? {} : { id }) },
});
const response = (name: string, value: string, id?: string): Part => ({
  functionResponse: { name, response: { value }, ...(id === undefined ? {} : { id }) },
});
const text = (words: string): Part => ({ text: words });
const image = (data: string): Part => ({ inlineData: { mimeType: 'image/png', data } });

/** Made at once, and grown event by event. */
function contentsOf(all: readonly TranscriptEvent[], perspective: Perspective): Content[] {
  const callIds = new CallIds();
  for (const { seq, event } of all) callIds.note(seq, event.content);
  const contents = new PerspectiveContents(perspective, callIds);
  for (const { seq } of all) contents.extend(all, seq);
  const { list, length } = contents.now;
  const atOnce = contentsAtOnce(all, perspective);
  expect(list.slice(0, length)).toEqual(atOnce);
  return atOnce;
}

function events(...drafts: Draft[]): TranscriptEvent[] {
  return drafts.map((draft, index) => ({ ...draft, seq: index + 1 }));
}
const message = (...parts: Part[]): Draft => draft('message', 'user', 'm', user(...parts));
const said = (...parts: Part[]): Draft => draft('model', 'root', `said ${parts.length}`, model(...parts));
const asked = (run: string, ...parts: Part[]): Draft => draft('model', 'root', run, model(...parts));
const answered = (run: string, ...parts: Part[]): Draft => draft('responses', 'root', run, user(...parts));

function draft(kind: TranscriptEvent['kind'], author: string, runKey: string, content: Content): Draft {
  return { kind, runKey, step: 1, event: { author, content } };
}

const pay = call('pay', 'call-1');
const begun = [
  message(text('pay')),
  asked('a', pay),
  answered('a', response('pay', 'pending', 'call-1')),
  said(text('it is pending')),
];

describe('late responses', () => {
  test('a late response takes the place of the earlier one, and its call stands there, behind what was said since, which ADK leaves out [contents.late]', () => {
    const late = message(response('pay', 'paid', 'call-1'));
    const meanwhile = [message(text('answer in French')), said(text('noted'), text('.'))];
    expect(contentsOf(events(...begun, ...meanwhile, late), ROOT)).toEqual([
      user(text('pay')),
      model(text('it is pending')),
      user(text('answer in French')),
      model(text('noted'), text('.'), pay),
      user(response('pay', 'paid', 'call-1')),
    ]);
  });

  test('where nothing was said since, the call stays where it was, with the words of the message [contents.late]', () => {
    const paused = [message(text('pay')), asked('a', pay)];
    const late = message(response('pay', 'paid', 'call-1'), text('that was it'));
    expect(contentsOf(events(...paused, late), ROOT)).toEqual([
      user(text('pay')),
      model(pay),
      user(response('pay', 'paid', 'call-1'), text('that was it')),
    ]);
  });

  test('the contents stay as they are when more is said [contents.late]', () => {
    const late = message(response('pay', 'paid', 'call-1'));
    const contents = [
      user(text('pay')),
      model(text('it is pending'), pay),
      user(response('pay', 'paid', 'call-1')),
      model(text('it is paid')),
    ];
    expect(contentsOf(events(...begun, late, said(text('it is paid'))), ROOT)).toEqual(contents);
    expect(
      contentsOf(events(...begun, late, said(text('it is paid')), message(text('thanks'))), ROOT),
    ).toEqual([...contents, user(text('thanks'))]);
  });

  test('late responses to the calls of two steps, one after the other, hide nothing [contents.late]', () => {
    const contents = contentsOf(
      events(
        message(text('pay both')),
        asked('a', pay),
        answered('a', response('pay', 'pending', 'call-1')),
        asked('b', call('send', 'call-2')),
        answered('b', response('send', 'pending', 'call-2')),
        message(response('pay', 'paid', 'call-1')),
        said(text('paid')),
        message(response('send', 'sent', 'call-2')),
      ),
      ROOT,
    );
    expect(contents).toEqual([
      user(text('pay both')),
      model(pay),
      user(response('pay', 'paid', 'call-1')),
      model(text('paid'), call('send', 'call-2')),
      user(response('send', 'sent', 'call-2')),
    ]);
  });

  test('of several updates the latest counts; what the user said beside them stays where it was said, which ADK loses [contents.late]', () => {
    const contents = contentsOf(
      events(
        ...begun,
        message(response('pay', 'half', 'call-1'), text('be patient')),
        said(text('I am')),
        message(text('there:'), response('pay', 'paid', 'call-1'), text('that was it')),
      ),
      ROOT,
    );
    expect(contents.slice(1)).toEqual([
      model(text('it is pending')),
      user(text('be patient')),
      model(text('I am'), pay),
      user(response('pay', 'paid', 'call-1'), text('there:'), text('that was it')),
    ]);
  });

  describe('of a job', () => {
    const update = (value: string): Part => ({
      functionResponse: { ...response('pay', value, 'call-1').functionResponse, willContinue: true },
    });
    const outcome = response('pay', 'paid', 'call-1');
    const ordered = [message(text('pay')), asked('a', pay), answered('a', update('ordered'))];
    const told = (...events_: Draft[]) => contentsOf(events(...ordered, ...events_), ROOT);
    const responsesIn = (contents: readonly Content[]) =>
      contents.flatMap(({ parts = [] }) => parts.filter(({ functionResponse }) => functionResponse));

    test('what its tool returned first is replaced by updates, these by each other, all by the outcome; that others follow no model is told [job.updates]', () => {
      const updates = [message(update('a third')), said(text('a third')), message(update('two thirds'))];
      expect(responsesIn(told())).toEqual([response('pay', 'ordered', 'call-1')]);
      expect(responsesIn(told(...updates.slice(0, 1)))).toEqual([response('pay', 'a third', 'call-1')]);
      expect(responsesIn(told(...updates))).toEqual([response('pay', 'two thirds', 'call-1')]);
      expect(told(...updates, message(outcome))).toEqual([
        user(text('pay')),
        model(text('a third'), pay),
        user(outcome),
      ]);
    });

    test('an update behind the outcome is none any more, whatever came between [job.updates]', () => {
      for (const between of [[], [said(text('done'))], [said(text('done')), message(text('thanks'))]]) {
        const contents = told(message(outcome), ...between, message(update('two thirds')));
        expect(responsesIn(contents)).toEqual([outcome]);
      }
      expect(told(message(outcome, update('two thirds'))).at(-1)).toEqual(user(outcome));
    });

    test('outcomes that were put right: the last counts, as ever [contents.late]', () => {
      const other = response('pay', 'paid back', 'call-1');
      expect(responsesIn(told(message(outcome), said(text('done')), message(other)))).toEqual([other]);
    });

    test('in any order of updates and talk one response stands there: the outcome, or the newest update [job.updates]', () => {
      const step = fc.oneof(
        fc.string({ minLength: 1 }).map((value) => ({ update: value })),
        fc.constant({ outcome: true }),
        fc.constant({ talk: true }),
      );
      fc.assert(
        fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
          const said_ = steps.map((each) => {
            if ('update' in each) return message(update(each.update));
            return 'outcome' in each ? message(outcome) : message(text('hello'));
          });
          const newest = steps.findLast((each) => 'update' in each);
          const expected = steps.some((each) => 'outcome' in each)
            ? outcome
            : response(
                'pay',
                newest !== undefined && 'update' in newest ? newest.update : 'ordered',
                'call-1',
              );
          const contents = told(...said_);
          expect(responsesIn(contents)).toEqual([expected]);
          expect(contents.flatMap(({ parts = [] }) => parts.filter((part) => part.functionCall))).toEqual([
            pay,
          ]);
        }),
      );
    });

    test('of another agent each is retold, in the order of events, without what only programs read [contents.others]', () => {
      const other = { agent: 'billing', include: 'default' } as const;
      const all = events(...ordered, message(update('a third')), message(outcome));
      const words = contentsOf(all, other).flatMap(({ parts = [] }) => parts.map((part) => part.text));
      expect(words.filter((line) => line?.includes('returned'))).toEqual(
        ['ordered', 'a third', 'paid'].map(
          (value) => `[root] tool \`pay\` returned result: {"value":"${value}"}`,
        ),
      );
    });
  });

  test("a response to one of several calls stands among its siblings', in call order, each with its own media [contents.late] [contents.pairs]", () => {
    const both = [call('pay', 'adk-1'), call('draw', 'adk-2'), call('send', 'adk-3')];
    const before = events(
      message(text('do all')),
      asked('a', ...both),
      answered(
        'a',
        response('pay', 'pending', 'adk-1'),
        response('draw', 'sketch', 'adk-2'),
        image('sketch'),
        response('send', 'sent', 'adk-3'),
        image('stamp'),
      ),
      message(response('draw', 'done', 'adk-2'), image('drawing'), text('look')),
    );
    expect(contentsOf(before, ROOT).at(-1)).toEqual(
      user(
        response('pay', 'pending'),
        response('draw', 'done'),
        image('drawing'),
        response('send', 'sent'),
        image('stamp'),
        text('look'),
      ),
    );
  });

  test('one message may answer the calls of several events, which fails the request in ADK [contents.late]', () => {
    const answers = [response('send', 'sent', 'call-2'), response('pay', 'paid', 'call-1')];
    for (const late of [answers, answers.toReversed()]) {
      const contents = contentsOf(
        events(
          message(text('pay both')),
          asked('a', pay),
          asked('b', call('send', 'call-2')),
          said(text('waiting')),
          message(...late, text('both are done')),
        ),
        ROOT,
      );
      expect(contents).toEqual([
        user(text('pay both')),
        model(text('waiting'), pay),
        user(response('pay', 'paid', 'call-1')),
        model(call('send', 'call-2')),
        user(response('send', 'sent', 'call-2'), text('both are done')),
      ]);
    }
  });

  test('calls that the turn left to the client get their responses from the message; those that it left out, an error [contents.late] [contents.pairs]', () => {
    const paused = [
      message(text('pay')),
      asked('a', text('I pay'), call('pay', 'adk-1'), call('send', 'adk-2')),
    ];
    expect(contentsOf(events(...paused), ROOT)).toEqual([user(text('pay'))]);
    expect(contentsOf(events(...paused, message(response('send', 'sent', 'adk-2'))), ROOT)).toEqual([
      user(text('pay')),
      model(text('I pay'), call('pay'), call('send')),
      user(
        { functionResponse: { name: 'pay', response: { error: 'the call has no response' } } },
        response('send', 'sent'),
      ),
    ]);
    const both = message(response('send', 'sent', 'adk-2'), response('pay', 'paid', 'adk-1'));
    expect(contentsOf(events(...paused, both), ROOT).at(-1)).toEqual(
      user(response('pay', 'paid'), response('send', 'sent')),
    );
  });

  test("merged responses that come late hide nothing, neither the user's words nor those of other runs: ADK hides both [contents.pairs]", () => {
    const contents = contentsOf(
      events(
        message(text('pay')),
        asked('a', pay),
        message(text('stop')),
        answered('a', response('pay', 'cancelled', 'call-1')),
      ),
      ROOT,
    );
    expect(contents).toEqual([
      user(text('pay')),
      model(pay),
      user(response('pay', 'cancelled', 'call-1')),
      user(text('stop')),
    ]);
  });

  test('merged responses that follow a late one stand with their calls, before it [contents.late]', () => {
    const all = events(
      ...begun,
      asked('b', call('send', 'call-2')),
      message(response('pay', 'paid', 'call-1')),
      answered('b', response('send', 'sent', 'call-2')),
    );
    expect(contentsOf(all, ROOT).slice(1)).toEqual([
      model(text('it is pending'), call('send', 'call-2')),
      user(response('send', 'sent', 'call-2')),
      model(pay),
      user(response('pay', 'paid', 'call-1')),
    ]);
  });

  test('responses that match no call are left out, with or without an id, and so is an empty rest [contents.unmatched]', () => {
    for (const late of [
      message(response('pay', 'paid', 'unheard')),
      message(response('pay', 'paid'), text('')),
      message(response('pay', 'paid', '')),
    ]) {
      expect(contentsOf(events(...begun, late), ROOT)).toEqual(contentsOf(events(...begun), ROOT));
    }
    const words = message(response('pay', 'paid', 'unheard'), text('was that right?'), image('receipt'));
    expect(contentsOf(events(...begun, words), ROOT).at(-1)).toEqual(
      user(text('was that right?'), image('receipt')),
    );
  });

  test('responses to calls that a rewind hides match none [contents.unmatched] [session.rewind]', () => {
    const rewound = events(
      ...begun,
      { kind: 'rewind', runKey: 'm', step: 1, hidesAfter: 1, event: {} },
      message(response('pay', 'paid', 'call-1'), text('and now?')),
    );
    expect(contentsOf(rewound, ROOT)).toEqual([user(text('pay')), user(text('and now?'))]);
  });

  test('what a message says beside them stands behind an earlier late response [contents.unmatched] [contents.late]', () => {
    const contents = contentsOf(
      events(
        ...begun,
        message(response('pay', 'paid', 'call-1')),
        message(response('pay', 'paid', 'unheard'), text('and this?')),
      ),
      ROOT,
    );
    expect(contents).toEqual([
      user(text('pay')),
      model(text('it is pending'), pay),
      user(response('pay', 'paid', 'call-1')),
      user(text('and this?')),
    ]);
  });

  test('a response has the name of its call, whatever the client wrote [contents.pairs]', () => {
    const contents = contentsOf(events(...begun, message(response('payment', 'paid', 'call-1'))), ROOT);
    expect(contents.at(-1)).toEqual(user(response('pay', 'paid', 'call-1')));
  });

  test("a callback's own calls and responses belong together by id [contents.late]", () => {
    const contents = contentsOf(
      events(
        message(text('hi')),
        draft('callback', 'root', 'a', model(call('lookUp', 'made-up'))),
        draft('callback', 'root', 'a', user(response('lookUp', 'found', 'made-up'))),
        draft('model', 'root', 'a', model(text('I know'))),
      ),
      ROOT,
    );
    expect(contents).toEqual([
      user(text('hi')),
      model(call('lookUp', 'made-up')),
      user(response('lookUp', 'found', 'made-up')),
      model(text('I know')),
    ]);
  });
});

describe('requests to people', () => {
  const request = draft('callback', 'root', 'a', user(call('adk_request_confirmation', 'adk-q')));

  test('neither they nor the answers are contents; what the user says beside an answer is, which ADK leaves out [contents.reserved]', () => {
    const reply = response('adk_request_confirmation', 'yes', 'adk-q');
    const before = [message(text('pay')), asked('a', pay), request];
    expect(contentsOf(events(...before, message(reply)), ROOT)).toEqual([user(text('pay'))]);
    expect(
      contentsOf(
        events(
          ...before,
          message(reply, text('but be quick')),
          answered('a', response('pay', 'paid', 'call-1')),
        ),
        ROOT,
      ),
    ).toEqual([
      user(text('pay')),
      model(pay),
      user(response('pay', 'paid', 'call-1')),
      user(text('but be quick')),
    ]);
  });

  test('a model sees what it has asked a person by itself, the answer, and the calls beside it [contents.reserved] [input.request]', () => {
    const question = call('adk_request_input', 'call-2');
    const own = draft('request', 'root', 'a', user(call('adk_request_input', 'rq-a.1.1.1')));
    const contents = contentsOf(
      events(
        message(text('pay')),
        asked('a', pay, question),
        own,
        answered('a', response('pay', 'paid', 'call-1'), response('adk_request_input', 'blue', 'call-2')),
        said(text('paid')),
      ),
      ROOT,
    );
    expect(contents).toEqual([
      user(text('pay')),
      model(pay, question),
      user(response('pay', 'paid', 'call-1'), response('adk_request_input', 'blue', 'call-2')),
      model(text('paid')),
    ]);
  });

  test('responses stand with their calls across requests, in each perspective [contents.reserved] [confirm.events]', () => {
    const requests = ['rq-a.1.0.1', 'rq-a.1.0.2'].map((id) =>
      draft('request', 'root', 'a', user(call('adk_request_confirmation', id))),
    );
    const stored = events(
      message(text('pay')),
      asked('a', pay),
      ...requests,
      answered('a', response('pay', 'paid', 'call-1')),
    );
    const seen = [user(text('pay')), model(pay), user(response('pay', 'paid', 'call-1'))];
    expect(contentsOf(stored, ROOT)).toEqual(seen);
    expect(contentsOf(stored, { ...ROOT, include: 'none' })).toEqual(seen);
    expect(contentsOf(stored.slice(0, -1), ROOT)).toEqual([user(text('pay'))]);
  });
});
