import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Event } from '../../events/event.ts';
import { placeOfCall, stepKeyOf } from '../../protocol/identity.ts';
import { Batch } from '../engine/batch.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, partsText, storableText } from '../engine/json-text.ts';
import { JsonDocument, recordsText } from '../engine/sql-function.ts';
import { type StateParts, stateOf } from '../sessions/event-rows.ts';
import type { SessionNames } from '../sessions/session-names.ts';
import { attemptReplaced, StoreBehindHistory, StoreUnavailable } from '../store-errors.ts';
import {
  ASK_ONCE,
  BEGIN_FIRST,
  BEGIN_MANY,
  BEGIN_NEXT,
  SETTLE_MANY,
  SETTLE_STARTED,
} from './call-statements.ts';
import type { AskedOnce, BeginCall, BegunCall, CallActions, SettleCall, SettledCall } from './call-store.ts';
import { type RememberedColumn, rememberedOf } from './remembered.ts';
import type { UnawaitedBeginnings } from './unawaited-beginnings.ts';

/** A call begun, or a question, costs little to send; the limit that counts is that of items. */
const BYTES_OF_A_BEGIN = 256;

const MOST_CONTENT_BYTES = 16 * 1024 * 1024;

const SIBLINGS = 'select holdfast.settled_delta($1, $2) as delta';

/** The store's answer about a call that begins. */
export type BegunAnswer =
  | { settled: true; response: Record<string, unknown>; failed: boolean; actions: CallActions }
  | { settled?: undefined; late: true }
  | {
      settled?: undefined;
      late?: undefined;
      attempts: number;
      failures: number;
      unknown: boolean;
      once: Record<string, unknown> | null;
      args: Record<string, unknown> | null;
      error: string | null;
      prepared: CallActions | null;
    };

/** The store's answer about the call's run. */
export interface ContextAnswer {
  names: [app: string, userId: string, sessionId: string];
  invocationId: string;
  content: Event['content'] | null;
  state: StateParts;
  remembered: RememberedColumn;
}

/** The part of a run that its calls see and that changes from step to step. */
type Changing = Pick<ContextAnswer, 'state' | 'remembered'>;

interface SettledRow {
  n: number;
  first: boolean;
  tool: string | null;
  /** Where another outcome was the first. */
  response?: Record<string, unknown> | null;
  failed: boolean;
  actions?: CallActions | null;
}

/** The part of a run that its calls share and that never changes: read once per run. */
interface RunContext {
  names: SessionNames;
  invocationId: string;
  userContent: string | undefined;
}

interface Beginning {
  call: BeginCall;
  token: string;
}

interface Settling {
  call: SettleCall;
  token: string;
  response: string;
  actions: string;
  parts: string | null;
}

export interface Settlement {
  settled: SettledCall;
  runKey: string;
  tool: string;
}

interface OnceRow {
  n: number;
  found: boolean;
  value: unknown;
  newest: boolean;
}

