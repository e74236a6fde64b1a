import { describe, expect, test } from 'vitest';
import type { Content, Part } from '../../src/events/content.ts';
import type { TranscriptEvent } from '../../src/flows/event-visibility.ts';
import { markUntrusted } from '../../src/flows/mark-untrusted.ts';
import { contentsOf as markedContentsOf } from '../../src/flows/perspective-contents.ts';

/** As requests have them. */
const contentsOf = (...given: Parameters<typeof markedContentsOf>) =>
  markUntrusted(markedContentsOf(...given), false);

const BILLING = { agent: 'billing', include: 'default' } as const;

const user = (...parts: Part[]): Content => ({ role: 'user', parts });
const model = (...parts: Part[]): Content => ({ role: 'model', parts });
const text = (words: string): Part => ({ text: words });
const call = (name: string, id: string): Part => ({ functionCall: { name, args: { n: 1 }, id } });
const response = (name: string, id: string, value: string): Part => ({
  functionResponse: { name, id, response: { value } },
});
const image: Part = { inlineData: { mimeType: 'image/png', data: 'AA==' } };

interface Given {
  author: string;
  content: Content;
  kind?: TranscriptEvent['kind'];
  run?: string;
  branch?: string;
  isolationScope?: string;
}

function events(...given: Given[]): TranscriptEvent[] {
  return given.map(({ author, content, kind, run, branch, isolationScope }, index) => ({
    seq: index + 1,
    kind: kind ?? (author === 'user' ? 'message' : 'model'),
    runKey: run ?? `run-${index}`,
    step: 1,
    event: {
      author,
      content,
      ...(branch === undefined ? {} : { branch }),
      ...(isolationScope === undefined ? {} : { isolationScope }),
    },
  }));
}

const hi = { author: 'user', content: user(text('hi')) };
const context = (...parts: Part[]) => user(text('For context:'), ...parts);

describe('what other agents did', () => {
  test('is retold: words, calls and responses as text, media as it is; thoughts, empty texts and signatures are not [contents.others]', () => {
    const contents = contentsOf(
      events(
        hi,
        {
          author: 'root',
          run: 'r',
          content: model(
            { text: 'who can?', thought: true },
            text(''),
            text('billing can'),
            { ...image, thoughtSignature: 'c2ln' },
            call('transfer_to_agent', 'adk-1'),
          ),
        },
        {
          author: 'billing',
          kind: 'responses',
          run: 'r',
          content: user(response('transfer_to_agent', 'adk-1', 'done'), image),
        },
        { author: 'root', content: model({ text: 'only a thought', thought: true }) },
      ),
      BILLING,
    );
    expect(contents).toEqual([
      user(text('hi')),
      context(
        text('[root] said: billing can'),
        image,
        text('[root] called tool `transfer_to_agent` with parameters: {"n":1}'),
      ),
      context(text('[root] tool `transfer_to_agent` returned result: {"value":"done"}'), image),
    ]);
  });

  test('stands in order, whatever comes between its calls and their responses [contents.others]', () => {
    const given = events(
      hi,
      { author: 'root', run: 'r', content: model(call('look', 'c1')) },
      { author: 'billing', run: 'b', content: model(call('pay', 'c2')) },
      { author: 'root', kind: 'responses', run: 'r', content: user(response('look', 'c1', 'seen')) },
      { author: 'billing', kind: 'responses', run: 'b', content: user(response('pay', 'c2', 'paid')) },
    );
    expect(contentsOf(given, BILLING)).toEqual([
      user(text('hi')),
      context(text('[root] called tool `look` with parameters: {"n":1}')),
      model(call('pay', 'c2')),
      user(response('pay', 'c2', 'paid')),
      context(text('[root] tool `look` returned result: {"value":"seen"}')),
    ]);
    expect(contentsOf(given, { agent: 'root', include: 'default' })).toEqual([
      user(text('hi')),
      model(call('look', 'c1')),
      user(response('look', 'c1', 'seen')),
      context(text('[billing] called tool `pay` with parameters: {"n":1}')),
      context(text('[billing] tool `pay` returned result: {"value":"paid"}')),
    ]);
  });

  test("a message that answers another agent's call is retold, which fails the request in ADK [contents.others] [contents.late]", () => {
    const contents = contentsOf(
      events(
        hi,
        { author: 'root', run: 'r', content: model(call('pay', 'c1')) },
        { author: 'user', content: user(response('pay', 'c1', 'paid'), image, text('there you are')) },
      ),
      BILLING,
    );
    expect(contents.slice(2)).toEqual([
      context(text('[root] tool `pay` returned result: {"value":"paid"}'), image, text('there you are')),
    ]);
  });

  test('what callbacks say is said by their author [contents.others]', () => {
    const given = events(
      hi,
      { author: 'billing', kind: 'callback', content: model(text('mine')) },
      { author: 'model', kind: 'callback', content: model(text("a plugin's")) },
      { author: 'billing', kind: 'callback', content: user(text('noted for the model')) },
      { author: 'billing', kind: 'callback', content: { parts: [text('without a role')] } },
    );
    expect(contentsOf(given, BILLING)).toEqual([
      user(text('hi')),
      model(text('mine')),
      context(text("[model] said: a plugin's")),
      user(text('noted for the model')),
      model(text('without a role')),
    ]);
  });
});

