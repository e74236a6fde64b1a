import type { DeadNoticePlace } from '../../store/notices/notice-store.ts';
import type { Store } from '../../store/store.ts';
import { namedNotice } from './named-notice.ts';

const PLACE = /^(\d{1,15}):([\w-]+)$/;

/** The end of a page: the next page needs no notice there, which may be gone by then, or have died again. */
export function shownPlace({ diedAt, noticeId }: DeadNoticePlace): string {
  return `${diedAt}:${Buffer.from(noticeId).toString('base64url')}`;
}

/**
 * Where the list goes on: after the end of a page, or after a notice.
 *
 * @throws CliError where it is neither.
 */
export async function placeOf(store: Pick<Store, 'notices'>, argument: string): Promise<DeadNoticePlace> {
  const [, diedAt, noticeId] = PLACE.exec(argument) ?? [];
  if (diedAt === undefined || noticeId === undefined) return await namedNotice(store, argument);
  return { diedAt: Number(diedAt), noticeId: Buffer.from(noticeId, 'base64url').toString() };
}
