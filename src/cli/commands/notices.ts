import type { ChangeNoticeOptions, ResendNoticesOptions } from '../notices/change-notice.ts';
import type { ListNoticesOptions } from '../notices/list-notices.ts';
import { type AddCommand, FOLDER_OPTION, LIMIT_OPTION } from './command.ts';

const NOTICE = 'as holdfast notices list calls it, or the end of its id';

type InFolder<Options> = Options & { folder: string };

export const notices: AddCommand = (holdfast) => {
  const group = holdfast
    .command('notices')
    .description('what notifiers could not tell anybody: list, send again, drop');

  group
    .command('list')
    .description('notices that were given up, the oldest first')
    .option('--app <name>', 'of this app (default: of all)')
    .option(...LIMIT_OPTION)
    .option(
      '--after <place>',
      'those behind this place, which the page before has ended with, or behind a notice',
    )
    .option('--json', 'one JSON value: { notices, next }')
    .option(...FOLDER_OPTION)
    .action(async (options: InFolder<ListNoticesOptions>) => {
      const { listNotices } = await import('../notices/list-notices.ts');
      await listNotices({ ...options, env: process.env });
    });

  group
    .command('resend')
    .description('have a worker tell it again, or all of them')
    .argument('[notice]', NOTICE)
    .option('--all', 'each that was given up')
    .option('--app <name>', 'with --all: of this app')
    .option('--json', 'one JSON value: the notice, or { notices } with --all')
    .option(...FOLDER_OPTION)
    .action(async (argument: string | undefined, options: InFolder<ResendNoticesOptions>) => {
      const { resendNotice } = await import('../notices/change-notice.ts');
      await resendNotice(argument, { ...options, env: process.env });
    });

  group
    .command('drop')
    .description('forget it')
    .argument('<notice>', NOTICE)
    .option('--json', 'one JSON value: the notice')
    .option(...FOLDER_OPTION)
    .action(async (argument: string, options: InFolder<ChangeNoticeOptions>) => {
      const { dropNotice } = await import('../notices/change-notice.ts');
      await dropNotice(argument, { ...options, env: process.env });
    });
};
