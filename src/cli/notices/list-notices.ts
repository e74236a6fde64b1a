import type { ShownNotice } from '../../contract/notices.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import type { DeadNotice, DeadNoticePlace } from '../../store/notices/notice-store.ts';
import type { Store } from '../../store/store.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectStore } from '../connect-folder.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';
import { namedNotice, shortId } from './named-notice.ts';

export interface ListNoticesOptions {
  app?: string;
  limit: number;
  /** Goes on after this one, or after this `next` of a page. */
  after?: string;
  json?: boolean;
}

/** `holdfast notices list`: what nobody could be told, the oldest first. */
export async function listNotices(
  options: ListNoticesOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, app, limit, after, json } = options;
  const { store, close } = await connectStore({ folder, env, onProgress: output.note });
  try {
    const list = {
      limit: limit + 1,
      ...(app === undefined ? {} : { app }),
      ...(after === undefined ? {} : { after: await placeOf(store, after) }),
    };
    const found = await withProgress(output, 'reading notices', store.notices.listDeadNotices(list));
    const notices = found.slice(0, limit);
    const [last] = notices.slice(-1);
    const next = found.length > limit && last !== undefined ? { next: shownPlace(last) } : {};
    if (json) return output.json({ notices: notices.map(shownNotice), ...next });
    if (last === undefined) {
      return output.note(after === undefined ? 'no notice was given up' : 'no others were given up');
    }
    const rows = notices.map((notice) => [
      shortId(notice),
      ago(notice.diedAt),
      visibleExcerpt(notice.app, 40),
      visibleExcerpt(notice.notifier, 40),
      notice.why,
      notice.requestId,
      String(notice.attempts),
      visibleExcerpt(notice.error, 80),
    ]);
    for (const line of tableLines(COLUMNS, rows)) output.line(line);
    if (found.length > limit) output.note(`there are more: --after ${shownPlace(last)}`);
    output.note('holdfast notices resend NOTICE tells it again, holdfast notices drop NOTICE forgets it');
  } finally {
    await close();
  }
}

/** Without what the request holds. */
export function shownNotice({ input: _input, session: _session, ...notice }: DeadNotice): ShownNotice {
  return { notice: shortId(notice), ...notice };
}

const COLUMNS = [
  ...['NOTICE', 'SINCE', 'APP', 'NOTIFIER', 'WHY', 'REQUEST'].map((title) => ({ title })),
  { title: 'TRIES', right: true },
  { title: 'PROBLEM' },
];

const PLACE = /^(\d{1,15}):([\w-]+)$/;

/** The end of a page: the next page needs no notice there, which may be gone by then, or have died again. */
function shownPlace({ diedAt, noticeId }: DeadNoticePlace): string {
  return `${diedAt}:${Buffer.from(noticeId).toString('base64url')}`;
}

/**
 * Where the list goes on: after the end of a page, or after a notice.
 *
 * @throws CliError where it is neither.
 */
async function placeOf(store: Pick<Store, 'notices'>, argument: string): Promise<DeadNoticePlace> {
  const [, diedAt, noticeId] = PLACE.exec(argument) ?? [];
  if (diedAt === undefined || noticeId === undefined) return await namedNotice(store, argument);
  return { diedAt: Number(diedAt), noticeId: Buffer.from(noticeId, 'base64url').toString() };
}
