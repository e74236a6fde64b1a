import type { Command } from 'commander';
import { z } from 'zod';
import { SESSION_NAMES, WHOSE } from '../../contract/fields.ts';
import { fieldOption } from '../field-option.ts';
import { FOLDER_OPTION } from './command.ts';

export const ONLY_APP = '(default: the only one that has sessions)';

const NAMED = { input: SESSION_NAMES };
const NARROWED = { input: z.object(WHOSE) };

/** Adds the options that name an app and its user. */
export function ofUser(command: Command): Command {
  return command
    .addOption(fieldOption(NAMED, 'app', '--app <name>', { help: ONLY_APP }))
    .addOption(fieldOption(NAMED, 'userId', '--user <id>', { help: '(default: user)' }))
    .option(...FOLDER_OPTION);
}

/** Adds the argument and the options that name a session. */
export function ofSession(command: Command): Command {
  return ofUser(
    command.argument('<session>', "the session's id, or app/user/session, each part URI-encoded"),
  );
}

/** Adds the options that narrow a list. */
export function narrowed(command: Command): Command {
  return command
    .addOption(fieldOption(NARROWED, 'app', '--app <name>'))
    .addOption(fieldOption(NARROWED, 'userId', '--user <id>'))
    .addOption(fieldOption(NARROWED, 'sessionId', '--session <id>'))
    .option(...FOLDER_OPTION);
}
