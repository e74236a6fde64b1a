import { randomUUID } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Event } from '../events/event.ts';
import { Batch } from './batch.ts';
import { placeOfCall } from './call-place.ts';
import type { Database } from './database.ts';
import { jsonArray, jsonText, storableText } from './json-text.ts';
import type { BeginCall, BegunCall, CallActions, SessionNames, SettleCall, SettledCall } from './store.ts';
import { StoreBehindHistory, StoreUnavailable } from './store-errors.ts';

const BEGIN = `select
  (select json_agg(b) from holdfast.begin_calls_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) b) as calls,
  (select json_agg(c) from holdfast.run_contexts_1($11, $12, $13) c) as contexts`;
const SETTLE = 'select * from holdfast.settle_calls_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)';

/** A call begun costs little to send; the limit that counts is that of items. */
const BYTES_OF_A_BEGIN = 256;

const MOST_CONTENT_BYTES = 16 * 1024 * 1024;

interface BegunRow {
  n: number;
  status: 'started' | 'settled';
  response: Record<string, unknown>;
  failed: boolean;
  actions: CallActions;
  attempts: number;
  failures: number;
  unknown: boolean;
  once: Record<string, unknown> | null;
  args: Record<string, unknown> | null;
}

interface ContextRow {
  n: number;
  app: string;
  user_id: string;
  name: string;
  invocation_id: string;
  content: Event['content'] | null;
  state: string;
}

interface SettledRow {
  n: number;
  first: boolean;
  tool: string | null;
  response: Record<string, unknown> | null;
  failed: boolean;
  actions: CallActions | null;
}

/** What the calls of a run share and what never changes: read once per run. */
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
}

export interface Settlement {
  settled: SettledCall;
  runKey: string;
  tool: string;
}

