import { linkUrl, signApprovalLink } from '../../src/approvals/approval-link.ts';
import { NoteRefused } from '../../src/approvals/notice-failed.ts';
import type { NoticeContext } from '../../src/approvals/notifier.ts';
import { kindOf } from '../../src/schema/kind-of.ts';
import { jsonText } from '../../src/store/engine/json-text.ts';
import type { ActivityDependencies } from '../dependencies.ts';

const MOST_NOTE_BYTES = 16 * 1024;
const LONGEST_PLACE = 500;

/**
 * What one notifier works with; its notes are its own.
 * `begunAt`: when it is asked, by the store's clock.
 */
export function noticeContext(
  { store, credentialKeys, publicUrl }: ActivityDependencies,
  {
    notifier,
    session,
    since,
    signal,
    begunAt,
  }: { notifier: string; session: string; begunAt: number } & Pick<NoticeContext, 'since' | 'signal'>,
): NoticeContext {
  return {
    since,
    signal,
    now: () => store.now(),
    linkFor({ requestId, until }, approver) {
      const address = publicUrl();
      if (address === undefined || credentialKeys === undefined) return undefined;
      return linkUrl(
        address,
        signApprovalLink(
          credentialKeys,
          { ...{ session, requestId, approver }, ...(until === undefined ? {} : { expiresAt: until }) },
          begunAt,
        ),
      );
    },
    kept: (requestId) => store.noteOf({ notifier, requestId }),
    async keep(requestId, value, place) {
      const bytes = Buffer.byteLength(jsonText(value));
      if (value === undefined || bytes > MOST_NOTE_BYTES) {
        const got = value === undefined ? kindOf(value) : `${bytes} bytes`;
        throw new NoteRefused(`value: expected JSON of at most ${MOST_NOTE_BYTES} bytes, got ${got}`);
      }
      if (place !== undefined && (place === '' || place.length > LONGEST_PLACE)) {
        throw new NoteRefused(`place: expected text of 1 to ${LONGEST_PLACE} characters`);
      }
      const note = { notifier, session, requestId, value };
      if (await store.keepNote({ ...note, ...(place === undefined ? {} : { place }) })) return;
      throw new NoteRefused('place: another request has it, or its session was deleted');
    },
  };
}
