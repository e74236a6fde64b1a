import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { TurnUsage } from '../../../../src/contract/sessions.ts';
import type { Part } from '../../../../src/events/content.ts';
import { createEventActions, type EventActions } from '../../../../src/events/event-actions.ts';
import type { ChainFence } from '../../../../src/protocol/agent-run.ts';
import { callKeyOf, invocationIdOf } from '../../../../src/protocol/identity.ts';
import type { ToolEdit } from '../../../../src/protocol/run-terms.ts';
import type { PlannedCall, StepOutcome } from '../../../../src/protocol/step.ts';
import type { InvocationOutcome } from '../../../../src/protocol/turn.ts';
import type { SavedArtifact } from '../../../../src/store/artifacts/artifact-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import type { DraftEvent } from '../../../../src/store/sessions/session-store.ts';
import type { Store } from '../../../../src/store/store.ts';
import type { BegunCall, CallActions, SettledCall } from '../../../../src/store/turns/call-store.ts';
import type {
  CommittedStep,
  NewEvent,
  OpenedStep,
  OpenStep,
  PeekedStep,
  PlannedRow,
  SettledStep,
  SettleStep,
  StepToPeek,
} from '../../../../src/store/turns/step-store.ts';

export type Opened = Extract<OpenedStep, { kind: 'open' }>;
export type Begun = Extract<BegunCall, { kind: 'started' }>;

export const USAGE = { modelCalls: 1, promptTokens: 10, outputTokens: 5, totalTokens: 15 };

/** What so many steps use. */
export function total(steps: number): typeof USAGE {
  return Object.fromEntries(
    Object.entries(USAGE).map(([key, value]) => [key, steps * value]),
  ) as typeof USAGE;
}

const COMPLETED: InvocationOutcome = { status: 'completed', text: 'done', usage: USAGE };

/** Behind the chains that tests name by small numbers: one that had such a number would know their messages as its own. */
let startedAt = 1_000;

export function newNames(): SessionNames {
  return { app: `app-${randomUUID()}`, userId: 'ada', sessionId: 's1' };
}

/** A later chain of runs than all before it. */
export function nextFence(): ChainFence {
  startedAt += 1;
  return { startedAt, invocation: 1 };
}

export interface TurnSettings {
  names?: SessionNames;
  messageId?: string;
  fence?: ChainFence;
}

/** The calls that a workflow's activities make to the store, for one invocation. */
export class Turn {
  readonly store: Store;
  readonly names: SessionNames;
  readonly messageId: string;
  readonly invocationId: string;
  fence: ChainFence;
  session = '';
  seq = 0;

  constructor(store: Store, { names = newNames(), messageId = randomUUID(), fence }: TurnSettings = {}) {
    this.store = store;
    this.names = names;
    this.messageId = messageId;
    this.invocationId = invocationIdOf(names.app, names.userId, names.sessionId, messageId);
    this.fence = fence ?? nextFence();
  }

  callKey(step: number, index: number): string {
    return callKeyOf(this.invocationId, step, index);
  }

  async open(
    step: number,
    {
      text = 'hi',
      stateDelta = {} as Record<string, unknown>,
      knownSeq = 0,
      digest = undefined as string | undefined,
      fromInbox = false,
      session = undefined as string | undefined,
      asked = undefined as OpenStep['asked'],
      responses = undefined as DraftEvent | undefined,
      mayGiveWay = false,
      requester = undefined as string | undefined,
      scheduledAt = 0,
    } = {},
  ) {
    const message = {
      invocationId: this.invocationId,
      author: 'user',
      content: { role: 'user', parts: [{ text }] },
      actions: createEventActions({ stateDelta }),
    };
    const opened = await this.store.turns.openStep({
      ...(step === 1
        ? {
            identity: { ...this.names, messageId: this.messageId },
            ...(fromInbox ? {} : { message }),
            ...(digest === undefined ? {} : { messageDigest: digest }),
            ...(session === undefined ? {} : { session }),
            ...(asked === undefined ? {} : { asked }),
            ...(requester === undefined ? {} : { requester }),
          }
        : { session: this.session, ...(responses === undefined ? {} : { responses }) }),
      invocationId: this.invocationId,
      runKey: this.invocationId,
      step,
      scheduledAt,
      fence: this.fence,
      seq: this.seq,
      knownSeq,
      mayGiveWay,
      ...this.above(step),
    });
    this.session = opened.session;
    this.seq = opened.seq;
    return opened;
  }

  /** Who has run it, where it is no root. */
  above(_step: number): Partial<OpenStep> {
    return {};
  }

  async opened(step: number, input: Parameters<Turn['open']>[1] = {}): Promise<Opened> {
    const opened = await this.open(step, input);
    expect(opened.kind).toBe('open');
    return opened as Opened;
  }

  /** What `open` would append. */
  peek(step: number, more: Partial<StepToPeek> = {}): Promise<PeekedStep> {
    const { names, messageId, session, invocationId, fence } = this;
    return this.store.turns.peekStep({
      ...(step === 1 ? { identity: { ...names, messageId } } : { session }),
      invocationId,
      runKey: invocationId,
      step,
      fence,
      ...more,
    });
  }

