import type { Command } from 'commander';
import type { Decision } from '../../approvals/decision-attestation.ts';
import { confirmRequest, listApprovals, provideCredential, provideInput } from '../../contract/approvals.ts';
import { fieldOption } from '../field-option.ts';
import { type AddCommand, FOLDER_OPTION } from './command.ts';
import { narrowed } from './naming.ts';

const RECEIPT = 'one JSON value: the receipt { requestId, callKey, status, confirmed, … }';

export const approvals: AddCommand = (group, act) => {
  narrowed(group.command('list').description('requests that wait for people, the oldest first'))
    .addOption(fieldOption(listApprovals, 'limit', '--limit <number>'))
    .addOption(fieldOption(listApprovals, 'kind', '--kind <kind>'))
    .option('--all', 'those that have ended, too')
    .option('--json', 'one JSON value: { approvals }')
    .action(act(async () => (await import('../approvals/approval-commands.ts')).listApprovals));

  request(group.command('show').description('show the question of a request, its deciders and its outcome'))
    .option('--json', 'one JSON value: the request')
    .action(act(async () => (await import('../approvals/approval-commands.ts')).showApproval));

  const decision = (word: Decision, description: string) => {
    const command = request(group.command(word).description(description));
    if (word === 'approve') command.addOption(fieldOption(confirmRequest, 'args', '--args <JSON>'));
    command
      .addOption(
        fieldOption(confirmRequest, 'payload', '--payload <JSON>', {
          help: 'it is toolConfirmation.payload',
        }),
      )
      .addOption(fieldOption(confirmRequest, 'reason', '--reason <text>'))
      .option('--as <name>', 'approver who signs the decision')
      .option('--key <file.json>', "the approver's key, of holdfast keys create")
      .option('--json', RECEIPT)
      .action(
        act(async () => (await import('../approvals/decide-approval.ts')).decideApproval.bind(null, word)),
      );
  };
  decision('approve', 'let a call run');
  decision('reject', 'answer a call with a rejection; it does not run');
  decision('withdraw', 'take a vote back, while more are needed');

  request(group.command('answer').description('answer a question of a tool or model'))
    .addOption(fieldOption(provideInput, 'response', '--response <JSON>'))
    .option('--text <text>', 'in its place, an answer that is text')
    .option('--json', RECEIPT)
    .action(act(async () => (await import('../approvals/decide-approval.ts')).answerRequest));

  request(
    group.command('provide-credential').description('give a stored credential to a call that waits for one'),
  )
    .addOption(
      fieldOption(provideCredential, 'credentialRef', '--credential <ref>', {
        help: 'holdfast credentials add prints it; never the secret itself',
      }).makeOptionMandatory(),
    )
    .option('--json', RECEIPT)
    .action(act(async () => (await import('../approvals/decide-approval.ts')).provideCredential));

  const audit = group
    .command('audit')
    .description('list requests and decisions, each row bound to the one before');
  audited(audit.command('verify').description("recompute the hash chain of a session's audit"))
    .option('--json', 'one JSON value: { ok, rows, problems }')
    .action(act(async () => (await import('../approvals/audit-commands.ts')).verifyAudit));
  audited(audit.command('show').description("the rows of a session's audit"))
    .option('--json', 'one JSON value: { rows }')
    .action(act(async () => (await import('../approvals/audit-commands.ts')).showAudit));
};

function request(command: Command): Command {
  return narrowed(command.argument('<request>', "the request's id, or the id or key of a call that waits"));
}

function audited(command: Command): Command {
  return command
    .argument('[session]', "the session's id, or app/user/session, each part URI-encoded")
    .option('--app <name>', 'app of the session (default: the only one that has sessions)')
    .option('--user <id>', 'user of the session (default: user)')
    .option('--session <id>', 'the session, in place of the argument')
    .option('--store-id <id>', "the store's id of a session, where it was deleted")
    .option(...FOLDER_OPTION);
}