/** Rows of calls. Calls that begin, ask or settle at the same time share a round trip. */
export class CallLedger {
  readonly #database: Database;
  readonly #unawaited: UnawaitedBeginnings;
  readonly #contexts = new LRUCache<string, RunContext>({
    maxSize: MOST_CONTENT_BYTES,
    sizeCalculation: ({ userContent }) => BYTES_OF_A_BEGIN + (userContent?.length ?? 0),
  });
  readonly #beginnings: Batch<Beginning, BegunCall>;
  readonly #settlings: Batch<Settling, Settlement>;
  readonly #questions: Batch<AskedOnce, unknown>;

  constructor(database: Database, unawaited: UnawaitedBeginnings) {
    this.#database = database;
    this.#unawaited = unawaited;
    const separable = (error: unknown) => !(error instanceof StoreUnavailable);
    this.#beginnings = new Batch({
      key: ({ call }) => `${call.session}/${call.callKey}`,
      bytes: () => BYTES_OF_A_BEGIN,
      run: async (items) => (only(items) ? [await this.#beginOne(items[0])] : this.#beginMany(items)),
      separable,
    });
    this.#settlings = new Batch({
      key: ({ call }) => `${call.session}/${call.callKey}`,
      bytes: ({ response, actions, parts }) => response.length + actions.length + (parts?.length ?? 0),
      run: async (items) => (only(items) ? [await this.#settleOne(items[0])] : this.#settleMany(items)),
      separable,
    });
    this.#questions = new Batch({
      key: ({ session, callKey, key }) => `${session}/${callKey}/${key}`,
      bytes: () => BYTES_OF_A_BEGIN,
      run: (items) => this.#askMany(items),
      separable,
    });
  }

  /** The token keeps one beginning one attempt, however often it is sent. */
  async begin(call: BeginCall): Promise<BegunCall> {
    const { runKey, step } = placeOfCall(call.callKey);
    // Before the attempt counts: one that failed here would leave an unknown outcome.
    const delta = call.seesSiblings ? await this.#settledDelta(call.session, stepKeyOf(runKey, step)) : null;
    const token = call.token ?? randomUUID();
    const begun = await this.#beginnings.add({ call, token });
    if (this.#isUnawaited(call)) {
      const again = () => this.#beginnings.add({ call: { ...call, isRepeatable: false }, token });
      // The run has other tools by now, and one of the call's name may not be repeatable.
      if (begun.kind === 'started' && begun.remembered.toolEdits.length > 0) await again();
      else this.#unawaited.add(call.session, call.callKey, again);
    }
    return delta === null || begun.kind === 'settled'
      ? begun
      : { ...begun, state: { ...begun.state, ...delta } };
  }

  settle(call: SettleCall): Promise<Settlement> {
    placeOfCall(call.callKey);
    const { response, actions, parts } = call;
    return this.#settlings.add({
      call,
      token: call.token ?? randomUUID(),
      response: jsonText(response),
      actions: jsonText(actions),
      parts: partsText(parts),
    });
  }

  askOnce(asked: AskedOnce): Promise<unknown> {
    return this.#questions.add(asked);
  }

  #isUnawaited({ isRepeatable = false }: BeginCall): boolean {
    return isRepeatable && !this.#database.isEmbedded;
  }

  async #settledDelta(session: string, stepKey: string): Promise<Record<string, unknown> | null> {
    const [row] = await this.#database.query<{ delta: Record<string, unknown> | null }>(SIBLINGS, [
      session,
      stepKey,
    ]);
    return row?.delta ?? null;
  }

  async #beginOne(beginning: Beginning): Promise<BegunCall | Error> {
    const { call, token } = beginning;
    const { step, index } = placeOfCall(call.callKey);
    const known = this.#contexts.get(contextKey(call));
    const values = [
      call.session,
      call.callKey,
      call.runKey,
      step,
      index,
      storableText(call.callId),
      storableText(call.tool),
      call.argsDigest,
      token,
      call.wantArgs,
      call.scheduledAt ?? null,
      this.#isUnawaited(call),
      (call.isInline && call.scheduledAt) || null,
    ];
    if (known !== undefined) {
      const [row] = await this.#database.query<{ call: BegunAnswer; context: Changing | null }>(BEGIN_NEXT, [
        ...values,
        known.invocationId,
      ]);
      return begunCall(call, row?.call, known, row?.context ?? undefined);
    }
    const [row] = await this.#database.query<{ call: BegunAnswer; context: ContextAnswer | null }>(
      BEGIN_FIRST,
      values,
    );
    const context = row?.context ? this.#kept(call, row.context) : undefined;
    return begunCall(call, row?.call, context, row?.context ?? undefined);
  }

  async #beginMany(items: readonly Beginning[]): Promise<(BegunCall | Error)[]> {
    const runs = new Map(items.map(({ call }) => [contextKey(call), call]));
    const shared = [...runs.values()];
    const contexts = new Map([...runs.keys()].map((key) => [key, this.#contexts.get(key)]));
    const [answer] = await this.#database.query<{
      calls: [n: number, call: BegunAnswer][] | null;
      contexts: [n: number, context: ContextAnswer][] | null;
    }>(BEGIN_MANY, [
      recordsText(
        items.map(({ call, token }, index) => ({
          ...keyColumns(call, index),
          run_key: call.runKey,
          call_id: storableText(call.callId),
          tool: storableText(call.tool),
          digest: call.argsDigest,
          token,
          want_args: call.wantArgs,
          begun_for: call.scheduledAt,
          inline_for: (call.isInline && call.scheduledAt) || null,
        })),
      ),
      recordsText(
        shared.map((call, index) => ({
          n: index + 1,
          session_id: call.session,
          run_key: call.runKey,
          want_content: contexts.get(contextKey(call)) === undefined,
        })),
      ),
      items.every(({ call }) => this.#isUnawaited(call)),
    ]);
    const changing = new Map<string, Changing>();
    for (const [n, context] of answer?.contexts ?? []) {
      const call = shared[n - 1] as BeginCall;
      const key = contextKey(call);
      changing.set(key, context);
      if (contexts.get(key) === undefined) contexts.set(key, this.#kept(call, context));
    }
    const begun = new Map(answer?.calls);
    return items.map(({ call }, index) => {
      const key = contextKey(call);
      // Each call may change the state that it is given.
      return begunCall(call, begun.get(index + 1), contexts.get(key), structuredClone(changing.get(key)));
    });
  }

  #kept(call: BeginCall, found: ContextAnswer): RunContext {
    const { invocationId, content } = found;
    const userContent = content === null ? undefined : JSON.stringify(content);
    const context = { names: namesOfContext(found.names), invocationId, userContent };
    this.#contexts.set(contextKey(call), context);
    return context;
  }

  async #settleOne(settling: Settling): Promise<Settlement | Error> {
    const { call, token, response, actions, parts } = settling;
    if (call.actions.artifacts !== undefined)
      return (await this.#settleMany([settling]))[0] as Settlement | Error;
    const [row] = await this.#database.query<{ tool: string | null }>(SETTLE_STARTED, [
      call.session,
      call.callKey,
      response,
      call.failed,
      actions,
      call.stack === undefined ? null : storableText(call.stack),
      token,
      parts,
      call.willContinue ?? null,
    ]);
    if (row === undefined) return (await this.#settleMany([settling]))[0] as Settlement | Error;
    return settlement(settling, { first: true, failed: call.failed, tool: row.tool });
  }

  async #settleMany(items: readonly Settling[]): Promise<(Settlement | Error)[]> {
    const records = items.map(({ call, token, response, actions, parts }, index) => ({
      ...keyColumns(call, index),
      response: new JsonDocument(response),
      failed: call.failed,
      actions: new JsonDocument(actions),
      parts: parts === null ? null : new JsonDocument(parts),
      stack: call.stack === undefined ? null : storableText(call.stack),
      token,
      will_continue: call.willContinue,
    }));
    const rows = await this.#database.query<SettledRow>(SETTLE_MANY, [recordsText(records)]);
    const settled = new Map(rows.map((row) => [row.n, row]));
    return items.map((settling, index) => {
      const row = settled.get(index + 1);
      if (row) return settlement(settling, row);
      const { callKey } = settling.call;
      return new StoreBehindHistory(
        `run ${placeOfCall(callKey).runKey} of call ${callKey} is not in the store`,
      );
    });
  }

  async #askMany(items: readonly AskedOnce[]): Promise<unknown[]> {
    const records = items.map(({ session, callKey, key, attempt }, index) => ({
      n: index + 1,
      session_id: session,
      key: callKey,
      name: storableText(key),
      attempt,
    }));
    const rows = await this.#database.query<OnceRow>(ASK_ONCE, [recordsText(records)]);
    const answers = new Map(rows.map((row) => [row.n, row]));
    return items.map(({ callKey, attempt }, index) => {
      const answer = answers.get(index + 1);
      if (answer === undefined) return attempt === undefined ? undefined : neverBegun(callKey);
      if (!answer.newest) return attemptReplaced(callKey);
      return answer.found ? answer.value : undefined;
    });
  }
}

