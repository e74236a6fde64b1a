import { readFileSync } from 'node:fs';
import { type ApproverKey, InvalidApproverKey, parseApproverKey } from '../../approvals/approver-key.ts';
import { type Decision, signDecision } from '../../approvals/decision-attestation.ts';
import { signMessage } from '../../approvals/message-attestation.ts';
import { isAnySensitive } from '../../approvals/sensitive.ts';
import type { OutgoingMessage } from '../../client/messages/outgoing-message.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { digestOf } from '../../protocol/canonical-json.ts';
import { messageDigest } from '../../protocol/message.ts';
import { CliError, UsageError } from '../cli-error.ts';

/** The decider or sender, and the signing key. */
export interface SigningOptions {
  as?: string;
  /** Path of the key's file. */
  key?: string;
}

/** Where decisions of this program are made. */
const CHANNEL = 'cli';

/**
 * The key that signs; undefined where nobody is named.
 *
 * @throws CliError where only one of the two is given, the file is none, or is somebody else's.
 */
export function readApprover({ as, key: path }: SigningOptions): ApproverKey | undefined {
  if (as === undefined && path === undefined) return undefined;
  if (as === undefined) throw new UsageError('--key: say whose key it is with --as <name>');
  if (path === undefined) {
    throw new UsageError(
      `--as ${as}: give the key that signs for ${as} with --key <file>; npx holdfast keys create --approver ${as} makes one`,
    );
  }
  const key = readKeyFile(path);
  if (key.approver === as) return key;
  throw new UsageError(
    `--key ${path} is the key of ${key.approver}: sign as ${key.approver}, or give another key`,
  );
}

/** @throws CliError naming the file, and never what is in it. */
export function readKeyFile(path: string): ApproverKey {
  try {
    return parseApproverKey(readFileSync(path, 'utf8'));
  } catch (error) {
    if (error instanceof InvalidApproverKey)
      throw new CliError(`${path}: ${error.message}`, { cause: error });
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (code === 'ENOENT') {
      throw new CliError(`${path}: no such file; npx holdfast keys create --approver NAME makes a key`);
    }
    if (code === '') throw error;
    throw new CliError(`${path} can't be read: ${code}`, { cause: error });
  }
}

/**
 * Signs a decision over the arguments that this process has shown.
 *
 * @throws CliError where they aren't those that the request is bound to.
 */
export async function attestDecision(
  { issuer, approver, privateKey }: ApproverKey,
  row: ApprovalRow,
  { decision, args, payload }: { decision: Decision; args?: Record<string, unknown>; payload?: unknown },
): Promise<string> {
  const { session, requestId, argsDigest, sensitive } = row;
  // Sensitive arguments are shown to nobody, and may be missing here, too.
  if (!isAnySensitive(sensitive) && digestOf(row.args) !== argsDigest) {
    throw new CliError(
      `nothing was signed: the arguments that came with ${requestId} are not those that it is bound to. Look at the store, and at ` +
        'whatever stands between this command and it',
    );
  }
  return await signDecision(
    {
      issuer,
      approver,
      session,
      requestId,
      argsDigest,
      decision,
      channel: CHANNEL,
      ...(args === undefined ? {} : { editedArgsDigest: digestOf(args) }),
      ...(payload === undefined ? {} : { payloadDigest: digestOf(payload) }),
    },
    privateKey,
  );
}

/** Signs that somebody sends a message, so that they can be kept from approving what they asked for. */
export async function attestMessage<Message extends OutgoingMessage & { messageId: string }>(
  { issuer, approver, privateKey }: ApproverKey,
  message: Message,
): Promise<Message & { attestation: string }> {
  const { app, userId, sessionId, messageId } = message;
  const digest = messageDigest(message.message, message.stateDelta);
  const claims = { issuer, principal: approver, app, userId, sessionId, messageId, messageDigest: digest };
  return { ...message, attestation: await signMessage(claims, privateKey) };
}
