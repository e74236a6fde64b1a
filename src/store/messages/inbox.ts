import { type InferResult, sql } from 'kysely';
import type { Content } from '../../events/content.ts';
import { invocationIdOf } from '../../protocol/identity.ts';
import { messageDigest } from '../../protocol/message.ts';
import { contentProblem } from '../../protocol/message-limits.ts';
import type { TurnRunConfig } from '../../protocol/run-terms.ts';
import type { KeepMessagesInput, KeptMessage, MessageToKeep, WaitingMessage } from '../../protocol/step.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { newSession, sessionKeys } from '../sessions/session-key.ts';
import type { InboxRow, SessionNames, UploadMessage } from '../store.ts';
import { Unstorable } from '../store-errors.ts';

const FORGET = `delete from holdfast.inbox i where i.invocation_id = $2 and i.status = 'uploaded'
  and i.session_id = (select s.id from holdfast.sessions s where s.name_key = $1)`;

const MOST_ROWS = 1_000;

/** A waiting message as the store's statements return it. */
export type InboxEntry = [
  messageId: string,
  invocationId: string,
  agent: string | null,
  runConfig: TurnRunConfig | null,
  place: number,
  digest: string,
  bytes: number,
];

export function waitingMessage(entry: InboxEntry): WaitingMessage {
  const [messageId, invocationId, agent, runConfig, place, digest, bytes] = entry;
  return {
    messageId,
    invocationId,
    ...(agent === null ? {} : { agent }),
    ...(runConfig === null ? {} : { runConfig }),
    place,
    digest,
    bytes,
  };
}

/** A message whose values the database can hold, as far as this side can tell. */
interface Storable {
  keep: MessageToKeep;
  message: JsonDocument | null;
  delta: JsonDocument | null;
  config: JsonDocument | null;
}

type Refused = Extract<KeptMessage, { kind: 'refused' }>;
type Kept = Exclude<KeptMessage, Refused>['kind'];

/** @throws Unstorable where the session's names are not storable */
export async function keepMessages(
  database: Database,
  keep: Omit<KeepMessagesInput, 'v'>,
): Promise<KeptMessage[]> {
  const session = newSession(keep);
  const write = async (messages: readonly Storable[]): Promise<KeptMessage[]> => {
    if (messages.length === 0) return [];
    try {
      const kinds = await writeMessages(database, session, keep.startedAt, messages);
      return messages.map(({ keep: { messageId } }, index) => ({ messageId, kind: kinds[index] ?? 'kept' }));
    } catch (error) {
      if (!(error instanceof Unstorable)) throw error;
      const [only, ...others] = messages;
      if (only !== undefined && others.length === 0) return [refused(only.keep, error)];
      // One of them can't be stored: it must not hold up the others.
      const kept: KeptMessage[] = [];
      for (const message of messages) kept.push(...(await write([message])));
      return kept;
    }
  };
  const given = keep.messages.map(storable);
  const kept = await write(given.flatMap((message) => ('kind' in message ? [] : [message])));
  return given.map((message) => ('kind' in message ? message : (kept.shift() as KeptMessage)));
}

function storable(keep: MessageToKeep): Storable | Refused {
  try {
    const { messageId, message, stateDelta, runConfig, stored, rejected } = keep;
    checkedId(messageId);
    if (stored || rejected !== undefined) {
      return { keep, message: null, delta: null, config: optionalJson(runConfig) };
    }
    if (message === undefined) throw new Unstorable('message: it has no content');
    const problem = contentProblem(message, stateDelta);
    if (problem !== undefined) throw new Unstorable(problem);
    return {
      keep,
      message: JsonDocument.of(contentOf(message)),
      delta: deltaJson(stateDelta),
      config: optionalJson(runConfig),
    };
  } catch (error) {
    if (error instanceof Unstorable) return refused(keep, error);
    throw error;
  }
}

function refused({ messageId }: MessageToKeep, { message: reason }: Unstorable): Refused {
  return { messageId, kind: 'refused', reason };
}

function writeMessages(
  database: Database,
  session: ReturnType<typeof newSession>,
  startedAt: number,
  messages: readonly Storable[],
): Promise<(Kept | null)[]> {
  return callFunction(database, 'keep_messages', {
    ...session,
    started_at: startedAt,
    messages: messages.map(({ keep, ...content }) => ({
      message_id: keep.messageId,
      invocation: keep.invocationId,
      place: keep.place,
      digest: keep.digest,
      bytes: keep.bytes,
      uploaded: keep.stored ?? false,
      agent: optionalText(keep.agent),
      reason: optionalText(keep.rejected),
      requester: optionalText(keep.requester),
      ...content,
    })),
  });
}

