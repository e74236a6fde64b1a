import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import type { ConnectOptions } from '../connect-folder.ts';
import { connectStore } from '../connect-folder.ts';
import { clockTime, tableLines } from '../sessions/shown-values.ts';

export interface ListDenialsOptions {
  /** Milliseconds: of so long ago at most. */
  since?: number;
  limit: number;
  json?: boolean;
}

/** `holdfast keys denials`: what gateways have refused, one line for a minute and a kind. */
export async function listDenials(
  options: ListDenialsOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, since, limit, json } = options;
  const { store, close } = await connectStore({ folder, env, onProgress: output.note });
  try {
    const from = since === undefined ? {} : { since: Date.now() - since };
    const denials = await withProgress(output, 'reading', store.keys.listDenials({ limit, ...from }));
    if (json) return output.json({ denials });
    if (denials.length === 0) return output.note('nothing was refused');
    const rows = denials.map(({ count, lastAt, reason, route, who, address, permission = '', app = '' }) =>
      [clockTime(lastAt), String(count), reason, who ?? address ?? '', permission, app, route].map((cell) =>
        visibleExcerpt(cell, 60),
      ),
    );
    for (const line of tableLines(COLUMNS, rows)) output.line(line);
  } finally {
    await close();
  }
}

const COLUMNS = [
  { title: 'LAST' },
  { title: 'TIMES', right: true },
  ...['WHY', 'WHO', 'NEEDED', 'APP', 'ROUTE'].map((title) => ({ title })),
];
