import type { Decision } from '../../approvals/decision-attestation.ts';
import { argumentsToRun, secretInEdit } from '../../approvals/edited-arguments.ts';
import { needsAttestation } from '../../approvals/voting.ts';
import type { Decided } from '../../client/approvals/approvals.ts';
import { type ConfirmOptions, confirmRequest, provideInput } from '../../contract/approvals.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { defined } from '../../protocol/json.ts';
import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { connected, connectFolder, type InFolder } from '../connect-folder.ts';
import { jsonField } from '../field-option.ts';
import { attestDecision, readApprover, type SigningOptions } from './approver.ts';
import { namedRequest, type RequestNaming } from './named-request.ts';
import { tellReceipt } from './receipt-text.ts';
import { questionLines } from './request-text.ts';
import { assertResponse } from './response-check.ts';
import { changeLines } from './shown-arguments.ts';

export interface DecideOptions extends RequestNaming, SigningOptions {
  /** JSON: in place of the arguments that were shown. */
  args?: string;
  /** JSON for the tool. */
  payload?: string;
  reason?: string;
}

/** `holdfast approvals approve|reject|withdraw`. */
export async function decideApproval(
  decision: Decision,
  argument: string,
  options: InFolder<DecideOptions>,
  output = processOutput(),
): Promise<void> {
  const given = givenDecision(decision, options);
  const approver = readApprover(options);
  await connected(connectFolder, options, output, async ({ api: { approvals } }) => {
    const row = await withProgress(output, 'reading the request', namedRequest(argument, options, approvals));
    assertDecidable(row, given);
    for (const line of questionLines(row)) output.note(line);
    if (given.args !== undefined) {
      const edited = argumentsToRun({ ...row, editedArgs: given.args });
      for (const line of changeLines(row.args, edited, row.sensitive)) output.note(`  ${line}`);
    }
    const confirm = decisionOf(decision, row, given);
    const attestation = approver && (await attestDecision(approver, row, { decision, ...given }));
    const sent = approvals.confirm({ requestId: row.requestId }, { ...confirm, ...defined({ attestation }) });
    const receipt = await withProgress(output, 'deciding', sent);
    tellDecision(row, receipt, { isSigned: approver !== undefined, json: options.json }, output);
  });
}

interface GivenDecision {
  args?: Record<string, unknown>;
  payload?: unknown;
  reason?: string;
}

function givenDecision(decision: Decision, { args, payload, reason }: DecideOptions): GivenDecision {
  if (args !== undefined && decision !== 'approve') throw new UsageError('--args: only an approval edits');
  return defined({
    args: args === undefined ? undefined : jsonField(confirmRequest, 'args', '--args', args),
    payload: payload === undefined ? undefined : jsonField(confirmRequest, 'payload', '--payload', payload),
    reason,
  });
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
function tellDecision(
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

/** `holdfast approvals answer`: what a tool or model has asked a person. */
export async function answerRequest(
  argument: string,
  options: InFolder<AnswerOptions>,
  output = processOutput(),
): Promise<void> {
  const response = givenResponse(options);
  await connected(connectFolder, options, output, async ({ api: { approvals } }) => {
    const row = await withProgress(output, 'reading the request', namedRequest(argument, options, approvals));
    assertKind(row, 'input');
    assertResponse(row, response);
    const sent = approvals.provideInput({ requestId: row.requestId }, { response });
    const receipt = await withProgress(output, 'answering', sent);
    tellDecision(row, receipt, { isSigned: false, json: options.json }, output);
  });
}

interface AnswerOptions extends RequestNaming {
  /** JSON. */
  response?: string;
  text?: string;
}

function givenResponse({ response, text }: AnswerOptions): unknown {
  if ((response === undefined) === (text === undefined)) {
    throw new UsageError('say the answer: either --response <JSON>, or --text <text>');
  }
  if (text !== undefined && !text.isWellFormed())
    throw new UsageError('--text: expected text, got malformed Unicode');
  return response === undefined ? text : jsonField(provideInput, 'response', '--response', response);
}

/** `holdfast approvals provide-credential`. */
export async function provideCredential(
  argument: string,
  options: InFolder<RequestNaming & { /** `credentialRef` of a stored credential. */ credential: string }>,
  output = processOutput(),
): Promise<void> {
  await connected(connectFolder, options, output, async ({ api: { approvals } }) => {
    const row = await withProgress(output, 'reading the request', namedRequest(argument, options, approvals));
    assertKind(row, 'credential');
    const { credential: credentialRef } = options;
    const sent = approvals.provideCredential({ requestId: row.requestId }, { credentialRef });
    const receipt = await withProgress(output, 'giving the credential', sent);
    tellDecision(row, receipt, { isSigned: false, json: options.json }, output);
  });
}

const ASKED = { input: 'an answer', credential: 'a credential', confirmation: 'an approval' };

function assertKind({ requestId, kind }: ApprovalRow, wanted: 'input' | 'credential'): void {
  if (kind === wanted) return;
  throw new UsageError(
    `${requestId} asks for ${ASKED[kind]}, not for ${ASKED[wanted]}: holdfast approvals show ${requestId} tells what to type`,
  );
}