export async function uploadMessage(
  database: Database,
  upload: UploadMessage,
): Promise<{ digest: string; bytes: number }> {
  const { app, userId, sessionId, messageId, message, stateDelta } = upload;
  checkedId(messageId);
  const content = jsonText(contentOf(message));
  const digest = messageDigest(message, stateDelta);
  const bytes = Buffer.byteLength(content);
  await callFunction(database, 'upload_message', {
    ...newSession(upload),
    message_id: messageId,
    invocation: invocationIdOf(app, userId, sessionId, messageId),
    digest,
    bytes,
    message: new JsonDocument(content),
    delta: deltaJson(stateDelta),
  });
  return { digest, bytes };
}

/** What waits, in order, then what was put here before its message was sent, then what was rejected, the newest first. */
export async function readInbox(database: Database, names: SessionNames): Promise<InboxRow[]> {
  const rows = await database.read(
    inboxOf(database, names)
      .orderBy((eb) => eb.case('i.status').when('waiting').then(1).when('uploaded').then(2).else(3).end())
      .orderBy('i.chain_started_at')
      .orderBy('i.place')
      .orderBy(sql`case when i.status = 'rejected' then i.created_at end desc`)
      .orderBy('i.created_at')
      .limit(MOST_ROWS)
      .compile(),
  );
  return rows.map(inboxRow);
}

export async function findWaiting(
  database: Database,
  names: SessionNames,
  invocationId: string,
): Promise<InboxRow | undefined> {
  const [row] = await database.read(
    inboxOf(database, names).where('i.invocation_id', '=', invocationId).compile(),
  );
  return row && inboxRow(row);
}

export async function forgetUpload(
  database: Database,
  names: SessionNames,
  messageId: string,
): Promise<void> {
  const { app, userId, sessionId } = names;
  checkedId(messageId);
  await database.query(FORGET, [sessionKeys(names).name, invocationIdOf(app, userId, sessionId, messageId)]);
}

function inboxOf(database: Database, names: SessionNames) {
  return database.db
    .selectFrom('holdfast.inbox as i')
    .innerJoin('holdfast.sessions as s', 's.id', 'i.session_id')
    .select(['i.message_id', 'i.invocation_id', 'i.agent', 'i.run_config', 'i.place', 'i.digest', 'i.bytes'])
    .select(['i.status', 'i.reason', 'i.created_at'])
    .where('s.name_key', '=', sessionKeys(names).name);
}

type FoundRow = InferResult<ReturnType<typeof inboxOf>>[number];

function inboxRow(row: FoundRow): InboxRow {
  return {
    ...waitingMessage([
      row.message_id,
      row.invocation_id,
      row.agent,
      row.run_config,
      row.place,
      row.digest,
      Number(row.bytes),
    ]),
    status: row.status,
    ...(row.reason === null ? {} : { reason: row.reason }),
    createdAt: row.created_at.getTime(),
  };
}

/** As the model gets it: a message is the user's, whatever its content says. */
function contentOf(message: string | Content): Content {
  const content = typeof message === 'string' ? { parts: [{ text: message }] } : message;
  return { ...content, role: 'user' };
}

function optionalText(value: string | undefined): string | null {
  return value === undefined ? null : storableText(value);
}

function optionalJson(value: unknown): JsonDocument | null {
  return value === undefined ? null : JsonDocument.of(value);
}

function deltaJson(delta: unknown): JsonDocument | null {
  const document = optionalJson(delta);
  const { text } = document ?? {};
  if (document === null || text === 'null' || text?.startsWith('{')) return document;
  const shape = text?.startsWith('[') ? 'an array' : `a ${typeof JSON.parse(document.text)}`;
  throw new Unstorable(`stateDelta is ${shape}: give an object, whose keys are those of the state`);
}

/** An id that comes back in other characters is another message's. */
function checkedId(messageId: string): void {
  if (messageId.isWellFormed() && !messageId.includes('\0')) return;
  throw new Unstorable('messageId holds a NUL character or a lone surrogate: use well-formed Unicode text');
}
