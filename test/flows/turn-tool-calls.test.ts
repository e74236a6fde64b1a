import { describe, expect, test } from 'vitest';
import type { EventKind, StoredEvent } from '../../src/contract/events.ts';
import type { Content, Part } from '../../src/events/content.ts';
import { createEventActions } from '../../src/events/event-actions.ts';
import { TranscriptLog } from '../../src/flows/transcript.ts';

interface Draft {
  kind: EventKind;
  invocationId: string;
  runKey: string;
  step: number;
  parts?: Part[];
  hidesAfter?: number;
}

function logOf(...drafts: Draft[]): TranscriptLog {
  const log = new TranscriptLog();
  log.append(drafts.map((draft, index) => stored(draft, index + 1)));
  return log;
}

function stored({ kind, invocationId, runKey, step, parts, hidesAfter }: Draft, seq: number): StoredEvent {
  const content: Content | undefined = parts && { role: kind === 'model' ? 'model' : 'user', parts };
  return {
    ...{ seq, kind, runKey, step },
    ...(hidesAfter === undefined ? {} : { hidesAfter }),
    event: {
      id: `event-${seq}`,
      invocationId,
      timestamp: 0,
      author: kind === 'message' ? 'user' : 'root',
      actions: createEventActions(),
      ...(content === undefined ? {} : { content }),
    },
  };
}

const call = (name: string, id: string): Part => ({ functionCall: { name, id, args: { to: id } } });
const response = (id: string, value: Record<string, unknown>): Part => ({
  functionResponse: { name: 'any', id, response: value },
});
const at = (invocationId: string, step: number) => ({ invocationId, runKey: invocationId, step });

