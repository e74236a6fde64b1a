import fc from 'fast-check';
import { expect, test } from 'vitest';
import { messageDigest } from '../../../../src/protocol/message.ts';
import type { KeptMessage, MessageToKeep } from '../../../../src/protocol/step.ts';
import type { PostgresStore } from '../../../../src/store/postgres-store.ts';
import type { SessionNames } from '../../../../src/store/sessions/session-names.ts';
import { MessageConflict, StoreBehindHistory } from '../../../../src/store/store-errors.ts';
import { inTier } from '../../../setup/tier.ts';
import { newNames, nextFence, Turn, USAGE } from '../turns/turn.ts';
import { toKeep } from './inbox.ts';

type Content = 'one' | 'two';

interface Sent {
  id: string;
  content: Content;
  how: 'inline' | 'stored' | 'rejected';
}

type Operation =
  | { type: 'keep'; messages: Sent[]; newChain: boolean }
  | { type: 'upload'; id: string; content: Content }
  /** A turn begins: with the first message that waits, or with one that is sent along. */
  | { type: 'begin'; with: 'waiting' | { id: string; content: Content }; mayGiveWay: boolean }
  | { type: 'end'; how: 'answer' | 'interrupt' | 'vanish' };

interface Row {
  status: 'uploaded' | 'waiting' | 'rejected';
  content: Content;
  chain: number;
  place: number;
}

/** What an inbox promises, without a database. */
class Model {
  readonly rows = new Map<string, Row>();
  readonly begun = new Map<string, Content>();

  keep({ id, content, how }: Sent, chain: number, place: number): KeptMessage['kind'] {
    const begun = this.begun.get(id);
    if (begun !== undefined) return how !== 'rejected' && begun !== content ? 'duplicate' : 'known';
    const row = this.rows.get(id);
    if (how === 'rejected') {
      if (row?.status !== 'waiting') this.rows.set(id, { status: 'rejected', content, chain: 0, place: 0 });
      return 'kept';
    }
    const there = row !== undefined && row.status !== 'rejected';
    if (there && row.content !== content) return 'duplicate';
    if (how === 'stored' && !there) return 'missing';
    if (row?.status !== 'waiting') this.rows.set(id, { status: 'waiting', content, chain, place });
    return 'kept';
  }

  upload(id: string, content: Content): void {
    if (this.begun.has(id)) return;
    const status = this.rows.get(id)?.status;
    if (status !== 'waiting') {
      this.rows.set(id, { status: 'uploaded', content, chain: 0, place: 0 });
    }
  }

  /** Whether it may not begin yet. */
  isBehind(id: string, content: Content, chain: number): boolean {
    const row = this.rows.get(id);
    if (this.begun.has(id) || row?.status !== 'waiting' || row.content !== content) return false;
    return row.chain !== chain && this.waiting()[0] !== id;
  }

  begin(id: string, content: Content): boolean {
    const begun = this.begun.get(id);
    if (begun !== undefined) return begun === content;
    const row = this.rows.get(id);
    if (row?.status === 'waiting' && row.content !== content) return false;
    this.rows.delete(id);
    this.begun.set(id, content);
    return true;
  }

  waiting(): string[] {
    return [...this.rows]
      .filter(([, { status }]) => status === 'waiting')
      .sort(([, a], [, b]) => a.chain - b.chain || a.place - b.place)
      .map(([id]) => id);
  }
}

const id = fc.constantFrom('m1', 'm2', 'm3', 'm4', 'm5');
// Most messages come again with the content that they had.
const content = fc.oneof(
  { weight: 5, arbitrary: fc.constant('one') },
  fc.constant('two'),
) as fc.Arbitrary<Content>;
const how = fc.oneof(
  { weight: 4, arbitrary: fc.constant('inline') },
  fc.constantFrom('stored', 'rejected'),
) as fc.Arbitrary<Sent['how']>;
const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('keep' as const),
      messages: fc.array(fc.record({ id, content, how }), { minLength: 1, maxLength: 4 }),
      newChain: fc.boolean(),
    }),
  },
  fc.record({ type: fc.constant('upload' as const), id, content }),
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('begin' as const),
      with: fc.oneof({ weight: 3, arbitrary: fc.constant('waiting' as const) }, fc.record({ id, content })),
      mayGiveWay: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('end' as const),
      how: fc.constantFrom('answer', 'interrupt', 'vanish'),
    }) as fc.Arbitrary<Operation>,
  },
);

