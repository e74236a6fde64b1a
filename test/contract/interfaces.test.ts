import { describe, expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import type { OutgoingMessage } from '../../src/client/messages/outgoing-message.ts';
import type { TOOL_JOB_START } from '../../src/contract/jobs.ts';
import type { MESSAGE_PAYLOAD, RECEIPT, sendMessage } from '../../src/contract/messages.ts';
import type { Exact, InputOf } from '../../src/contract/operation.ts';
import type {
  CHILD_START,
  cancelCall,
  getStatus,
  getTurn,
  interruptTurn,
  TURN_START,
} from '../../src/contract/turns.ts';
import type { ChildStart } from '../../src/protocol/agent-run.ts';
import type { ToolJobStart } from '../../src/protocol/job.ts';
import type {
  CancelReceipt,
  InterruptReceipt,
  MessageReceipt,
  SendMessage,
} from '../../src/protocol/message.ts';
import type { TurnRunConfig } from '../../src/protocol/run-terms.ts';
import type { AgentTurnStart, TurnResult, TurnStatus } from '../../src/protocol/turn.ts';
import type { AgentTurn } from '../../src/workflow/checked-turn.ts';

/**
 * Interfaces of messages and turns have a comment on each field, which editors show and an inferred type would lose. The compiler holds
 * them against their schemas.
 */
type Schema<Of extends z.ZodType> = Exact<z.output<Of>>;

/** Lists are as mutable in one type as in the other. */
type Plain<T> = T extends readonly (infer Item)[]
  ? Plain<Item>[]
  : T extends object
    ? { [Field in keyof T]: Plain<T[Field]> }
    : T;

type Same<A, B> = [Plain<A>] extends [Plain<B>] ? ([Plain<B>] extends [Plain<A>] ? true : false) : false;

/** Names of fields that only one of the types has, or that differ. */
type Differing<A, B> = {
  [Field in keyof A | keyof B]: Field extends keyof A & keyof B
    ? Same<A[Field], B[Field]> extends true
      ? never
      : Field
    : Field;
}[keyof A | keyof B];

/** Whether all that is an `Interface` passes the schema. */
type Passes<Interface, Of> = [Plain<Interface>] extends [Plain<Of>] ? true : false;

/** `npm run types` fails where there are any. */
function none<_Names extends never>(): void {
  expectTypeOf<Same<1, 2>>().toEqualTypeOf<false>();
}

describe('an interface with comments is the type of its schema [contract.types]', () => {
  test('messages', () => {
    none<Differing<OutgoingMessage, InputOf<typeof sendMessage>>>();
    none<Differing<TurnRunConfig, NonNullable<InputOf<typeof sendMessage>['runConfig']>>>();
    // Its own check ignores a malformed one.
    none<Differing<Omit<SendMessage, 'partOf'>, Omit<Schema<typeof MESSAGE_PAYLOAD>, 'partOf'>>>();
    // A gateway's receipt may be unconfirmed: it has another status then, and no more.
    type Told = 'v' | 'status' | 'confirmed';
    none<Differing<Required<Omit<MessageReceipt, Told>>, Required<Omit<Schema<typeof RECEIPT>, Told>>>>();
  });

  test('turns', () => {
    type Start = Omit<AgentTurnStart, 'child'>;
    none<Differing<Start, Schema<typeof TURN_START>>>();
    type OwnOptions = 'taskQueue' | 'parentClosePolicy' | 'content' | 'policy' | 'message';
    none<
      Differing<Omit<AgentTurn, OwnOptions>, Omit<Start, 'v' | 'stored' | 'retryOf' | 'ownCall' | 'message'>>
    >();
    expectTypeOf<Same<AgentTurn['message'], NonNullable<Start['message']>>>().toEqualTypeOf<true>();
    none<Differing<TurnResult, Schema<typeof getTurn.output>['result']>>();
    none<Differing<TurnStatus, NonNullable<Schema<typeof getStatus.output>['status']>>>();
    expectTypeOf<Passes<ChildStart, Schema<typeof CHILD_START>['child']>>().toEqualTypeOf<true>();
  });

  test('orders and jobs', () => {
    type Told = 'v' | 'confirmed' | 'reason';
    none<
      Differing<Required<Omit<CancelReceipt, Told>>, Required<Omit<Schema<typeof cancelCall.output>, Told>>>
    >();
    none<Differing<Omit<InterruptReceipt, Told>, Omit<Schema<typeof interruptTurn.output>, Told>>>();
    expectTypeOf<Passes<ToolJobStart, Schema<typeof TOOL_JOB_START>>>().toEqualTypeOf<true>();
  });
});