describe('branches', () => {
  const inBranch = (branch: string, words: string) => ({
    author: 'billing',
    branch,
    content: model(text(words)),
  });
  const given = events(
    hi,
    inBranch('root', 'above'),
    inBranch('root.a', 'own'),
    inBranch('root.a.x', 'below'),
    inBranch('root.ab', 'beside'),
    inBranch('root.b', 'beside, too'),
  );
  const wordsIn = (branch?: string) =>
    contentsOf(given, { ...BILLING, branch }).flatMap(({ parts = [] }) => parts.map((part) => part.text));

  test('an agent sees those above it, its own, and what is in none; without a branch it sees all [contents.branch]', () => {
    expect(wordsIn('root.a')).toEqual(['hi', 'above', 'own']);
    expect(wordsIn('root.ab')).toEqual(['hi', 'above', 'beside']);
    expect(wordsIn()).toEqual(['hi', 'above', 'own', 'below', 'beside', 'beside, too']);
  });

  test('responses are seen where their calls are, whatever branch they have themselves [contents.branch]', () => {
    const others = events(
      hi,
      { author: 'billing', branch: 'root.b', run: 'b', content: model(call('pay', 'c1')) },
      { author: 'billing', kind: 'responses', run: 'b', content: user(response('pay', 'c1', 'paid')) },
      { author: 'user', content: user(response('pay', 'c1', 'refunded')) },
    );
    expect(contentsOf(others, { ...BILLING, branch: 'root.a' })).toEqual([user(text('hi'))]);
    expect(contentsOf(others, { ...BILLING, branch: 'root.b' })).toHaveLength(3);
  });

  test('events of an isolated scope are left out [contents.branch]', () => {
    const scoped = events(hi, { author: 'billing', isolationScope: 'c1', content: model(text('a task')) });
    expect(contentsOf(scoped, BILLING)).toEqual([user(text('hi'))]);
  });
});

describe("include 'none'", () => {
  const NONE = { agent: 'billing', include: 'none' } as const;
  const first = [
    hi,
    { author: 'billing', run: 'a', content: model(call('pay', 'c1')) },
    {
      author: 'billing',
      kind: 'responses',
      run: 'a',
      content: user(response('pay', 'c1', 'pending')),
    },
    { author: 'billing', content: model(text('pending')) },
  ] satisfies Given[];

  test('is what came since the latest message, or since the latest event of another agent [contents.include]', () => {
    const second = [
      { author: 'user', content: user(text('next')) },
      { author: 'billing', content: model(text('sure')) },
    ];
    expect(contentsOf(events(...first, ...second), NONE)).toEqual([user(text('next')), model(text('sure'))]);
    const told = { author: 'root', content: model(text('to billing')) };
    expect(contentsOf(events(...first, ...second, told), NONE)).toEqual([
      context(text('[root] said: to billing')),
    ]);
    expect(contentsOf(events(...first, ...second, told, ...second.slice(1)), NONE)).toHaveLength(2);
  });

  test("responses of another agent's calls come with these [contents.include]", () => {
    const contents = contentsOf(
      events(
        ...first,
        { author: 'root', run: 'r', content: model(call('look', 'c2')) },
        { author: 'user', content: user(text('meanwhile')) },
        { author: 'root', kind: 'responses', run: 'r', content: user(response('look', 'c2', 'seen')) },
      ),
      NONE,
    );
    expect(contents.map(({ parts }) => parts?.at(-1)?.text)).toEqual([
      '[root] called tool `look` with parameters: {"n":1}',
      'meanwhile',
      '[root] tool `look` returned result: {"value":"seen"}',
    ]);
  });

  test('calls that a message answers come with the beginning of their turn: no request can begin with a call, as in ADK [contents.include] [contents.late]', () => {
    const later = [
      { author: 'user', content: user(text('something else')) },
      { author: 'billing', content: model(text('sure')) },
      { author: 'user', content: user(response('pay', 'c1', 'paid')) },
    ];
    expect(contentsOf(events(...first, ...later), NONE)).toEqual([
      user(text('hi')),
      model(text('pending')),
      user(text('something else')),
      model(text('sure'), call('pay', 'c1')),
      user(response('pay', 'c1', 'paid')),
    ]);
  });

  test('a message that says nothing begins no turn [contents.include] [contents.unmatched]', () => {
    const unheard = { author: 'user', content: user(response('pay', 'unheard', 'paid')) };
    expect(contentsOf(events(...first, unheard), NONE)).toEqual(contentsOf(events(...first), NONE));
  });

  test('calls of other branches, answered since, do not lengthen it [contents.include] [contents.branch]', () => {
    const contents = contentsOf(
      events(
        hi,
        { author: 'root', branch: 'root.b', run: 'b', content: model(call('look', 'c1')) },
        { author: 'billing', content: model(text('before')) },
        { author: 'user', content: user(text('next')) },
        { author: 'root', kind: 'responses', run: 'b', content: user(response('look', 'c1', 'seen')) },
      ),
      { ...NONE, branch: 'root.a' },
    );
    expect(contents).toEqual([user(text('next'))]);
  });
});