describe('the calls of a turn', () => {
  test('are those that have their outcome, in call order, with what the model was told [tool.turnCalls]', () => {
    const log = logOf(
      { kind: 'message', ...at('e-0', 1), parts: [{ text: 'hi' }] },
      { kind: 'model', ...at('e-0', 1), parts: [call('pay', 'old')] },
      { kind: 'responses', ...at('e-0', 1), parts: [response('old', {})] },
      { kind: 'message', ...at('e-1', 1), parts: [{ text: 'hi' }] },
      { kind: 'model', ...at('e-1', 1), parts: [{ text: 'so' }, call('pay', 'a'), call('send', 'b')] },
      {
        kind: 'responses',
        ...at('e-1', 1),
        parts: [
          response('a', { paid: 1 }),
          { inlineData: { mimeType: 'image/png', data: 'AA==' } },
          response('b', { error: 'no stamps' }),
        ],
      },
      { kind: 'model', ...at('e-1', 2), parts: [call('send', 'c')] },
      { kind: 'responses', ...at('e-1', 2), parts: [response('c', { result: 'sent' })] },
      { kind: 'model', ...at('e-1', 3), parts: [call('pay', 'open')] },
    );
    const records = [
      {
        ...{ callKey: 'e-1.1.0', callId: 'a', name: 'pay', agent: 'root', args: { to: 'a' } },
        ...{ response: { paid: 1 }, failed: false, step: 1 },
      },
      {
        ...{ callKey: 'e-1.1.1', callId: 'b', name: 'send', agent: 'root', args: { to: 'b' } },
        ...{ response: { error: 'no stamps' }, failed: true, step: 1 },
      },
      {
        ...{ callKey: 'e-1.2.0', callId: 'c', name: 'send', agent: 'root', args: { to: 'c' } },
        ...{ response: { result: 'sent' }, failed: false, step: 2 },
      },
    ];
    expect(log.at(9).toolCalls('e-1')).toEqual(records);
    expect(log.at(6).toolCalls('e-1')).toEqual(records.slice(0, 2));
    expect(log.at(5).toolCalls('e-1')).toEqual([]);
    expect(log.at(9).toolCalls('e-0')).toHaveLength(1);
    const calls = log.at(9).toolCalls('e-1');
    expect([calls, ...calls].every(Object.isFrozen)).toBe(true);
  });

  test('grow with the turn, and earlier lists stay what they were [tool.turnCalls]', () => {
    const log = new TranscriptLog();
    const lists = [];
    let seq = 0;
    for (let step = 1; step <= 20; step += 1) {
      const id = `call-${step}`;
      log.append([
        stored({ kind: 'model', ...at('e-1', step), parts: [call('pay', id)] }, seq + 1),
        stored({ kind: 'responses', ...at('e-1', step), parts: [response(id, {})] }, seq + 2),
      ]);
      seq += 2;
      lists.push(log.at(seq).toolCalls('e-1'));
    }
    expect(lists.map(({ length }) => length)).toEqual(Array.from({ length: 20 }, (_, index) => index + 1));
    expect(lists.at(-1)?.map(({ step }) => step)).toEqual(lists.map((_list, index) => index + 1));
  });

  test('of a retry are named as it ran them: the first step of its own invocation [tool.turnCalls] [session.retry]', () => {
    const log = logOf(
      { kind: 'model', ...at('e-1', 3), parts: [call('pay', 'a'), call('send', 'b')] },
      { kind: 'responses', ...at('e-1', 3), parts: [response('a', {}), response('b', { error: 'no' })] },
      { kind: 'rewind', ...at('e-1', 3), hidesAfter: 1 },
      {
        kind: 'responses',
        invocationId: 'e-2',
        runKey: 'e-1',
        step: 3,
        parts: [response('a', {}), response('b', { ok: 1 })],
      },
    );
    expect(log.at(4).toolCalls('e-2')).toMatchObject([
      { callKey: 'e-2.1.0', name: 'pay', step: 1 },
      { callKey: 'e-2.1.1', name: 'send', step: 1, failed: false },
    ]);
  });

  test('have failed where an error is all that they came to [tool.turnCalls]', () => {
    const values: [Record<string, unknown>, boolean][] = [
      [{ error: 'no' }, true],
      [{ error: '' }, true],
      [{ error: { code: 3 } }, true],
      [{ error: null }, false],
      [{ error: false }, false],
      [{ error: 'partly', sent: 3 }, false],
      [{}, false],
    ];
    const parts = values.map((_value, index) => call('pay', `call-${index}`));
    const answers = values.map(([value], index) => response(`call-${index}`, value));
    const log = logOf(
      { kind: 'model', ...at('e-1', 1), parts },
      { kind: 'responses', ...at('e-1', 1), parts: answers },
    );
    expect(
      log
        .at(2)
        .toolCalls('e-1')
        .map(({ failed }) => failed),
    ).toEqual(values.map(([, failed]) => failed));
  });

  test('include code that the model wrote, and leave out steps whose responses fit no calls [tool.turnCalls]', () => {
    const log = logOf(
      {
        kind: 'model',
        ...at('e-1', 1),
        parts: [call('pay', 'a'), { executableCode: { code: '1 / 0' } }, { executableCode: { code: '1' } }],
      },
      {
        kind: 'responses',
        ...at('e-1', 1),
        parts: [
          response('a', {}),
          { codeExecutionResult: { outcome: 'OUTCOME_FAILED', output: 'zero' } },
          { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1' } },
        ] as Part[],
      },
      { kind: 'model', ...at('e-1', 2), parts: [call('pay', 'b')] },
      { kind: 'responses', ...at('e-1', 2), parts: [] },
      { kind: 'responses', ...at('e-1', 9), parts: [response('b', {})] },
    );
    expect(log.at(5).toolCalls('e-1')).toMatchObject([
      { callKey: 'e-1.1.0', name: 'pay' },
      { callKey: 'e-1.1.1', callId: '', args: { code: '1 / 0' }, response: { output: 'zero' }, failed: true },
      { callKey: 'e-1.1.2', callId: '', args: { code: '1' }, failed: false },
    ]);
  });

  test('are counted once where a step was answered twice [tool.turnCalls]', () => {
    const step = at('e-1', 1);
    const log = logOf(
      { kind: 'model', ...step, parts: [call('pay', 'a')] },
      { kind: 'responses', ...step, parts: [response('a', { n: 1 })] },
      { kind: 'responses', ...step, parts: [response('a', { n: 2 })] },
    );
    expect(log.at(3).toolCalls('e-1')).toMatchObject([{ callKey: 'e-1.1.0', response: { n: 2 } }]);
  });
});
