import fc from 'fast-check';
import type { EventKind, StoredEvent } from '../../src/contract/events.ts';
import type { Content, Part } from '../../src/events/content.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { callKeyOf, ownCallId } from '../../src/protocol/identity.ts';

const AGENTS = ['alpha', 'beta'] as const;
type Agent = (typeof AGENTS)[number];

/** What may happen in a session of several agents; `pick` chooses among what there is at that time. */
type Happening =
  | { type: 'user'; text: string }
  | { type: 'say'; who: Agent; branch: string | undefined; text: string; thought: boolean }
  | { type: 'callback'; who: Agent | 'user'; role: 'user' | 'model'; text: string }
  | { type: 'error'; who: Agent }
  | {
      type: 'calls';
      who: Agent;
      branch: string | undefined;
      count: number;
      text: string | undefined;
      /** Whether the model gives ids itself. */
      named: boolean;
      media: boolean;
      answered: 'now' | 'later' | 'never';
    }
  | { type: 'responses'; pick: number }
  | { type: 'late'; pick: number; which: boolean[]; text: string | undefined }
  | { type: 'code'; who: Agent; text: string | undefined }
  | { type: 'request'; who: Agent; branch: string | undefined; name: string }
  | { type: 'wild late'; picks: number[]; odd: (string | undefined)[]; shape: number }
  | { type: 'wild empty'; who: Agent | 'user'; shape: number }
  | { type: 'wild request'; who: Agent; pick: number }
  | { type: 'rewind'; pick: number };

export interface ConversationShape {
  branches: boolean;
  /** Responses need not follow their calls at once. */
  interleaved: boolean;
  /** Messages answer earlier calls of `alpha` that somebody of this branch sees, one call event at a time. */
  late: boolean;
  viewer?: string;
  /** Whose code is run by somebody else than the provider. */
  coders: readonly Agent[];
  /** With all that `@google/adk` can't take: see the table of the differential test. */
  wild: boolean;
}

const pick = fc.nat();
const text = fc.stringMatching(/^[a-z]{1,6}$/);
const said = fc.option(text, { nil: undefined });
const who = fc.constantFrom(...AGENTS);

function happening({
  branches,
  interleaved,
  late,
  coders,
  wild,
}: ConversationShape): fc.Arbitrary<Happening> {
  const branch = branches
    ? fc.constantFrom(undefined, 'root', 'root.a', 'root.ab', 'root.b', 'root.a.x')
    : fc.constant(undefined);
  const answered = interleaved
    ? fc.constantFrom('now' as const, 'later' as const, 'never' as const)
    : fc.constantFrom('now' as const, 'now' as const, 'never' as const);
  const kinds: { weight: number; arbitrary: fc.Arbitrary<Happening> }[] = [
    { weight: 3, arbitrary: fc.record({ type: fc.constant('user'), text }) },
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant('say'), who, branch, text, thought: fc.boolean() }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('callback'),
        who: fc.constantFrom(...AGENTS, 'user' as const),
        role: fc.constantFrom('user', 'model'),
        text,
      }),
    },
    { weight: 1, arbitrary: fc.record({ type: fc.constant('error'), who }) },
    {
      weight: 6,
      arbitrary: fc.record({
        type: fc.constant('calls'),
        who,
        branch,
        count: fc.integer({ min: 1, max: 3 }),
        text: said,
        named: fc.boolean(),
        media: fc.boolean(),
        answered,
      }),
    },
    { weight: interleaved ? 3 : 0, arbitrary: fc.record({ type: fc.constant('responses'), pick }) },
    {
      weight: late ? 4 : 0,
      arbitrary: fc.record({
        type: fc.constant('late'),
        pick,
        which: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
        text: said,
      }),
    },
    {
      weight: coders.length,
      arbitrary: fc.record({
        type: fc.constant('code'),
        who: who.filter((each) => coders.includes(each)),
        text: said,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('request'),
        who,
        branch,
        name: fc.constantFrom('adk_request_confirmation', 'adk_request_credential', 'adk_request_input'),
      }),
    },
  ];
  if (wild) {
    kinds.push(
      {
        weight: 4,
        arbitrary: fc.record({
          type: fc.constant('wild late'),
          picks: fc.array(pick, { maxLength: 3 }),
          odd: fc.array(fc.constantFrom(undefined, '', 'unheard', 'call_0'), { maxLength: 2 }),
          shape: pick,
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          type: fc.constant('wild empty'),
          who: fc.constantFrom(...AGENTS, 'user' as const),
          shape: pick,
        }),
      },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('wild request'), who, pick }) },
      { weight: 1, arbitrary: fc.record({ type: fc.constant('rewind'), pick }) },
    );
  }
  return fc.oneof(...(kinds.filter(({ weight }) => weight > 0) as [(typeof kinds)[number]]));
}