/** Rows of calls. Calls that begin, or settle, at the same time share a round trip. */
export class CallLedger {
  readonly #database: Database;
  readonly #contexts = new LRUCache<string, RunContext>({
    maxSize: MOST_CONTENT_BYTES,
    sizeCalculation: ({ userContent }) => BYTES_OF_A_BEGIN + (userContent?.length ?? 0),
  });
  readonly #beginnings: Batch<Beginning, BegunCall>;
  readonly #settlings: Batch<Settling, Settlement>;

  constructor(database: Database) {
    this.#database = database;
    const separable = (error: unknown) => !(error instanceof StoreUnavailable);
    this.#beginnings = new Batch({
      key: ({ call }) => `${call.session}/${call.callKey}`,
      bytes: () => BYTES_OF_A_BEGIN,
      run: (items) => this.#beginAll(items),
      separable,
    });
    this.#settlings = new Batch({
      key: ({ call }) => `${call.session}/${call.callKey}`,
      bytes: ({ response, actions }) => response.length + actions.length,
      run: (items) => this.#settleAll(items),
      separable,
    });
  }

  /** The token keeps one beginning one attempt, however often it is sent. */
  begin(call: BeginCall): Promise<BegunCall> {
    placeOfCall(call.callKey);
    return this.#beginnings.add({ call, token: randomUUID() });
  }

  settle(call: SettleCall): Promise<Settlement> {
    placeOfCall(call.callKey);
    const { response, actions } = call;
    return this.#settlings.add({
      call,
      token: randomUUID(),
      response: jsonText(response),
      actions: jsonText(actions),
    });
  }

  async #beginAll(items: readonly Beginning[]): Promise<(BegunCall | Error)[]> {
    const runs = new Map(items.map(({ call }) => [contextKey(call), call]));
    const shared = [...runs.values()];
    const contexts = new Map([...runs.keys()].map((key) => [key, this.#contexts.get(key)]));
    const column = <T>(read: (call: BeginCall) => T) => items.map(({ call }) => read(call));
    const [answer] = await this.#database.query<{
      calls: BegunRow[] | null;
      contexts: ContextRow[] | null;
    }>(BEGIN, [
      column(({ session }) => session),
      column(({ callKey }) => callKey),
      column(({ runKey }) => runKey),
      column(({ callKey }) => placeOfCall(callKey).step),
      column(({ callKey }) => placeOfCall(callKey).index),
      column(({ callId }) => storableText(callId)),
      column(({ tool }) => storableText(tool)),
      column(({ argsDigest }) => argsDigest),
      items.map(({ token }) => token),
      column(({ wantArgs }) => wantArgs),
      shared.map(({ session }) => session),
      shared.map(({ runKey }) => runKey),
      shared.map((call) => contexts.get(contextKey(call)) === undefined),
    ]);
    const states = new Map<string, string>();
    for (const row of answer?.contexts ?? []) {
      const key = contextKey(shared[row.n - 1] as BeginCall);
      states.set(key, row.state);
      if (contexts.get(key) !== undefined) continue;
      contexts.set(key, runContext(row));
      this.#contexts.set(key, runContext(row));
    }
    const begun = new Map(answer?.calls?.map((row) => [row.n, row]));
    return items.map(({ call }, index) => {
      const row = begun.get(index + 1);
      const context = contexts.get(contextKey(call));
      const state = states.get(contextKey(call));
      if (row?.status === 'settled') {
        const { response, failed, actions } = row;
        return { kind: 'settled', response, failed, actions };
      }
      if (row === undefined || context === undefined || state === undefined) {
        return new StoreBehindHistory(`run ${call.runKey} of call ${call.callKey} is not in the store`);
      }
      if (call.wantArgs && row.args === null) {
        return new StoreBehindHistory(`the arguments of call ${call.callKey} are not in the store`);
      }
      return {
        kind: 'started',
        names: context.names,
        invocationId: context.invocationId,
        userContent: context.userContent === undefined ? undefined : JSON.parse(context.userContent),
        state: JSON.parse(state),
        ...(row.args === null ? {} : { args: row.args }),
        attempt: row.attempts,
        failures: row.failures,
        unknown: row.unknown,
        once: row.once ?? {},
      };
    });
  }

  async #settleAll(items: readonly Settling[]): Promise<(Settlement | Error)[]> {
    const column = <T>(read: (call: SettleCall) => T) => items.map(({ call }) => read(call));
    const rows = await this.#database.query<SettledRow>(SETTLE, [
      column(({ session }) => session),
      column(({ callKey }) => callKey),
      column(({ callKey }) => placeOfCall(callKey).runKey),
      column(({ callKey }) => placeOfCall(callKey).step),
      column(({ callKey }) => placeOfCall(callKey).index),
      jsonArray(items.map(({ response }) => response)),
      column(({ failed }) => failed),
      jsonArray(items.map(({ actions }) => actions)),
      column(({ stack }) => (stack === undefined ? null : storableText(stack))),
      items.map(({ token }) => token),
    ]);
    const settled = new Map(rows.map((row) => [row.n, row]));
    return items.map(({ call, response, actions }, index) => {
      const row = settled.get(index + 1);
      const { runKey } = placeOfCall(call.callKey);
      if (row === undefined) {
        return new StoreBehindHistory(`run ${runKey} of call ${call.callKey} is not in the store`);
      }
      const { first, failed } = row;
      return {
        runKey,
        tool: row.tool ?? '',
        settled: {
          first,
          failed,
          response: first ? JSON.parse(response) : row.response,
          actions: first ? JSON.parse(actions) : row.actions,
        },
      };
    });
  }
}

function contextKey({ session, runKey }: BeginCall): string {
  return `${session}/${runKey}`;
}

function runContext({ app, user_id, name, invocation_id, content }: ContextRow): RunContext {
  return {
    names: { app, userId: user_id, sessionId: name },
    invocationId: invocation_id,
    userContent: content === null ? undefined : JSON.stringify(content),
  };
}
