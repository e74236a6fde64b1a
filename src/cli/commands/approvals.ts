import type { Command } from 'commander';
import type { Decision } from '../../approvals/decision-attestation.ts';
import { confirmRequest, listApprovals, provideCredential, provideInput } from '../../contract/approvals.ts';
import type { AnswerRequestOptions } from '../approvals/answer-request.ts';
import type { AuditOptions } from '../approvals/audit-target.ts';
import type { DecideOptions } from '../approvals/decide-approval.ts';
import type { ListApprovalsOptions } from '../approvals/list-approvals.ts';
import type { ProvideCredentialOptions } from '../approvals/provide-credential.ts';
import type { ShowApprovalOptions } from '../approvals/show-approval.ts';
import { fieldOption } from '../field-option.ts';
import { type AddToGroup, FOLDER_OPTION } from './command.ts';

type InFolder<Options> = Options & { folder: string };

const RECEIPT = 'one JSON value: the receipt { requestId, callKey, status, confirmed, … }';

export const approvals: AddToGroup = (group, exit) => {
  naming(group.command('list').description('requests that wait for people, the oldest first'))
    .addOption(fieldOption(listApprovals, 'limit', '--limit <number>'))
    .addOption(fieldOption(listApprovals, 'kind', '--kind <kind>'))
    .option('--all', 'those that have ended, too')
    .option('--json', 'one JSON value: { approvals }')
    .action(async (options: InFolder<ListApprovalsOptions>) => {
      const commands = await import('../approvals/list-approvals.ts');
      await commands.listApprovals({ ...options, env: process.env });
    });

  request(group.command('show').description('show the question of a request, its deciders and its outcome'))
    .option('--json', 'one JSON value: the request')
    .action(async (argument: string, options: InFolder<ShowApprovalOptions>) => {
      const { showApproval } = await import('../approvals/show-approval.ts');
      await showApproval(argument, { ...options, env: process.env });
    });

  const decision = (command: Command, word: Decision) =>
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
      .action(async (argument: string, options: InFolder<DecideOptions>) => {
        const { decideApproval } = await import('../approvals/decide-approval.ts');
        await decideApproval(word, argument, { ...options, env: process.env });
      });
  const approve = request(group.command('approve').description('let a call run')).addOption(
    fieldOption(confirmRequest, 'args', '--args <JSON>'),
  );
  decision(approve, 'approve');
  decision(
    request(group.command('reject').description('answer a call with a rejection; it does not run')),
    'reject',
  );
  decision(
    request(group.command('withdraw').description('take a vote back, while more are needed')),
    'withdraw',
  );

  request(group.command('answer').description('answer a question of a tool or model'))
    .addOption(fieldOption(provideInput, 'response', '--response <JSON>'))
    .option('--text <text>', 'in its place, an answer that is text')
    .option('--json', RECEIPT)
    .action(async (argument: string, options: InFolder<AnswerRequestOptions>) => {
      const { answerRequest } = await import('../approvals/answer-request.ts');
      await answerRequest(argument, { ...options, env: process.env });
    });

  request(
    group.command('provide-credential').description('give a stored credential to a call that waits for one'),
  )
    .addOption(
      fieldOption(provideCredential, 'credentialRef', '--credential <ref>', {
        help: 'holdfast credentials add prints it; never the secret itself',
      }).makeOptionMandatory(),
    )
    .option('--json', RECEIPT)
    .action(async (argument: string, options: InFolder<ProvideCredentialOptions>) => {
      const commands = await import('../approvals/provide-credential.ts');
      await commands.provideCredential(argument, { ...options, env: process.env });
    });

  const audit = group
    .command('audit')
    .description('list requests and decisions, each row bound to the one before');
  audited(audit.command('verify').description("recompute the hash chain of a session's audit"))
    .option('--json', 'one JSON value: { ok, rows, problems }')
    .action(async (argument: string | undefined, options: InFolder<AuditOptions>) => {
      const { verifyAudit } = await import('../approvals/audit-commands.ts');
      exit(await verifyAudit(argument, { ...options, env: process.env }));
    });
  audited(audit.command('show').description("the rows of a session's audit"))
    .option('--json', 'one JSON value: { rows }')
    .action(async (argument: string | undefined, options: InFolder<AuditOptions>) => {
      const { showAudit } = await import('../approvals/audit-commands.ts');
      await showAudit(argument, { ...options, env: process.env });
    });
};

function naming(command: Command): Command {
  return command
    .addOption(fieldOption(listApprovals, 'app', '--app <name>'))
    .addOption(fieldOption(listApprovals, 'userId', '--user <id>'))
    .addOption(fieldOption(listApprovals, 'sessionId', '--session <id>'))
    .option(...FOLDER_OPTION);
}

function request(command: Command): Command {
  return naming(command.argument('<request>', "the request's id, or the id or key of a call that waits"));
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