/** Sessions of a user and the agents `alpha` and `beta`, as stores keep them. The first event is the user's message. */
export function conversations(shape: ConversationShape, maxLength = 14): fc.Arbitrary<StoredEvent[]> {
  return fc
    .array(happening(shape), { maxLength, size: 'max' })
    .map((happenings) => new Conversation(shape).after(happenings));
}

interface CallStep {
  asked: StoredEvent;
  calls: { id: string; name: string }[];
  responded: boolean;
  media: boolean;
}

class Conversation {
  readonly events: StoredEvent[] = [];
  readonly #shape: ConversationShape;
  readonly #steps: CallStep[] = [];
  #made = 0;

  constructor(shape: ConversationShape) {
    this.#shape = shape;
  }

  after(happenings: readonly Happening[]): StoredEvent[] {
    this.#append('message', 'user', { role: 'user', parts: [{ text: 'hi' }] });
    for (const each of happenings) this.#happen(each);
    return this.events;
  }

  #happen(each: Happening): void {
    switch (each.type) {
      case 'user':
        this.#append('message', 'user', { role: 'user', parts: [{ text: each.text }] });
        break;
      case 'say':
        this.#say(each);
        break;
      case 'callback':
        this.#append('callback', each.who, {
          role: each.who === 'user' ? 'user' : each.role,
          parts: [{ text: each.text }],
        });
        break;
      case 'error':
        this.#append('error', each.who, undefined);
        break;
      case 'calls':
        this.#call(each);
        break;
      case 'responses': {
        const open = this.#steps.filter(({ responded }) => !responded);
        const step = open[each.pick % open.length];
        if (step !== undefined) this.#respond(step);
        break;
      }
      case 'late':
        this.#answerLate(each);
        break;
      case 'code':
        this.#runCode(each);
        break;
      case 'request':
        this.#request(each);
        break;
      default:
        this.#beWild(each);
    }
  }

  #say({ who: author, branch, text: words, thought }: Happening & { type: 'say' }): void {
    const thoughts: Part[] = thought ? [{ text: 'hm', thought: true }] : [];
    const parts = [...thoughts, { text: words, thoughtSignature: 'c2ln' }];
    this.#append('model', author, { role: 'model', parts }, { branch });
  }

  #call(each: Happening & { type: 'calls' }): void {
    const { who: author, branch, count, text: words, named, media, answered } = each;
    const runKey = this.#newRun();
    const calls = Array.from({ length: count }, (_, index) => {
      this.#made += 1;
      const own = this.#shape.wild && this.#made % 5 === 0 ? 'call_0' : `call-${this.#made}`;
      return { id: named ? own : ownCallId(callKeyOf(runKey, 1, index)), name: `tool_${index}` };
    });
    const parts: Part[] = [
      ...(words === undefined ? [] : [{ text: words }]),
      ...calls.map(({ id, name }) => ({ functionCall: { id, name, args: { at: `${runKey}.${name}` } } })),
    ];
    const asked = this.#append('model', author, { role: 'model', parts }, { branch, runKey });
    const step = { asked, calls, responded: false, media };
    this.#steps.push(step);
    if (answered === 'now') this.#respond(step);
    // Nobody but the client answers these.
    if (answered === 'never') step.responded = true;
  }

  #respond(step: CallStep): void {
    step.responded = true;
    const { runKey, event } = step.asked;
    const parts = step.calls.flatMap(({ id, name }): Part[] => [
      { functionResponse: { id, name, response: { from: this.events.length + 1 } } },
      ...(step.media ? [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }] : []),
    ]);
    const place = { branch: event.branch, runKey };
    this.#append('responses', event.author, { role: 'user', parts }, place);
  }

  #answerLate({ pick: choice, which, text: words }: Happening & { type: 'late' }): void {
    const steps = this.#steps.filter((step) => this.#mayBeAnsweredLate(step));
    const step = steps[choice % steps.length];
    if (step === undefined) return;
    const isFirst = !this.events.some((event) => event.event.content?.parts?.some(isResponseOf(step)));
    const answered = step.calls.filter((_, index) => isFirst || which[index] === true);
    if (answered.length === 0) return;
    const parts = answered.map(
      ({ id, name }): Part => ({
        functionResponse: { id, name, response: { from: this.events.length + 1 } },
      }),
    );
    this.#append('message', 'user', {
      role: 'user',
      parts: [...parts, ...(words === undefined ? [] : [{ text: words }])],
    });
  }

  #mayBeAnsweredLate({ asked, media, responded }: CallStep): boolean {
    const { author, branch } = asked.event;
    const { viewer } = this.#shape;
    const isSeen = !viewer || !branch || viewer === branch || viewer.startsWith(`${branch}.`);
    return author === 'alpha' && isSeen && !media && responded;
  }

  #runCode({ who: author, text: words }: Happening & { type: 'code' }): void {
    const runKey = this.#newRun();
    const code: Part = { executableCode: { code: `print(${this.#made})` } };
    const parts = [...(words === undefined ? [] : [{ text: words }]), code];
    this.#append('model', author, { role: 'model', parts }, { runKey });
    const result: Part = { codeExecutionResult: { output: `${this.#made}` } };
    this.#append('responses', author, { role: 'user', parts: [result] }, { runKey });
  }

  #request({ who: author, branch, name }: Happening & { type: 'request' }): void {
    this.#made += 1;
    const id = ownCallId(`request-${this.#made}`);
    const asked: Content = { role: 'user', parts: [{ functionCall: { id, name, args: {} } }] };
    this.#append('callback', author, asked, { branch });
    const answer: Content = { role: 'user', parts: [{ functionResponse: { id, name, response: {} } }] };
    this.#append('message', 'user', answer);
  }

  #beWild(each: Happening): void {
    if (each.type === 'wild late') {
      const calls = this.#steps.flatMap((step) => step.calls);
      const chosen = each.picks.flatMap((choice) => calls[choice % calls.length] ?? []);
      const answered = [...chosen, ...each.odd.map((id) => ({ id, name: 'tool_0' }))];
      const parts = answered.flatMap(({ id, name }, index): Part[] => [
        ...((each.shape + index) % 3 === 0 ? [{ text: 'so' }] : []),
        { functionResponse: { ...(id === undefined ? {} : { id }), name, response: { from: 'late' } } },
        ...((each.shape + index) % 4 === 0 ? [{ inlineData: { mimeType: 'image/png', data: 'AA==' } }] : []),
      ]);
      const kind = each.shape % 5 === 0 ? 'callback' : 'message';
      this.#append(kind, kind === 'message' ? 'user' : 'alpha', { role: 'user', parts });
    } else if (each.type === 'wild empty') {
      const shapes: Part[][] = [
        [{ text: '' }],
        [{ text: '', thought: true }],
        [{ text: '' }, { text: 'behind nothing' }],
        [{ text: '', thoughtSignature: 'c2ln' }],
        [],
      ];
      const parts = shapes[each.shape % shapes.length] ?? [];
      const isUser = each.who === 'user';
      this.#append(isUser ? 'message' : 'model', each.who, {
        ...(each.shape % 2 ? { role: isUser ? 'user' : 'model' } : {}),
        parts,
      });
    } else if (each.type === 'wild request') {
      const calls = this.#steps.flatMap((step) => step.calls);
      const other = calls[each.pick % calls.length];
      const name = 'adk_request_input';
      const id = `request-${each.pick}`;
      const asked = { functionCall: { id, name, args: {} } };
      this.#append('model', each.who, { role: 'model', parts: [{ text: 'let me ask' }, asked] });
      const parts: Part[] = [{ functionResponse: { id, name, response: {} } }, { text: 'but be careful' }];
      if (other) parts.push({ functionResponse: { ...other, response: { from: 'beside a request' } } });
      this.#append('message', 'user', { role: 'user', parts });
    } else if (each.type === 'rewind') {
      const hidesAfter = 1 + (each.pick % this.events.length);
      this.#append('rewind', undefined, undefined, {}, hidesAfter);
    }
  }

  #newRun(): string {
    this.#made += 1;
    return `run-${this.#made}`;
  }

  #append(
    kind: EventKind,
    author: string | undefined,
    content: Content | undefined,
    { branch, runKey = this.#newRun() }: { branch?: string | undefined; runKey?: string } = {},
    hidesAfter?: number,
  ): StoredEvent {
    const seq = this.events.length + 1;
    const event: StoredEvent = {
      seq,
      kind,
      runKey,
      step: 1,
      ...(hidesAfter === undefined ? {} : { hidesAfter }),
      event: {
        id: `event-${seq}`,
        invocationId: 'e-1',
        timestamp: seq,
        actions: createEventActions(),
        ...(author === undefined ? {} : { author }),
        ...(branch === undefined ? {} : { branch }),
        ...(content === undefined ? {} : { content }),
      },
    };
    this.events.push(event);
    return event;
  }
}

function isResponseOf({ calls }: CallStep): (part: Part) => boolean {
  return ({ functionResponse }) => calls.some(({ id }) => id === functionResponse?.id);
}
