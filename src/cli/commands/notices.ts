import { dropNotice, listNotices, resendNotice, resendNotices } from '../../contract/notices.ts';
import { fieldArgument, fieldOption, summaryOf } from '../field-option.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';

export const notices: AddCommand = (group, act) => {
  group
    .command('list')
    .description(summaryOf(listNotices))
    .addOption(fieldOption(listNotices, 'app', '--app <name>'))
    .addOption(fieldOption(listNotices, 'limit', '--limit <number>'))
    .addOption(fieldOption(listNotices, 'after', '--after <place>'))
    .option('--json', 'one JSON value: { notices, next }')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../notices/notice-commands.ts')).listNotices));

  group
    .command('resend')
    .description(`${summaryOf(resendNotice)}, or all of them`)
    .addArgument(fieldArgument(resendNotice, 'notice', '[notice]'))
    .option('--all', 'each that was given up')
    .addOption(fieldOption(resendNotices, 'app', '--app <name>', { help: 'with --all' }))
    .option('--json', 'one JSON value: the notice, or { notices } with --all')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../notices/notice-commands.ts')).resendNotice));

  group
    .command('drop')
    .description(summaryOf(dropNotice))
    .addArgument(fieldArgument(dropNotice, 'notice', '<notice>'))
    .option('--json', 'one JSON value: the notice')
    .option(...FOLDER_OPTION)
    .action(act(async () => (await import('../notices/notice-commands.ts')).dropNotice));
};
