import type { RequestName } from '../../contract/approvals.ts';
import { NAMED_REQUEST } from '../../contract/approvals.ts';
import { MOST_LISTED, REQUEST_ENDS } from '../../contract/lists.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { callKeyOfRequest, REQUEST_PREFIX, requestIdOf } from '../../protocol/gate.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import type { Store } from '../../store/store.ts';
import { checkedFields } from '../checked-input.ts';
import { AmbiguousRequest, InvalidTurn, RequestNotFound } from '../client-errors.ts';
import { sessionNamesOf } from '../turns/turn-names.ts';

/**
 * Names a request: by its own id, with or without its session; or by its session, with the call where several requests are
 * pending in it. An id that is another session's is not found.
 */
export type WhichRequest =
  | ({ requestId: string } & Partial<SessionNames>)
  | (SessionNames & Omit<RequestName, 'requestId'> & { requestId?: undefined });

/** A request that was named rightly; of its session where that was said, too. */
export interface NamedRequest {
  names: SessionNames | undefined;
  named: RequestName;
}

/** @throws InvalidTurn */
export function namedRequest(which: WhichRequest, method: string): NamedRequest {
  const given: unknown = which;
  if (typeof given !== 'object' || given === null) {
    throw new InvalidTurn(`${method}: expected { requestId }, or the names of a session and a call of it`);
  }
  const { app, userId, sessionId } = which;
  const ofSession = app !== undefined || userId !== undefined || sessionId !== undefined;
  const names = ofSession ? sessionNamesOf({ app, userId, sessionId } as SessionNames, method) : undefined;
  const { requestId, callKey, callId } = which as RequestName;
  const fields = Object.entries({ requestId, callKey, callId }).filter(([, value]) => value !== undefined);
  if (fields.length > 1) {
    throw new InvalidTurn(`${method}: expected one of requestId, callKey and callId, got ${fields.length}`);
  }
  const named: RequestName = checkedFields(NAMED_REQUEST, Object.fromEntries(fields), method);
  if (requestId !== undefined && callKeyOfRequest(requestId) === undefined) {
    throw new InvalidTurn(
      `${method}: requestId: expected ${REQUEST_PREFIX}<call key>.<n>, as a request shows it; a call is named by callKey or callId`,
    );
  }
  if (names === undefined && requestId === undefined) {
    throw new InvalidTurn(`${method}: expected a requestId, or app, userId and sessionId`);
  }
  return { names, named };
}

/**
 * The request that is meant: of a call, or a session, the only pending one, else the latest.
 *
 * @throws AmbiguousRequest
 */
export async function findRequest(
  store: Store,
  { names, named }: NamedRequest,
  method: string,
): Promise<ApprovalRow | undefined> {
  const { requestId, callKey, callId } = named;
  const ofSession = (row: ApprovalRow | undefined) =>
    row !== undefined && (names === undefined || isOf(row, names)) ? row : undefined;
  if (requestId !== undefined) return ofSession(await store.approvals.find(requestId));
  if (callKey !== undefined) return ofSession(await latestOfCall(store, callKey));
  const fits = (row: ApprovalRow) => callId === undefined || row.callId === callId;
  const pending = (await store.approvals.list({ ...names, limit: MOST_LISTED })).filter(fits);
  if (pending.length > 1) throw ambiguous(method, pending);
  if (pending.length === 1 || callId === undefined) return pending[0];
  return (await store.approvals.list({ ...names, status: REQUEST_ENDS, limit: MOST_LISTED })).findLast(fits);
}

/** A call asks again only when it was answered. */
async function latestOfCall(store: Store, callKey: string): Promise<ApprovalRow | undefined> {
  let latest: ApprovalRow | undefined;
  for (let n = 1; ; n += 1) {
    const row = await store.approvals.find(requestIdOf(callKey, n));
    if (row === undefined) return latest;
    latest = row;
  }
}

/**
 * The request that a function response of a message answers: by its own id, by its call's, or, without one, the session's only
 * pending one.
 */
export async function answeredRequest(
  store: Store | undefined,
  names: SessionNames,
  id: string | undefined,
): Promise<ApprovalRow | undefined> {
  if (store === undefined) return undefined;
  const row = id === undefined ? undefined : await store.approvals.find(id);
  if (row !== undefined) return isOf(row, names) ? row : undefined;
  const pending = await store.approvals.list({ ...names, limit: MOST_LISTED });
  const fitting = id === undefined ? pending : pending.filter(({ callId }) => callId === id);
  return fitting.length === 1 ? fitting[0] : undefined;
}

export function requestNotFound(method: string, { names, named }: NamedRequest): RequestNotFound {
  const [[field, value] = ['a request', '']] = Object.entries(named);
  const of = names === undefined ? '' : ` in session ${names.app}/${names.userId}/${names.sessionId}`;
  const what = value === '' ? 'nothing is asked' : `there is no request of ${field} ${value}`;
  return new RequestNotFound(`${method}: ${what}${of}: approvals.list shows those that are pending`);
}

function ambiguous(method: string, rows: readonly ApprovalRow[]): AmbiguousRequest {
  const ids = rows.map(({ requestId }) => requestId);
  return new AmbiguousRequest(
    `${method}: ${ids.length} requests are pending: name one of them by its requestId: ${ids.join(', ')}`,
    { details: { requestIds: ids } },
  );
}

function isOf(row: ApprovalRow, { app, userId, sessionId }: SessionNames): boolean {
  return row.app === app && row.userId === userId && row.sessionId === sessionId;
}
