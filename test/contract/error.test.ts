import { describe, expect, test } from 'vitest';
import { GatewayError, MessageRejected, TurnRunning } from '../../src/client/client-errors.ts';
import { errorOf } from '../../src/client/gateway-failure.ts';
import { codedError, HoldfastError, hasCode } from '../../src/contract/error.ts';
import { ERROR_CODES, type ErrorEntry } from '../../src/contract/error-codes.ts';
import { StoreError, StoreUnavailable } from '../../src/store/store-errors.ts';
import { ToolError } from '../../src/tools/tool-error.ts';

describe('an error of the family', () => {
  test('has code, name, status, section and whether it may succeed later by the table', () => {
    const error = new TurnRunning('a turn runs');
    expect(error).toMatchObject({
      name: 'TurnRunning',
      code: 'HOLDFAST_TURN_RUNNING',
      message: 'a turn runs',
      status: 409,
      retryable: true,
      docs: 'docs/errors.md#holdfast_turn_running',
    });
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).not.toBeInstanceOf(MessageRejected);
    expect(String(error)).toBe('TurnRunning: a turn runs');
  });

  test('says of itself whether it may succeed later, where it knows better', () => {
    expect(new TurnRunning('never', { retryable: false }).retryable).toBe(false);
  });

  test('as JSON has neither stack nor cause', () => {
    const receipt = { v: 1, messageId: 'm1', invocationId: 'e-1', status: 'queue full' } as const;
    const error = new MessageRejected('full', { details: { receipt }, cause: new Error('a secret') });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      code: 'HOLDFAST_MESSAGE_REJECTED',
      message: 'full',
      status: 409,
      retryable: true,
      docs: 'docs/errors.md#holdfast_message_rejected',
      details: { receipt },
    });
  });

  test('may have a code that the table doesn’t have, as a tool’s own', () => {
    const error = new ToolError('declined', { code: 'DECLINED' });
    expect(error).toMatchObject({ name: 'ToolError', code: 'DECLINED', retryable: true });
    expect([error.status, error.docs]).toEqual([undefined, undefined]);
  });

  test('belongs to its group', () => {
    const error = new StoreUnavailable('away');
    expect(error).toBeInstanceOf(StoreError);
    expect(error.name).toBe('StoreUnavailable');
    expect(hasCode(error, 'HOLDFAST_STORE_UNAVAILABLE')).toBe(true);
    expect(hasCode(error, 'HOLDFAST_STORE_FAILED')).toBe(false);
  });
});

describe('an error of another copy of the package', () => {
  const Copy = { TurnRunning: class TurnRunning extends codedError('HOLDFAST_TURN_RUNNING') {} };

  test('is one of this copy’s class', () => {
    const error = new Copy.TurnRunning('a turn runs');
    expect(error).toBeInstanceOf(TurnRunning);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).not.toBeInstanceOf(MessageRejected);
  });

  test('is none of a class that a user derives', () => {
    class Mine extends TurnRunning {}
    expect(new TurnRunning('a turn runs')).not.toBeInstanceOf(Mine);
    expect(new Mine('a turn runs')).toBeInstanceOf(TurnRunning);
  });

  test.each([undefined, null, 'HOLDFAST_TURN_RUNNING', { code: 'HOLDFAST_TURN_RUNNING' }, new Error('x')])(
    'is not %s',
    (value) => {
      expect(value).not.toBeInstanceOf(TurnRunning);
      expect(value).not.toBeInstanceOf(HoldfastError);
    },
  );
});

describe('an error that the gateway has told', () => {
  /** A stream's own, with the place to follow from; the rest happens in the gateway's process alone. */
  const OTHERS = ['FollowerTooSlow', 'GatewayError', 'IssuerUnreachable', 'WebhookNotReady'];
  const told = Object.entries<ErrorEntry>(ERROR_CODES).filter(
    ([, { name, status }]) => status !== undefined && name !== undefined && !OTHERS.includes(name),
  );

  test.each(told)('%s has the class that HoldfastClient throws', async (code, { name, status }) => {
    const error = await errorOf({ code, message: 'field: why', details: {} }, status ?? 0);
    expect(error).toBeInstanceOf(HoldfastError);
    expect(error).toMatchObject({ code, status, message: 'field: why' });
    expect(error.constructor.name).toBe(name);
  });

  test('has no class of its own where the client has none of the code', async () => {
    const error = await errorOf({ code: 'HOLDFAST_LATER', message: 'new', details: {} }, 418);
    expect(error).toBeInstanceOf(GatewayError);
    expect(error).toMatchObject({ code: 'HOLDFAST_LATER', status: 418, docs: undefined });
  });
});