  /** What user code says in a step. */
  said(text: string, actions: Partial<EventActions> = {}, author = 'clerk'): NewEvent {
    return {
      kind: 'callback',
      event: {
        invocationId: this.invocationId,
        author,
        ...(text === '' ? {} : { content: { role: 'model', parts: [{ text }] } }),
        actions: createEventActions(actions),
      },
    };
  }

  async commit(
    step: number,
    calls: number,
    {
      agent = 'clerk',
      text = 'done',
      tool = 'pay',
      rows = [] as PlannedRow[],
      actions = {} as Partial<EventActions>,
      branch = undefined as string | undefined,
      usage = USAGE as TurnUsage,
      /** Callbacks' events around the model's. */
      before = [] as NewEvent[],
      after = [] as NewEvent[],
      /** Calls that are code. */
      code = [] as readonly number[],
      /** The outcome names the calls, so that they can be retried. */
      retryable = false,
      toolEdits = undefined as readonly ToolEdit[] | undefined,
      ends = false,
      artifacts = undefined as readonly SavedArtifact[] | undefined,
    } = {},
  ): Promise<CommittedStep> {
    const planned = Array.from({ length: calls }, (_, index) => ({
      callKey: this.callKey(step, index),
      callId: code.includes(index) ? '' : `call_${index}`,
      tool,
    }));
    const committed = await this.store.turns.commitStep({
      session: this.session,
      invocationId: this.invocationId,
      runKey: this.invocationId,
      step,
      fence: this.fence,
      agent,
      events: [
        ...before,
        {
          kind: 'model',
          event: {
            invocationId: this.invocationId,
            author: agent,
            content: {
              role: 'model',
              parts:
                calls === 0
                  ? [{ text }]
                  : planned.map(({ callId }) => ({ functionCall: { id: callId, name: tool, args: {} } })),
            },
            actions: createEventActions(actions),
            ...(branch === undefined ? {} : { branch }),
          },
        },
        ...after,
      ],
      calls: planned,
      rows,
      usage,
      ...(toolEdits === undefined ? {} : { toolEdits }),
      ...(ends ? { ends } : {}),
      ...(artifacts === undefined ? {} : { artifacts }),
      outcome: outcomeOf(retryable ? planned : [], calls, agent),
      ...(calls === 0 ? { ending: COMPLETED } : {}),
    });
    this.seq = committed.seq;
    return committed;
  }

  begin(
    step: number,
    index: number,
    wantArgs = false,
    seesSiblings?: boolean,
    isRepeatable = false,
  ): Promise<BegunCall> {
    return this.store.turns.beginCall({
      session: this.session,
      runKey: this.invocationId,
      callKey: this.callKey(step, index),
      callId: `call_${index}`,
      tool: 'pay',
      argsDigest: 'digest',
      wantArgs,
      isRepeatable,
      ...(seesSiblings === undefined ? {} : { seesSiblings }),
    });
  }

  settle(
    step: number,
    index: number,
    response: Record<string, unknown>,
    actions: CallActions = {},
    parts?: Part[],
  ): Promise<SettledCall> {
    return this.store.turns.settleCall({
      session: this.session,
      callKey: this.callKey(step, index),
      response,
      failed: 'error' in response,
      actions,
      ...(parts === undefined ? {} : { parts }),
    });
  }

  end(
    step: number,
    unsettled: (Pick<
      SettleStep['unsettled'][number],
      'error' | 'response' | 'failed' | 'actions' | 'parts'
    > & {
      index: number;
      step?: number;
    })[],
    ending?: InvocationOutcome,
    cutOff?: string,
    given: Pick<NonNullable<SettleStep['ending']>, 'responses' | 'events'> = {},
  ) {
    return this.store.turns.settleStep({
      session: this.session,
      invocationId: this.invocationId,
      runKey: this.invocationId,
      step,
      fence: this.fence,
      agent: 'clerk',
      unsettled: unsettled.map(({ index, step: of = step, ...outcome }) => ({
        ...outcome,
        callKey: this.callKey(of, index),
        callId: `call_${index}`,
        tool: 'pay',
      })),
      ...(ending === undefined
        ? {}
        : {
            ending: {
              outcome: ending,
              ...errorEventOf(this, ending),
              ...(cutOff === undefined ? {} : { cutOff }),
              ...given,
            },
          }),
    }) satisfies Promise<SettledStep>;
  }

  events() {
    return this.store.sessions.readEvents(this.names);
  }
}

function outcomeOf(named: readonly Omit<PlannedCall, 'args'>[], calls: number, agent: string): StepOutcome {
  const place = { v: 1, session: '', seq: 0, agent, model: 'gemini' };
  if (calls === 0) return { ...place, kind: 'final', from: 0, outcome: COMPLETED };
  const planned = named.map((call) => ({ ...call, args: { value: {} } }));
  return { ...place, kind: 'calls', calls: planned, schedules: {}, maxParallelCalls: 32, usage: USAGE };
}

function errorEventOf(turn: Turn, { error }: InvocationOutcome) {
  if (error === undefined) return {};
  return {
    events: [
      {
        kind: 'error' as const,
        event: {
          invocationId: turn.invocationId,
          author: 'clerk',
          errorCode: error.code,
          errorMessage: error.message,
          actions: createEventActions(),
        },
      },
    ],
  };
}
