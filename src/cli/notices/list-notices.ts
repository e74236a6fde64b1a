import { visibleExcerpt } from '../../protocol/visible-text.ts';
import type { DeadNotice } from '../../store/store.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import type { ConnectOptions } from '../connect-folder.ts';
import { connectStore } from '../connect-store.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

export interface ListNoticesOptions {
  app?: string;
  limit: number;
  json?: boolean;
}

/** `holdfast notices list`: what nobody could be told, the oldest first. */
export async function listNotices(
  options: ListNoticesOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, app, limit, json } = options;
  const { store, close } = await connectStore({ folder, env, onProgress: output.note });
  try {
    const list = { limit, ...(app === undefined ? {} : { app }) };
    const notices = await withProgress(output, 'reading notices', store.listDeadNotices(list));
    if (json) return output.json({ notices: notices.map(shownNotice) });
    if (notices.length === 0) return output.note('no notice was given up');
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
    output.note('holdfast notices resend NOTICE tells it again, holdfast notices drop NOTICE forgets it');
  } finally {
    await close();
  }
}

/** By which it is named: its request's session is long. */
export function shortId({ noticeId }: Pick<DeadNotice, 'noticeId'>): string {
  return noticeId.slice(noticeId.lastIndexOf('/') + 1);
}

/** Without what the request holds. */
export function shownNotice({ input: _input, session: _session, ...notice }: DeadNotice) {
  return { notice: shortId(notice), ...notice };
}

const COLUMNS = [
  ...['NOTICE', 'SINCE', 'APP', 'NOTIFIER', 'WHY', 'REQUEST'].map((title) => ({ title })),
  { title: 'TRIES', right: true },
  { title: 'PROBLEM' },
];
