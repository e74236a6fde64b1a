import { expect, test } from 'vitest';
import type { EventKind, StoredEvent } from '../../src/contract/events.ts';
import { createEvent } from '../../src/events/event.ts';
import { callKeyOf } from '../../src/protocol/identity.ts';
import { Outages } from '../setup/soak-outages.ts';
import { checkEffects } from './check-effects.ts';
import { checkHooks } from './check-hooks.ts';
import { checkTranscript } from './check-transcript.ts';
import { checkUsage } from './check-usage.ts';
import { invocationOf, type SessionEvidence, type SoakEvidence } from './evidence.ts';
import { answerOf, argumentsOf, messageOf } from './model.ts';
import type { PlannedSoakCall, Scenario, SoakTurn } from './plan.ts';

const call = (tool: PlannedSoakCall['tool'], n: number) => ({
  tool,
  n,
  before: 0,
  after: 0,
  send: 0,
  give: 0,
});
const acting: SoakTurn = { messageId: 'm1', steps: [[call('charge', 1), call('alone', 2)]] };
const plain: SoakTurn = { messageId: 'm2', steps: [] };
const scenario: Scenario = {
  kind: 'apart',
  sessionId: 's',
  shape: 'written by hand',
  messages: [acting, plain].map((turn) => ({ turn, twice: false, pause: 0 })),
  stopAfter: 0,
  quiet: false,
};
const runKey = invocationOf(scenario, 'm1');
const [charge, alone] = [callKeyOf(runKey, 1, 0), callKeyOf(runKey, 1, 1)];

/** A soak of one session in which all went well; the first attempt at the charge died behind its effect. */
function evidence(): { all: SoakEvidence; session: SessionEvidence } {
  const events: StoredEvent[] = [];
  const add = (turn: SoakTurn, kind: EventKind, step: number, parts: object[], more: object = {}) => {
    const invocationId = invocationOf(scenario, turn.messageId);
    events.push({
      seq: events.length + 1,
      kind,
      runKey: invocationId,
      step,
      event: createEvent({ invocationId, content: { parts }, ...more }),
    });
  };
  const usageMetadata = { totalTokenCount: 10 };
  const answers = [
    { callKey: charge, attempt: 2, n: 1, got: 0, text: '', charge: { attempt: 2 } },
    { callKey: alone, attempt: 1, n: 2, got: 0, text: '', count: 1 },
  ];
  const calls = acting.steps.flat();
  add(acting, 'message', 1, [{ text: messageOf(acting) }]);
  const asked = calls.map((one) => ({ functionCall: { name: one.tool, args: argumentsOf('m1', one) } }));
  add(acting, 'model', 1, asked, { usageMetadata });
  const told = calls.map(({ tool: name }, index) => ({
    functionResponse: { name, response: answers[index] },
  }));
  add(acting, 'responses', 1, told);
  add(acting, 'model', 2, [{ text: answerOf(acting) }], { usageMetadata });
  add(plain, 'message', 1, [{ text: messageOf(plain) }]);
  add(plain, 'model', 1, [{ text: answerOf(plain) }], { usageMetadata });

  const tokens = { promptTokens: 0, outputTokens: 0 };
  const ended = (
    turn: SoakTurn,
    from: number,
    to: number,
    used: { modelCalls: number; totalTokens: number },
  ) => ({
    session: 'internal',
    invocationId: invocationOf(scenario, turn.messageId),
    messageId: turn.messageId,
    status: 'completed' as const,
    from,
    to,
    outcome: { status: 'completed' as const, text: answerOf(turn), usage: { ...tokens, ...used } },
  });
  const invocations = new Map([
    ['m1', ended(acting, 1, 4, { modelCalls: 2, totalTokens: 20 })],
    ['m2', ended(plain, 5, 6, { modelCalls: 1, totalTokens: 10 })],
  ]);
  const rowOf = (key: string, attempts: number, settledAt: number, once: object | null) => ({
    key,
    status: 'settled',
    attempts,
    failures: 0,
    settledAt,
    once: once as null,
  });
  const session: SessionEvidence = {
    played: {
      scenario: { ...scenario, messages: [...scenario.messages] },
      answers: [...invocations].map(([messageId, { invocationId, from, to, outcome }]) => ({
        messageId,
        took: 1,
        result: { v: 1, invocationId, ...outcome, events: { from, to } },
      })),
      from: 0,
      to: 100_000,
      stopTaken: false,
      problems: [],
    },
    events,
    invocations,
    calls: new Map([
      [charge, rowOf(charge, 2, 5_100, { charge: { value: { attempt: 2 } } })],
      [alone, rowOf(alone, 1, 5_200, null)],
    ]),
    inbox: [],
    state: { count: 1 },
    usage: { modelCalls: 3, ...tokens, totalTokens: 30 },
    workflowProblems: [],
  };
  const outages = new Outages();
  outages.all.push({ kind: 'worker', from: 2_000, to: 3_000 });
  const first = { callKey: charge, attempt: 1, pid: 1 };
  const second = { callKey: charge, attempt: 2, pid: 2 };
  const other = { callKey: alone, attempt: 1, pid: 2 };
  const all: SoakEvidence = {
    sessions: [session],
    effects: [
      { kind: 'begun', ...first, asked: 1_900, at: 1_901 },
      { kind: 'charged', ...first, at: 1_902 },
      { kind: 'effect', ...first, tool: 'charge', n: 1, at: 1_903 },
      { kind: 'begun', ...second, asked: 5_000, at: 5_001 },
      { kind: 'charged', ...second, at: 5_002 },
      { kind: 'recorded', ...second, at: 5_003 },
      { kind: 'effect', ...second, tool: 'charge', n: 1, at: 5_004 },
      { kind: 'settled', ...second, at: 5_101 },
      { kind: 'begun', ...other, asked: 5_110, at: 5_111 },
      { kind: 'effect', ...other, tool: 'alone', n: 2, at: 5_112 },
      { kind: 'settled', ...other, at: 5_201 },
    ],
    charges: [charge],
    model: { answered: (messageId) => (messageId === 'm1' ? 2 : 1), refused: () => 0 },
    outages,
  };
  return { all, session };
}