export function neverBegun(key: string): StoreBehindHistory {
  return new StoreBehindHistory(`${key} was begun and is not in the store`);
}

const only = <Item>(items: readonly Item[]): items is readonly [Item] => items.length === 1;

function keyColumns({ session, callKey }: Pick<BeginCall, 'session' | 'callKey'>, index: number) {
  const { runKey, step, index: idx } = placeOfCall(callKey);
  return { n: index + 1, session_id: session, key: callKey, run_key: runKey, step, idx };
}

function contextKey({ session, runKey }: BeginCall): string {
  return `${session}/${runKey}`;
}

export function namesOfContext([app, userId, sessionId]: ContextAnswer['names']): SessionNames {
  return { app, userId, sessionId };
}

export function begunCall(
  call: BeginCall,
  begun: BegunAnswer | undefined,
  context: RunContext | undefined,
  changing: Changing | undefined,
): BegunCall | Error {
  if (begun?.settled) {
    const { response, failed, actions } = begun;
    return { kind: 'settled', response, failed, actions };
  }
  if (begun?.late) return attemptReplaced(call.callKey);
  if (begun === undefined || context === undefined || changing === undefined) {
    const why = 'its run is not in the store, people were asked about it, or a newer attempt runs its step';
    return new StoreBehindHistory(`call ${call.callKey}: ${why}`);
  }
  if (call.wantArgs && begun.args === null) {
    return new StoreBehindHistory(`the arguments of call ${call.callKey} are not in the store`);
  }
  return {
    kind: 'started',
    names: context.names,
    invocationId: context.invocationId,
    userContent: context.userContent === undefined ? undefined : JSON.parse(context.userContent),
    state: stateOf(changing.state),
    remembered: rememberedOf(changing.remembered),
    ...(begun.args === null ? {} : { args: begun.args }),
    attempt: begun.attempts,
    failures: begun.failures,
    ...(begun.error === null ? {} : { lastError: begun.error }),
    unknown: begun.unknown,
    once: begun.once ?? {},
    ...(begun.prepared === null ? {} : { prepared: begun.prepared }),
  };
}

function settlement({ call, response, actions }: Settling, row: Omit<SettledRow, 'n'>): Settlement {
  const { first, failed, tool } = row;
  return {
    runKey: placeOfCall(call.callKey).runKey,
    tool: tool ?? '',
    settled: {
      first,
      failed,
      response: row.response ?? JSON.parse(response),
      actions: row.actions ?? JSON.parse(actions),
    },
  };
}
