import type { StoredEvent } from '../contract/events.ts';
import type { Part } from '../events/content.ts';
import { callKeyOf } from '../protocol/identity.ts';
import { freezeDeep } from '../schema/copy-plain.ts';
import type { ToolCallRecord } from '../tools/invocation-context.ts';
import { answeredCalls } from './call-responses.ts';
import { stepKey } from './event-visibility.ts';

/** Stands in place of the name of a code executor, which no event tells. */
export const CODE_CALL_NAME = 'executable_code';

/** The calls of one invocation that have their outcome, while its transcript grows. */
export class TurnToolCalls {
  readonly invocationId: string;
  #known = 0;
  #bytes = 0;
  /** Grows at its end only. */
  #records: ToolCallRecord[] = [];
  readonly #steps = new Set<string>();

  constructor(invocationId: string) {
    this.invocationId = invocationId;
  }

  /** How many events it has taken. */
  get known(): number {
    return this.#known;
  }

  /** About how much memory it takes beside the events. */
  get bytes(): number {
    return this.#bytes;
  }

  /** In call order, those of the last step included. */
  get now(): readonly ToolCallRecord[] {
    return Object.freeze(this.#records.slice());
  }

  /** Takes those of `events`, the whole transcript, that are new, up to seq `to`. */
  extend(events: readonly StoredEvent[], to: number): void {
    for (; this.#known < to; this.#known += 1) {
      const event = events[this.#known] as StoredEvent;
      if (event.kind === 'responses' && event.event.invocationId === this.invocationId) {
        this.#take(event, askedBefore(events, this.#known, stepKey(event)));
      }
    }
  }

  #take(responses: StoredEvent, asked: StoredEvent | undefined): void {
    if (asked === undefined) return;
    const key = stepKey(responses);
    const records = recordsOf(asked, responses);
    if (this.#steps.has(key)) {
      const again = new Set(records.map(({ callKey }) => callKey));
      this.#records = this.#records.filter(({ callKey }) => !again.has(callKey));
    }
    this.#steps.add(key);
    for (const record of records) {
      this.#bytes += freezeDeep(record);
      this.#records.push(record);
    }
  }
}

function askedBefore(events: readonly StoredEvent[], index: number, key: string): StoredEvent | undefined {
  for (let at = index - 1; at >= 0; at -= 1) {
    const event = events[at] as StoredEvent;
    if (event.kind === 'model' && stepKey(event) === key) return event;
  }
  return undefined;
}

function recordsOf(asked: StoredEvent, responses: StoredEvent): ToolCallRecord[] {
  const { invocationId } = responses.event;
  // A retry runs calls of an earlier invocation as the first step of its own.
  const isRetried = asked.event.invocationId !== invocationId;
  const runKey = isRetried ? invocationId : asked.runKey;
  const step = isRetried ? 1 : asked.step;
  const answered = answeredCalls(asked.event.content ?? {}, responses.event.content ?? {});
  return answered.map(({ call, answer }, index) => ({
    callKey: callKeyOf(runKey, step, index),
    agent: asked.event.author ?? '',
    step,
    ...callOf(call),
    ...outcomeOf(answer),
  }));
}

function callOf({ functionCall, executableCode }: Part): Pick<ToolCallRecord, 'callId' | 'name' | 'args'> {
  if (functionCall === undefined) return { callId: '', name: CODE_CALL_NAME, args: { ...executableCode } };
  const { id = '', name = '', args = {} } = functionCall;
  return { callId: id, name, args };
}

function outcomeOf({
  functionResponse,
  codeExecutionResult,
}: Part): Pick<ToolCallRecord, 'response' | 'failed'> {
  if (functionResponse === undefined) {
    const { outcome } = codeExecutionResult ?? {};
    return { response: { ...codeExecutionResult }, failed: outcome !== 'OUTCOME_OK' };
  }
  const { response = {} } = functionResponse;
  return { response, failed: isErrorAlone(response) };
}

/** The form of a call's failure. A tool that answers `{ error: null }`, or other fields too, hasn't failed. */
function isErrorAlone(response: Record<string, unknown>): boolean {
  const { error } = response;
  return Object.keys(response).length === 1 && error !== undefined && error !== null && error !== false;
}
