import { createHash, randomUUID } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import type { AuditProblem } from '../../contract/audit.ts';
import { DEFAULT_LISTED, DEFAULT_REQUEST_STATUS, GATE_KINDS } from '../../contract/lists.ts';
import type { ApprovalRow, RequestStatus } from '../../contract/requests.ts';
import { canonicalJson } from '../../protocol/canonical-json.ts';
import { placeOfCall } from '../../protocol/identity.ts';
import { defined } from '../../protocol/json.ts';
import { checkWhole } from '../engine/arguments.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import type { Tables } from '../engine/tables.ts';
import type { LiveNotices } from '../live/live-notices.ts';
import { eventArguments } from '../sessions/event-rows.ts';
import { firstRows, listedBySessions, rootOf } from '../sessions/session-tree.ts';
import { StoreBehindHistory } from '../store-errors.ts';
import { type BegunAnswer, begunCall, type ContextAnswer, namesOfContext } from '../turns/call-ledger.ts';
import { type ApprovalColumns, approvalRow, type SignatureColumns, storedSignature } from './approval-row.ts';
import type { ApprovalStore, BeginAnsweredCall, BegunAnsweredCall, Evidence } from './approval-store.ts';

const PENDING: readonly RequestStatus[] = [DEFAULT_REQUEST_STATUS];

type NamedRow = Awaited<ReturnType<ReturnType<typeof approvalsOf>['executeTakeFirstOrThrow']>>;

const RECORD_ENTRIES = 'select holdfast.record_entries($1, $2)';
const RECORD_SIGNED = 'select holdfast.record_signed($1, $2, $3)';
const EXPIRE_FOR_TEST = 'select holdfast.hasten_request($1, $2)';
const EVIDENCE = 'select holdfast.evidence($1, $2) as answer';

/** As the store answers with it. */
interface EvidenceAnswer {
  names: ContextAnswer['names'] | null;
  requests: ApprovalColumns[];
  signatures: SignatureColumns[];
  now: number;
  stamp: string;
}

const KEEP_RESPONSE = `insert into holdfast.responses (session_id, ref, request_id, response, is_text)
select s.id, $2, $3, $4::json, $5::boolean from holdfast.sessions s where s.id = $1
on conflict on constraint responses_pkey do update set response = excluded.response, is_text = excluded.is_text`;

const FIND_RESPONSE = `select r.response, r.is_text from holdfast.responses r
where r.ref = $1 and r.session_id = $2 and r.request_id = $3`;

interface BeginAnswer {
  call?: BegunAnswer;
  closed?: ApprovalColumns;
  names?: ContextAnswer['names'];
  context?: ContextAnswer;
  siblings?: Record<string, unknown> | null;
  requests?: ApprovalColumns[];
  evidence?: EvidenceAnswer;
}