export function inboxModelSuite(store: () => PostgresStore): void {
  const digest = (text: Content) => messageDigest(text);

  function sent(names: SessionNames, { id, content, how }: Sent, place: number): MessageToKeep {
    return toKeep(names, id, {
      message: content,
      place,
      ...(how === 'stored' ? { stored: true, message: undefined, digest: digest(content) } : {}),
      ...(how === 'rejected' ? { rejected: 'full', message: undefined, digest: '' } : {}),
    } as Partial<MessageToKeep>);
  }

  test('an accepted message waits exactly until its turn begins, whatever comes in between [message.acknowledged]', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 25 }), async (operations) => {
        const names = newNames();
        const model = new Model();
        let chain = nextFence();
        let places = 0;
        let current: Turn | undefined;
        for (const next of operations) {
          if (next.type === 'keep') {
            if (next.newChain) {
              chain = nextFence();
              places = 0;
            }
            const messages = next.messages.map((message) => {
              places += 1;
              return { message, place: places };
            });
            const kept = await store().messages.keep({
              ...names,
              startedAt: chain.startedAt,
              messages: messages.map(({ message, place }) => sent(names, message, place)),
            });
            // Whose chain begun it is told apart for the sake of resets.
            const told = kept.map((one) => (one.kind === 'reset' ? { ...one, kind: 'known' } : one));
            expect(told).toEqual(
              messages.map(({ message, place }) => ({
                messageId: message.id,
                kind: model.keep(message, chain.startedAt, place),
              })),
            );
          } else if (next.type === 'upload') {
            model.upload(next.id, next.content);
            await store().messages.upload({ ...names, messageId: next.id, message: next.content });
          } else if (next.type === 'begin') {
            chain = nextFence();
            places = 0;
            const [first] = model.waiting();
            const waits = next.with === 'waiting';
            if (waits && first === undefined) continue;
            const messageId = waits ? (first as string) : (next.with as { id: string }).id;
            const text = waits
              ? (model.rows.get(messageId)?.content as Content)
              : (next.with as { content: Content }).content;
            const turn = new Turn(store(), { names, messageId, fence: chain });
            const { mayGiveWay } = next;
            const open = () => turn.open(1, { text, digest: digest(text), fromInbox: waits, mayGiveWay });
            if (mayGiveWay && model.isBehind(messageId, text, chain.startedAt)) {
              const told = await open();
              expect(told).toMatchObject({ kind: 'behind' });
              expect(told.inbox.map(({ messageId: waiting }) => waiting)).toEqual(model.waiting());
              continue;
            }
            if (!model.begin(messageId, text)) {
              await expect(open()).rejects.toBeInstanceOf(MessageConflict);
              continue;
            }
            for (const opened of [await open(), await open()]) {
              expect(opened.inbox.map(({ messageId: waiting }) => waiting)).toEqual(model.waiting());
              if (opened.kind === 'open') current = turn;
            }
          } else if (current !== undefined) {
            if (next.how === 'answer') await current.commit(1, 0).catch(() => undefined);
            if (next.how === 'interrupt') {
              await current.end(1, [], { status: 'interrupted', usage: USAGE }).catch(() => undefined);
            }
            current = undefined;
          }
        }
        const rows = await store().messages.readInbox(names);
        const ofStatus = (status: Row['status']) =>
          rows.filter((row) => row.status === status).map(({ messageId }) => messageId);
        expect(ofStatus('waiting')).toEqual(model.waiting());
        expect(rows).toHaveLength(model.rows.size);
        // Every message that began stands in the transcript once, with the content that was accepted.
        const messages = (await store().sessions.readEvents(names)).filter(({ kind }) => kind === 'message');
        expect(messages.map(({ event }) => event.content?.parts?.[0]?.text)).toEqual([
          ...model.begun.values(),
        ]);
        expect(messages.map(({ runKey }) => runKey)).toEqual(
          [...model.begun.keys()].map((messageId) => new Turn(store(), { names, messageId }).invocationId),
        );
      }),
      { numRuns: inTier(5, 40) },
    );
  });

  test('messages that are kept and begun at the same time are in one place, never in none [message.acknowledged]', async () => {
    const ids = ['m1', 'm2', 'm3'];
    const operations = fc.array(fc.tuple(fc.constantFrom('keep', 'begin'), fc.constantFrom(...ids)), {
      minLength: 4,
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(operations, async (all) => {
        const names = newNames();
        const accepted = new Set<string>();
        await Promise.all(
          all.map(async ([type, messageId]) => {
            if (type === 'keep') {
              const messages = [toKeep(names, messageId, { place: ids.indexOf(messageId) })];
              const [kept] = await store().messages.keep({ ...names, startedAt: 1, messages });
              expect(['kept', 'known', 'reset']).toContain(kept?.kind);
              accepted.add(messageId);
            } else {
              const turn = new Turn(store(), { names, messageId });
              const opened = await turn.open(1, { fromInbox: true }).catch((error: unknown) => error);
              if (opened instanceof Error) expect(opened).toSatisfy(isExpected);
              else accepted.add(messageId);
            }
          }),
        );
        const waiting = (await store().messages.readInbox(names)).map(({ invocationId }) => invocationId);
        const begun = (await store().sessions.readEvents(names)).map(({ runKey }) => runKey);
        const idsOf = [...accepted].map((messageId) => new Turn(store(), { names, messageId }).invocationId);
        expect([...waiting, ...begun].sort()).toEqual(idsOf.sort());
      }),
      { numRuns: inTier(5, 25) },
    );
  });
}

/** A chain that was overtaken, or one whose message had not come yet. */
function isExpected(error: unknown): boolean {
  return error instanceof StoreBehindHistory || (error as { code?: string }).code === 'HOLDFAST_FENCED';
}