function promisesBroken({ all, session }: ReturnType<typeof evidence>): string[] {
  const violations = [
    ...checkTranscript(session),
    ...checkEffects(all).violations,
    ...checkUsage(all).violations,
  ];
  return [...new Set(violations.map(({ promise }) => promise))].sort();
}

test('a soak in which all went well has no violations, and its repeats are counted [crash.soak]', () => {
  const good = evidence();
  expect(promisesBroken(good)).toEqual([]);
  expect(checkEffects(good.all).figures).toEqual({ expected: 2, lost: 0, repeated: 1, chargesAskedAgain: 1 });
  expect(checkUsage(good.all).figures).toEqual({ steps: 3, extraCalls: 0, unknownCalls: 0 });
});

test('messages that nobody had accepted before their run was stopped come in any order [crash.soak]', () => {
  const turns: SoakTurn[] = ['m3', 'm4'].map((messageId) => ({ messageId, steps: [] }));
  const promise = 'queued messages are answered in the order in which they were accepted';
  for (const [kept, isBroken] of [
    [['m3', 'm4'], true],
    [undefined, true],
    [['m3'], false],
    [[], false],
  ] as const) {
    const soak = evidence();
    const { session } = soak;
    const sent = (turn: SoakTurn) => ({ turn, twice: false, pause: 0 });
    session.played.scenario.messages = [acting, ...turns].map(sent);
    session.events.splice(4);
    for (const { messageId } of turns.toReversed()) {
      const invocationId = invocationOf(scenario, messageId);
      const event = createEvent({ invocationId, content: { parts: [] } });
      const seq = session.events.length + 1;
      session.events.push({ seq, kind: 'message', runKey: invocationId, step: 1, event });
    }
    if (kept !== undefined) session.keptBeforeStop = [...kept];
    expect(promisesBroken(soak).includes(promise), JSON.stringify(kept)).toBe(isBroken);
  }
});

type Plant = (soak: ReturnType<typeof evidence>) => void;

/** The event of that number, to be spoilt. */
function eventOf({ session }: ReturnType<typeof evidence>, seq: number): StoredEvent {
  const stored = session.events[seq - 1];
  if (stored === undefined) throw new Error(`there is no event ${seq}`);
  return stored;
}

function effectsWithout({ all }: ReturnType<typeof evidence>, drop: (line: string) => boolean): void {
  Object.assign(all, { effects: all.effects.filter((effect) => !drop(JSON.stringify(effect))) });
}

