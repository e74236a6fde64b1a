import type { Decision } from '../../approvals/decision-attestation.ts';
import { argumentsToRun, secretInEdit } from '../../approvals/edited-arguments.ts';
import { needsAttestation } from '../../approvals/voting.ts';
import type { Decided } from '../../client/approvals/approvals.ts';
import { type ConfirmOptions, confirmRequest } from '../../contract/approvals.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { jsonField } from '../field-option.ts';
import { attestDecision, readApprover, type SigningOptions } from './approver.ts';
import { namedRequest, type RequestNaming } from './named-request.ts';
import { tellReceipt } from './receipt-text.ts';
import { questionLines } from './request-text.ts';
import { changeLines } from './shown-arguments.ts';

export interface DecideOptions extends RequestNaming, SigningOptions {
  /** JSON: in place of the arguments that were shown. */
  args?: string;
  /** JSON for the tool. */
  payload?: string;
  reason?: string;
  json?: boolean;
}

/** `holdfast approvals approve|reject|withdraw`. */
export async function decideApproval(
  decision: Decision,
  argument: string,
  options: DecideOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env } = options;
  const given = givenDecision(decision, options);
  const approver = readApprover(options);
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const { approvals } = connected.api;
    const row = await withProgress(output, 'reading the request', namedRequest(argument, options, approvals));
    assertDecidable(row, given);
    for (const line of questionLines(row)) output.note(line);
    if (given.args !== undefined) {
      for (const line of changeLines(
        row.args,
        argumentsToRun({ ...row, editedArgs: given.args }),
        row.sensitive,
      ))
        output.note(`  ${line}`);
    }
    const confirm = decisionOf(decision, row, given);
    const attestation = approver && (await attestDecision(approver, row, { decision, ...given }));
    const receipt = await withProgress(
      output,
      'deciding',
      approvals.confirm(
        { requestId: row.requestId },
        { ...confirm, ...(attestation === undefined ? {} : { attestation }) },
      ),
    );
    tellDecision(row, receipt, { isSigned: approver !== undefined, json: options.json }, output);
  } finally {
    await connected.close();
  }
}

interface GivenDecision {
  args?: Record<string, unknown>;
  payload?: unknown;
  reason?: string;
}

function givenDecision(decision: Decision, { args, payload, reason }: DecideOptions): GivenDecision {
  if (args !== undefined && decision !== 'approve') throw new UsageError('--args: only an approval edits');
  return {
    ...(args === undefined ? {} : { args: jsonField(confirmRequest, 'args', '--args', args) }),
    ...(payload === undefined ? {} : { payload: jsonField(confirmRequest, 'payload', '--payload', payload) }),
    ...(reason === undefined ? {} : { reason }),
  };
}

/** Refuses an unfit decision before anything is signed. The workflow and its activity check it again. */
function assertDecidable(row: ApprovalRow, { args }: GivenDecision): void {
  const { requestId, kind, terms } = row;
  if (kind === 'input') {
    throw new UsageError(
      `${requestId} asks for an answer, not for an approval: holdfast approvals answer ${requestId} --response JSON`,
    );
  }
  if (kind === 'credential') {
    throw new UsageError(
      `${requestId} asks for a credential, not for an approval: holdfast approvals provide-credential ${requestId} ` +
        '--credential REF; holdfast approvals show tells where REF comes from',
    );
  }
  if (args !== undefined && !terms.allowEdit) {
    throw new UsageError(
      `--args: the arguments of ${requestId} may not be edited: its tool has no approval: { allowEdit: true }. Approve it as it ` +
        'is, or reject it with the reason',
    );
  }
  const secret = args === undefined ? undefined : secretInEdit(row, args);
  if (secret !== undefined) throw new UsageError(`--args: ${secret}`);
}

function decisionOf(decision: Decision, row: ApprovalRow, given: GivenDecision): ConfirmOptions {
  if (decision !== 'withdraw') return { ...given, confirmed: decision === 'approve' };
  // The vote is found by its voter; a plain withdrawal takes back plain votes.
  const plain = row.votes.findLast(({ by }) => !by.verified);
  return { ...given, withdraw: true, confirmed: plain?.confirmed ?? true };
}

/** Prints what became of an answer. */
export function tellDecision(
  row: ApprovalRow,
  receipt: Decided,
  { isSigned, json }: { isSigned: boolean; json?: boolean | undefined },
  output: CommandOutput,
): void {
  if (json) output.json({ requestId: row.requestId, signed: isSigned, ...receipt });
  tellReceipt(row, receipt, json ? { ...output, line: output.note } : output);
  if (!isSigned && row.kind === 'confirmation') {
    output.note(
      needsAttestation(row)
        ? 'sent as a plain signal, which nobody has signed: it counts only where the app trusts Temporal; sign it with --as NAME --key FILE'
        : 'sent as a plain signal: recorded as unverified; --as NAME --key FILE signs it',
    );
  }
}
