import { dropNotice, listNotices, resendNotice, resendNotices } from '../../contract/notices.ts';
import { fieldArgument, fieldOption, summaryOf } from '../field-option.ts';
import type { ChangeNoticeOptions, ResendNoticesOptions } from '../notices/change-notice.ts';
import type { ListNoticesOptions } from '../notices/list-notices.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';

type InFolder<Options> = Options & { folder: string };

export const notices: AddToGroup = (group) => {
  group
    .command('list')
    .description(summaryOf(listNotices))
    .addOption(fieldOption(listNotices, 'app', '--app <name>'))
    .addOption(fieldOption(listNotices, 'limit', '--limit <number>'))
    .addOption(fieldOption(listNotices, 'after', '--after <place>'))
    .option('--json', 'one JSON value: { notices, next }')
    .option(...FOLDER_OPTION)
    .action(async (options: InFolder<ListNoticesOptions>) => {
      const commands = await import('../notices/list-notices.ts');
      await commands.listNotices({ ...options, env: process.env });
    });

  group
    .command('resend')
    .description(`${summaryOf(resendNotice)}, or all of them`)
    .addArgument(fieldArgument(resendNotice, 'notice', '[notice]'))
    .option('--all', 'each that was given up')
    .addOption(fieldOption(resendNotices, 'app', '--app <name>', { help: 'with --all' }))
    .option('--json', 'one JSON value: the notice, or { notices } with --all')
    .option(...FOLDER_OPTION)
    .action(async (argument: string | undefined, options: InFolder<ResendNoticesOptions>) => {
      const commands = await import('../notices/change-notice.ts');
      await commands.resendNotice(argument, { ...options, env: process.env });
    });

  group
    .command('drop')
    .description(summaryOf(dropNotice))
    .addArgument(fieldArgument(dropNotice, 'notice', '<notice>'))
    .option('--json', 'one JSON value: the notice')
    .option(...FOLDER_OPTION)
    .action(async (argument: string, options: InFolder<ChangeNoticeOptions>) => {
      const commands = await import('../notices/change-notice.ts');
      await commands.dropNotice(argument, { ...options, env: process.env });
    });
};