test.each<[string, string, Plant]>([
  ['a gap', 'seq is gapless', (soak) => void Object.assign(eventOf(soak, 6), { seq: 7 })],
  [
    'a message that is there twice',
    'one message event for each message id',
    (soak) => void soak.session.events.push({ ...eventOf(soak, 5), seq: 7 }),
  ],
  [
    'a message that is missing',
    'one message event for each message id',
    (soak) => void Object.assign(eventOf(soak, 5), { kind: 'model' }),
  ],
  [
    'messages in another order',
    'queued messages are answered in the order in which they were accepted',
    ({ session: { played } }) => void played.scenario.messages.reverse(),
  ],
  [
    'calls without responses',
    'calls have exactly one responses event, right behind them',
    (soak) => void Object.assign(eventOf(soak, 3), { step: 9 }),
  ],
  [
    'responses in another order',
    'responses are in call order',
    (soak) => void eventOf(soak, 3).event.content?.parts?.reverse(),
  ],
  [
    'a response of another call',
    'a response answers its own call',
    (soak) => {
      const part = eventOf(soak, 3).event.content?.parts?.[1]?.functionResponse;
      Object.assign(part?.response ?? {}, { callKey: charge });
    },
  ],
  [
    'an event behind the end',
    'no event is outside of its invocation',
    (soak) => void Object.assign(eventOf(soak, 6).event, { invocationId: runKey }),
  ],
  [
    'a turn that never ended',
    'every message is answered',
    (soak) => void Object.assign(soak.session.invocations.get('m2') ?? {}, { status: 'running' }),
  ],
  [
    'a turn that was interrupted by nobody',
    'only what was interrupted ends so',
    (soak) => void Object.assign(soak.session.invocations.get('m1') ?? {}, { status: 'interrupted' }),
  ],
  [
    'a message that waits for ever',
    'every message is answered',
    (soak) => void soak.session.inbox.push({ status: 'waiting', messageId: 'm2' } as never),
  ],
  [
    'a client that was told otherwise',
    'clients are told what is recorded',
    (soak) => void Object.assign(soak.session.played.answers[1]?.result ?? {}, { status: 'failed' }),
  ],
  [
    'a lost effect',
    'no effect is lost',
    (soak) => effectsWithout(soak, (line) => line.includes('"at":5112')),
  ],
  [
    'a charge that nobody made',
    'a charge is made once for its call',
    (soak) => void Object.assign(soak.all, { charges: [] }),
  ],
  [
    'an effect of a call that no transcript has',
    'every effect belongs to a call',
    (soak) => void Object.assign(soak.all, { charges: [charge, callKeyOf(runKey, 3, 0)] }),
  ],
  [
    'a call that runs again behind its settlement',
    'a settled call is not run again',
    (soak) => void Object.assign(soak.session.calls.get(charge) ?? {}, { settledAt: 4_000 }),
  ],
  [
    'an effect that is repeated where nothing was killed',
    'an effect is repeated only behind a kill',
    (soak) => void soak.all.outages.all.splice(0),
  ],
  [
    'an error that its tool has not made',
    'a call has its tool’s outcome',
    (soak) => {
      const part = eventOf(soak, 3).event.content?.parts?.[0]?.functionResponse;
      if (part) part.response = { error: 'the worker is gone' };
    },
  ],
  [
    'a guarded action that is done again behind its record',
    'what `once` has recorded is not done again',
    (soak) => void Object.assign(soak.all.effects[5] ?? {}, { at: 4_000 }),
  ],
  [
    'a guarded action that gives back something else',
    '`once` gives back what is recorded',
    (soak) =>
      void Object.assign(soak.session.calls.get(charge) ?? {}, {
        once: { charge: { value: { attempt: 1 } } },
      }),
  ],
  [
    'state that counts twice',
    'state counts each call once',
    (soak) => void Object.assign(soak.session.state, { count: 2 }),
  ],
  [
    'an exclusive call beside another',
    'an exclusive call runs alone',
    (soak) => void Object.assign(soak.session.calls.get(charge) ?? {}, { settledAt: 5_150 }),
  ],
  [
    'tokens that count twice',
    'tokens are counted once',
    (soak) =>
      void Object.assign(soak.session.invocations.get('m2')?.outcome?.usage ?? {}, { totalTokens: 20 }),
  ],
  [
    'a model call that nobody counts',
    'no model call is left out',
    (soak) => void Object.assign(soak.all.model, { answered: () => 3 }),
  ],
  [
    'a session that counts other than its turns',
    'a session has used what its turns have used',
    (soak) => void Object.assign(soak.session.usage, { modelCalls: 4 }),
  ],
])('%s is found [crash.soak]', (_name, promise, plant) => {
  const soak = evidence();
  plant(soak);
  expect(promisesBroken(soak)).toContain(promise);
});

/** The same, with callbacks and a plugin. */
function hookedEvidence() {
  const { all, session } = evidence();
  Object.assign(session.played.scenario, { sessionId: 's-hooked' });
  Object.assign(session.state, { begun: 2, ended: 2, asked: 3, answered: 3, called: 2, completed: 2 });
  for (const { kind, event } of session.events) {
    if (kind !== 'message') event.customMetadata = { seen: true };
  }
  const heard = { kind: 'heard' as const, pid: 1, attempt: 0 };
  const effects = [
    ...all.effects,
    ...[charge, alone].map((callKey, index) => ({ ...heard, callKey, at: 5_300 + index })),
    { ...heard, callKey: charge, at: 5_400 },
  ];
  return { all: { ...all, effects }, session };
}

test('a session with callbacks in which all went well has no violations [crash.soak]', () => {
  const { all, session } = hookedEvidence();
  expect(checkHooks(session, all)).toEqual([]);
});

test.each<[string, string, (soak: ReturnType<typeof hookedEvidence>) => void]>([
  [
    'a callback that counts twice',
    'what user code counts is counted once',
    ({ session }) => void Object.assign(session.state, { begun: 3 }),
  ],
  [
    'an event that no plugin has seen',
    'plugins see each event',
    ({ session }) => delete session.events[1]?.event.customMetadata,
  ],
  [
    'a call that nobody has heard of',
    'plugins hear of each call',
    ({ all }) => void Object.assign(all, { effects: all.effects.filter(({ callKey }) => callKey !== alone) }),
  ],
  [
    'a call that is told twice where nothing was killed',
    'plugins hear of a call again only behind a kill',
    ({ all }) => void all.outages.all.splice(0),
  ],
])('%s is found [crash.soak]', (_name, promise, plant) => {
  const soak = hookedEvidence();
  plant(soak);
  const { all, session } = soak;
  expect(checkHooks(session, all).map((violation) => violation.promise)).toContain(promise);
});