export function postgresApprovals(database: Database, live: LiveNotices): ApprovalStore {
  return {
    async findRequest(session, requestId) {
      const [row] = await database.read(
        approvalsOf(database)
          .where('a.request_id', '=', storableText(requestId))
          .where('a.session_id', '=', storableText(session))
          .compile(),
      );
      return row && namedRow(row);
    },
    async find(requestId) {
      const [row] = await database.read(
        approvalsOf(database).where('a.request_id', '=', storableText(requestId)).limit(1).compile(),
      );
      return row && namedRow(row);
    },
    /** @throws TypeError where `limit` is no whole number */
    async list({
      rootWorkflowId,
      kind,
      order,
      status = PENDING,
      limit = DEFAULT_LISTED,
      after,
      ...whose
    } = {}) {
      checkWhole('limit', limit);
      if (status.length === 0) return [];
      const listed = await listedBySessions(database, whose);
      const root = rootWorkflowId === undefined ? undefined : [storableText(rootWorkflowId)];
      const page = firstRows<Selectable<Tables['holdfast.approvals']>>('holdfast.approvals', {
        ...listed,
        among: {
          ...listed.among,
          ...defined({ root_workflow_id: root }),
          status,
          kind: kind === undefined ? GATE_KINDS : [kind],
        },
        id: 'request_id',
        after: after && { since: after.since, id: after.requestId },
        ...{ order, limit },
      });
      // The page first, then its names: else a planner may read all there is to sort it.
      const direction = order === 'newest' ? 'desc' : 'asc';
      const named = database.db
        .selectFrom(page.as('a'))
        .innerJoin('holdfast.sessions as o', 'o.id', 'a.session_id')
        .innerJoin('holdfast.sessions as s', (on) => on.on('s.id', '=', rootOf('o')))
        .selectAll('a')
        .select(['s.app', 's.user_id', 's.name'])
        .orderBy('a.since', direction)
        .orderBy('a.request_id', direction);
      return (await database.read(named.compile())).map(namedRow);
    },
    async recordEntries({ session, entries }) {
      if (entries.length > 0) await database.query(RECORD_ENTRIES, [session, jsonText(entries)]);
    },
    async suspendCall({ session, runKey, callKey, attempt, request, event, holds = false }) {
      const suspended = await callFunction<{ seq: number; appended: boolean } | null>(
        database,
        'suspend_call',
        {
          session,
          run_key: runKey,
          step: placeOfCall(callKey).step,
          call_key: callKey,
          attempt,
          request: JsonDocument.of(request),
          holds,
          event_id: randomUUID(),
          ...eventArguments(event, request.agent),
        },
      );
      if (suspended?.appended) live.tell({ type: 'appended', session, seq: suspended.seq });
      return suspended !== null;
    },
    async recordSigned({ session, signed, entry }) {
      await database.query(RECORD_SIGNED, [
        storableText(session),
        jsonText(signed),
        entry === undefined ? null : jsonText(entry),
      ]);
    },
    async findEvidence(session, callKey) {
      const [row] = await database.query<{ answer: EvidenceAnswer }>(EVIDENCE, [
        storableText(session),
        storableText(callKey),
      ]);
      return evidenceOf((row as { answer: EvidenceAnswer }).answer);
    },
    async beginAnsweredCall(call) {
      const begun = await beginAnsweredCall(database, call);
      if (begun.kind === 'started' && !call.closes) {
        const { session, runKey, callKey, tool } = call;
        live.tell({ type: 'call started', session, runKey, callKey, tool, attempt: begun.attempt });
      }
      return begun;
    },
    async expireForTest(session, requestId) {
      await database.query(EXPIRE_FOR_TEST, [storableText(session), storableText(requestId)]);
    },
    async listSignatures(session) {
      const rows = await database.read(
        database.db
          .selectFrom('holdfast.signatures')
          .selectAll()
          .where('session_id', '=', storableText(session))
          .orderBy('request_id')
          .orderBy('n')
          .compile(),
      );
      return rows.map(storedSignature);
    },
    /** @throws Unstorable */
    async keepResponse(kept) {
      const { session, requestId, responseRef, response, isText } = kept;
      await database.query(KEEP_RESPONSE, [
        session,
        responseRef,
        storableText(requestId),
        jsonText(response),
        isText,
      ]);
    },
    async findResponse({ session, requestId, responseRef }) {
      const [row] = await database.query<{ response: unknown; is_text: boolean }>(FIND_RESPONSE, [
        storableText(responseRef),
        session,
        storableText(requestId),
      ]);
      return row && { response: row.response, isText: row.is_text };
    },
    /** By its own reading of the chain: nothing is asked of the database but the rows. */
    async verifyAudit(session) {
      const rows = await database.read(
        database.db
          .selectFrom('holdfast.audit')
          .select([
            'n',
            'at',
            'kind',
            'facts',
            'hash',
            'salt',
            sql<string | null>`content::text`.as('content'),
          ])
          .where('session_id', '=', storableText(session))
          .orderBy('n')
          .compile(),
      );
      const problems: AuditProblem[] = [];
      const deletedAt = Math.max(0, ...rows.filter(({ kind }) => kind === 'deleted').map(({ n }) => n));
      let before = '';
      for (const [index, { n, at, kind, facts, hash, salt, content }] of rows.entries()) {
        if (n !== index + 1) problems.push({ n, problem: `row ${index + 1} is missing` });
        const own = sha256(canonicalJson([before, session, n, at.getTime(), kind, facts]));
        if (own !== hash)
          problems.push({ n, problem: 'the hash is not that of the row and of the one before it' });
        const { contentDigest } = facts;
        if (content !== null && contentDigest !== sha256(`${salt}${content}`)) {
          problems.push({ n, problem: 'the content is not that of its digest' });
        } else if (content === null && contentDigest !== undefined && n > deletedAt) {
          problems.push({ n, problem: 'the content is missing, and its session was not deleted' });
        }
        // A row that was changed is one problem, not one of all that come after it.
        before = hash;
      }
      return { ok: problems.length === 0, rows: rows.length, problems };
    },
  };
}

function approvalsOf(database: Database) {
  return database.db
    .selectFrom('holdfast.approvals as a')
    .innerJoin('holdfast.sessions as o', 'o.id', 'a.session_id')
    .innerJoin('holdfast.sessions as s', (on) => on.on('s.id', '=', rootOf('o')))
    .selectAll('a')
    .select(['s.app', 's.user_id', 's.name']);
}

function namedRow(row: NamedRow): ApprovalRow {
  return approvalRow(row, { app: row.app, userId: row.user_id, sessionId: row.name });
}

function evidenceOf({ names, requests, signatures, now, stamp }: EvidenceAnswer): Evidence {
  const known = namesOfContext(names ?? ['', '', '']);
  return {
    requests: requests.map((request) => approvalRow(request, known)),
    signatures: signatures.map(storedSignature),
    now,
    stamp,
  };
}

async function beginAnsweredCall(database: Database, call: BeginAnsweredCall): Promise<BegunAnsweredCall> {
  const { step, index } = placeOfCall(call.callKey);
  const answer = await callFunction<BeginAnswer>(database, 'begin_answered', {
    session: call.session,
    call_key: call.callKey,
    run_key: call.runKey,
    step,
    index,
    call_id: storableText(call.callId),
    tool: storableText(call.tool),
    args_digest: call.argsDigest,
    // It keeps one beginning one attempt, however often it is sent.
    token: call.token ?? randomUUID(),
    want_args: call.wantArgs,
    sees_siblings: call.seesSiblings ?? false,
    request_id: storableText(call.requestId),
    entries: JsonDocument.of(call.entries),
    closes: call.closes ?? false,
    proven: call.proven,
    scheduled_at: call.scheduledAt,
  });
  const { call: begun, closed, names, context, siblings, requests, evidence } = answer;
  if (evidence !== undefined) return { kind: 'unproven', evidence: evidenceOf(evidence) };
  if (closed !== undefined && names !== undefined) {
    return { kind: 'closed', request: approvalRow(closed, namesOfContext(names)) };
  }
  const started = begunCall(call, begun, context && contextOf(context), context);
  if (started instanceof Error) throw started;
  if (started.kind === 'settled') return started;
  if (requests === undefined)
    throw new StoreBehindHistory(`call ${call.callKey} has no request in the store`);
  return {
    ...started,
    state: { ...started.state, ...siblings },
    requests: requests.map((request) => approvalRow(request, started.names)),
  };
}

function contextOf({ names, invocationId, content }: ContextAnswer) {
  return {
    names: namesOfContext(names),
    invocationId,
    userContent: content === null ? undefined : JSON.stringify(content),
  };
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
