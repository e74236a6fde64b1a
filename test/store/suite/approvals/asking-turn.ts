import { createEventActions } from '../../../../src/events/event-actions.ts';
import { digestOf } from '../../../../src/protocol/canonical-json.ts';
import { type AuditEntry, type Gate, requestIdOf } from '../../../../src/protocol/gate.ts';
import type {
  BeginAnsweredCall,
  BegunAnsweredCall,
  NewRequest,
} from '../../../../src/store/approvals/approval-store.ts';
import type { DraftEvent } from '../../../../src/store/sessions/session-store.ts';
import type { CommittedStep, PlannedRow } from '../../../../src/store/turns/step-store.ts';
import { Turn, USAGE } from '../turns/turn.ts';

export const ARGS = { to: 'ada', amount: 40 };

export const ADA = { principal: 'ada', verified: true, channel: 'cli' };
export const BOB = { principal: 'bob', verified: true };

let at = 1_000;

/** Of the workflow. */
export function entry(
  requestId: string,
  nth: number,
  kind: AuditEntry['kind'],
  more: Partial<AuditEntry> = {},
): AuditEntry {
  at += 1;
  return { entryId: `${requestId}/${nth}`, requestId, kind, at, ...more };
}

/** The calls that activities make to the store for a turn that asks people. */
export class AskingTurn extends Turn {
  request(step: number, index: number, more: Partial<NewRequest> = {}, n = 1): NewRequest {
    const callKey = this.callKey(step, index);
    return {
      requestId: requestIdOf(callKey, n),
      callKey,
      callId: `call_${index}`,
      kind: 'confirmation',
      tool: 'pay',
      agent: 'clerk',
      path: ['desk', 'clerk'],
      workflowId: 'w-child',
      rootWorkflowId: `w-${this.names.app}`,
      hint: 'Pay 40 to ada?',
      args: ARGS,
      argsDigest: digestOf(ARGS),
      gateDigest: 'gate',
      sensitive: false,
      terms: {},
      ...more,
    };
  }

  requestEvent(requests: readonly NewRequest[]): DraftEvent {
    return {
      invocationId: this.invocationId,
      author: 'clerk',
      content: {
        role: 'user',
        parts: requests.map(({ requestId, callId, args, hint }) => ({
          functionCall: {
            id: requestId,
            name: 'adk_request_confirmation',
            args: {
              originalFunctionCall: { id: callId, name: 'pay', args },
              toolConfirmation: { hint, confirmed: false },
            },
          },
        })),
      },
      longRunningToolIds: requests.map(({ requestId }) => requestId),
      actions: createEventActions({
        requestedToolConfirmations: Object.fromEntries(
          requests.map(({ callId, hint }) => [callId, { hint, confirmed: false }]),
        ),
      }),
    };
  }

  /** A step whose calls wait for these requests, each of another call. */
  async commitAsking(
    step: number,
    requests: readonly NewRequest[],
    { calls = requests.length, rows = [] as PlannedRow[] } = {},
  ): Promise<CommittedStep> {
    const gates = new Map(
      requests.map(({ callKey, requestId, hint }): [string, Gate] => [
        callKey,
        { requestId, kind: 'confirmation', hint },
      ]),
    );
    const planned = Array.from({ length: calls }, (_, index) => {
      const gate = gates.get(this.callKey(step, index));
      return {
        callKey: this.callKey(step, index),
        callId: `call_${index}`,
        tool: 'pay',
        args: { value: ARGS },
        ...(gate === undefined ? {} : { prepared: true as const, gate }),
      };
    });
    const { session, invocationId, fence } = this;
    const committed = await this.store.turns.commitStep({
      session,
      invocationId,
      runKey: invocationId,
      step,
      fence,
      agent: 'clerk',
      events: [
        {
          kind: 'model',
          event: {
            invocationId,
            author: 'clerk',
            content: {
              role: 'model',
              parts: planned.map(({ callId, tool }) => ({
                functionCall: { id: callId, name: tool, args: ARGS },
              })),
            },
            actions: createEventActions(),
          },
        },
        ...(requests.length === 0 ? [] : [{ kind: 'request' as const, event: this.requestEvent(requests) }]),
      ],
      calls: planned.map(({ callKey, callId, tool }) => ({ callKey, callId, tool })),
      rows,
      requests,
      usage: USAGE,
      outcome: {
        v: 1,
        kind: 'calls',
        session: '',
        seq: 0,
        agent: 'clerk',
        model: 'gemini',
        calls: planned,
        schedules: {},
        maxParallelCalls: 32,
        usage: USAGE,
      },
    });
    this.seq = committed.seq;
    return committed;
  }

  /** A turn that waits for one request. */
  async asked(more: Partial<NewRequest> = {}): Promise<NewRequest> {
    await this.opened(1);
    const request = this.request(1, 0, more);
    await this.commitAsking(1, [request]);
    return request;
  }

  record(...entries: AuditEntry[]): Promise<void> {
    return this.store.approvals.recordEntries({ session: this.session, entries });
  }

  row(requestId: string) {
    return this.store.approvals.findRequest(this.session, requestId);
  }

  /** As whoever has verified what the store has of it. */
  async beginAnswered(
    { callKey, callId, tool, argsDigest, requestId }: NewRequest,
    entries: readonly AuditEntry[],
    more: Partial<BeginAnsweredCall> = {},
  ): Promise<BegunAnsweredCall> {
    const begin = (proven: string) =>
      this.store.approvals.beginAnsweredCall({
        session: this.session,
        runKey: this.invocationId,
        callKey,
        callId,
        tool,
        argsDigest,
        wantArgs: false,
        requestId,
        entries,
        proven,
        ...more,
      });
    const { stamp } = await this.store.approvals.findEvidence(this.session, callKey);
    let begun = await begin(stamp);
    // Another one has begun it meanwhile.
    while (begun.kind === 'unproven') begun = await begin(begun.evidence.stamp);
    return begun;
  }

  suspend(request: NewRequest, attempt: number, more: { holds?: boolean } = {}): Promise<boolean> {
    return this.store.approvals.suspendCall({
      ...more,
      session: this.session,
      runKey: this.invocationId,
      callKey: request.callKey,
      attempt,
      request,
      event: this.requestEvent([request]),
    });
  }
}
