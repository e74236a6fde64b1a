import type { RequestEntry } from '../../protocol/gate.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import { type ContextAnswer, namesOfContext } from '../turns/call-ledger.ts';
import { type ApprovalColumns, approvalRow } from './approval-row.ts';
import type { Evidence, SignedDecision, StoredSignature } from './approval-store.ts';

const RECORD = 'select holdfast.record_signed($1, $2, $3)';
const HASTEN = 'select holdfast.hasten_request($1, $2)';
const EVIDENCE = 'select holdfast.evidence($1, $2) as answer';

/** A row of `holdfast.signatures`, as a query or as JSON gives it: only the latter has numbers for its times. */
export interface SignatureColumns {
  session_id: string;
  request_id: string;
  digest: string;
  n: number;
  at: number | string;
  came_at: number | string;
  says: StoredSignature['says'];
  principal: string;
  jws: string;
  key: StoredSignature['key'];
  signed_response: string | null;
  meant_response: string | null;
}

/** As the store answers with it. */
export interface EvidenceAnswer {
  names: ContextAnswer['names'] | null;
  requests: ApprovalColumns[];
  signatures: SignatureColumns[];
  now: number;
  stamp: string;
}

export async function recordSigned(
  database: Database,
  { session, signed, entry }: { session: string; signed: SignedDecision; entry?: RequestEntry },
): Promise<void> {
  await database.query(RECORD, [
    storableText(session),
    jsonText(signed),
    entry === undefined ? null : jsonText(entry),
  ]);
}

export async function findEvidence(database: Database, session: string, callKey: string): Promise<Evidence> {
  const [row] = await database.query<{ answer: EvidenceAnswer }>(EVIDENCE, [
    storableText(session),
    storableText(callKey),
  ]);
  return evidenceOf((row as { answer: EvidenceAnswer }).answer);
}

export async function hastenRequest(database: Database, session: string, requestId: string): Promise<void> {
  await database.query(HASTEN, [storableText(session), storableText(requestId)]);
}

export async function listSignatures(database: Database, session: string): Promise<StoredSignature[]> {
  const rows = await database.read(
    database.db
      .selectFrom('holdfast.signatures')
      .selectAll()
      .where('session_id', '=', storableText(session))
      .orderBy('request_id')
      .orderBy('n')
      .compile(),
  );
  return rows.map(signatureOf);
}

export function evidenceOf({ names, requests, signatures, now, stamp }: EvidenceAnswer): Evidence {
  const known = namesOfContext(names ?? ['', '', '']);
  return {
    requests: requests.map((request) => approvalRow(request, known)),
    signatures: signatures.map(signatureOf),
    now,
    stamp,
  };
}

function signatureOf(row: SignatureColumns): StoredSignature {
  const { signed_response: signedResponse, meant_response: meantResponse } = row;
  return {
    requestId: row.request_id,
    digest: row.digest,
    says: row.says,
    principal: row.principal,
    jws: row.jws,
    key: row.key,
    cameAt: Number(row.came_at),
    ...(signedResponse === null ? {} : { signedResponse }),
    ...(meantResponse === null ? {} : { meantResponse }),
    n: row.n,
    at: Number(row.at),
  };
}
