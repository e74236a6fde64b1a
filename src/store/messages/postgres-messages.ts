import { type InferResult, sql } from 'kysely';
import { unreadable } from '../../contract/messages.ts';
import type { Content } from '../../events/content.ts';
import { invocationIdOf } from '../../protocol/identity.ts';
import { messageDigest } from '../../protocol/message.ts';
import type { TurnRunConfig } from '../../protocol/run-terms.ts';
import type { KeptMessage, MessageToKeep, WaitingMessage } from '../../protocol/step.ts';
import type { Database } from '../engine/database.ts';
import { jsonText, storableText } from '../engine/json-text.ts';
import { callFunction, JsonDocument } from '../engine/sql-function.ts';
import { newSession, type SessionNames, sessionKeys } from '../sessions/session-names.ts';
import { Unstorable } from '../store-errors.ts';
import type { DeliveryAnswer, InboxRow, MessageStore } from './message-store.ts';

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

/** A message whose values the database can hold, as far as this side can tell. */
interface Storable {
  keep: MessageToKeep;
  message: JsonDocument | null;
  delta: JsonDocument | null;
  config: JsonDocument | null;
}

type Refused = Extract<KeptMessage, { kind: 'refused' }>;

type Kept = Exclude<KeptMessage, Refused>['kind'];

type FoundRow = InferResult<ReturnType<typeof inboxOf>>[number];

const KEEP_THREAD = `insert into holdfast.channel_threads (channel, thread, app, user_id, name)
values ($1, $2, $3, $4, $5) on conflict (channel, thread) do nothing`;

const ANSWER = `update holdfast.channel_deliveries d set answer = $4
where d.channel = $1 and d.delivery = $2 and d.holder = $3 and d.answer is null`;

const RELEASE = `delete from holdfast.channel_deliveries d
where d.channel = $1 and d.delivery = $2 and d.holder = $3 and d.answer is null`;

export function postgresMessages(database: Database): MessageStore {
  return {
    /** @throws Unstorable where the session's names are not storable */
    async keep(keep) {
      const session = newSession(keep);
      const write = async (messages: readonly Storable[]): Promise<KeptMessage[]> => {
        if (messages.length === 0) return [];
        try {
          const kinds = await writeMessages(database, session, keep.startedAt, messages);
          return messages.map(({ keep: { messageId } }, index) => ({
            messageId,
            kind: kinds[index] ?? 'kept',
          }));
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
    },
    async upload(upload) {
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
    },
    /** Waiting messages in order, then contents that were stored before their message was sent, then rejected ones, the newest first. */
    async readInbox(names) {
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
    },
    async findWaiting(names, invocationId) {
      const [row] = await database.read(
        inboxOf(database, names).where('i.invocation_id', '=', invocationId).compile(),
      );
      return row && inboxRow(row);
    },
    async forgetUpload(names, messageId) {
      const { app, userId, sessionId } = names;
      checkedId(messageId);
      await database.query(FORGET, [
        sessionKeys(names).name,
        invocationIdOf(app, userId, sessionId, messageId),
      ]);
    },
    async keepThread({ channel, thread }, { app, userId, sessionId }) {
      await database.query(KEEP_THREAD, [channel, thread, app, userId, sessionId].map(storableText));
    },
    async findThread({ channel, thread }) {
      const [row] = await database.query<{ app: string; user_id: string; name: string }>(
        'select app, user_id, name from holdfast.channel_threads t where t.channel = $1 and t.thread = $2',
        [channel, thread].map(storableText),
      );
      return row && { app: row.app, userId: row.user_id, sessionId: row.name };
    },
    async takeDelivery({ channel, id, holder, time }) {
      const [row] = await database.query<{ known: { taken: boolean; answer?: DeliveryAnswer | null } }>(
        'select holdfast.take_delivery($1, $2, $3, $4) as known',
        [channel, id, holder, time ?? null],
      );
      if (row?.known.taken) return { kind: 'taken' };
      const answer = row?.known.answer;
      return answer ? { kind: 'answered', answer } : { kind: 'busy' };
    },
    async answerDelivery({ channel, id, holder, answer }) {
      await database.query(ANSWER, [channel, id, holder, jsonText(answer)]);
    },
    async releaseDelivery({ channel, id, holder }) {
      await database.query(RELEASE, [channel, id, holder]);
    },
  };
}

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

function storable(keep: MessageToKeep): Storable | Refused {
  try {
    const { messageId, message, stateDelta, runConfig, stored, rejected } = keep;
    checkedId(messageId);
    if (stored || rejected !== undefined) {
      return { keep, message: null, delta: null, config: optionalJson(runConfig) };
    }
    if (message === undefined) throw new Unstorable('message: it has no content');
    const problem = unreadable(message, stateDelta);
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

function inboxOf(database: Database, names: SessionNames) {
  return database.db
    .selectFrom('holdfast.inbox as i')
    .innerJoin('holdfast.sessions as s', 's.id', 'i.session_id')
    .select(['i.message_id', 'i.invocation_id', 'i.agent', 'i.run_config', 'i.place', 'i.digest', 'i.bytes'])
    .select(['i.status', 'i.reason', 'i.created_at'])
    .where('s.name_key', '=', sessionKeys(names).name);
}

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

/** As the model gets it: a message always has the user's role. */
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
