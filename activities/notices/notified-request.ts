import { withFixed } from '../../src/approvals/edited-arguments.ts';
import type { EndedRequest, NotifiedRequest } from '../../src/approvals/notifier.ts';
import {
  isAnySensitive,
  maskedArguments,
  shownArguments,
  textWithoutSecrets,
} from '../../src/approvals/sensitive.ts';
import type { Voter } from '../../src/contract/approvals.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import { defined, isRecord } from '../../src/protocol/json.ts';
import type { SessionNames } from '../../src/store/sessions/session-names.ts';
import type { ActivityDependencies } from '../dependencies.ts';

/** A request as people are told of it: nothing of what its tool keeps to itself. */
export function notifiedRequest(
  row: ApprovalRow,
  transcriptUrl: ((names: SessionNames) => string) | undefined,
): NotifiedRequest {
  const { requestId, kind, app, userId, sessionId, agent, path, tool, callKey, callId, terms, since } = row;
  const { payload, requester, until, responseSchema, authConfig } = row;
  return {
    ...{ requestId, kind, app, userId, sessionId, agent, path, tool, callKey, callId, terms, since },
    hint: hintOf(row),
    args: maskedArguments(row.args, row.sensitive),
    ...(payload === undefined || isAnySensitive(row.sensitive) ? {} : { payload }),
    ...defined({ requester, until, responseSchema }),
    ...(authConfig === undefined ? {} : { credentialKey: authConfig.credentialKey }),
    commands: commandsOf(row),
    links: transcriptUrl === undefined ? {} : { transcript: transcriptUrl({ app, userId, sessionId }) },
  };
}

/** The tool may have quoted an argument. */
function hintOf({ hint, sensitive, args }: ApprovalRow): string {
  return sensitive === true ? '' : textWithoutSecrets(hint, args, sensitive);
}

function commandsOf({ kind, requestId }: ApprovalRow): string[] {
  const command = (word: string, more = '') => `npx holdfast approvals ${word} ${requestId}${more}`;
  if (kind === 'input') return [command('show'), command('answer', ' --response JSON')];
  if (kind === 'credential') return [command('show'), command('provide-credential', ' --credential REF')];
  return [command('show'), command('approve'), command('reject', ' --reason TEXT')];
}

/**
 * A request that has ended, as people are told of it: by the store's record, since a program with Temporal access could tell
 * anything of it.
 *
 * @returns undefined for one that waits.
 */
export function endedRequest(
  row: ApprovalRow,
  transcriptUrl: ActivityDependencies['transcriptUrl'],
): EndedRequest | undefined {
  const { status, since, decidedAt = since, reason, editedArgs } = row;
  if (status === 'pending') return undefined;
  const edited =
    editedArgs === undefined ? undefined : shownArguments(withFixed(row, editedArgs), row.sensitive);
  return {
    ...notifiedRequest(row, transcriptUrl),
    ...{ status, decidedAt, by: votersOf(row) },
    ...defined({ reason }),
    ...(isRecord(edited) ? { editedArgs: edited } : {}),
  };
}

/** The earlier approvers, and the last one. */
function votersOf({ status, votes, history }: ApprovalRow): Voter[] {
  if (status === 'expired' || status === 'cancelled') return [];
  const last = history.findLast(({ kind }) => kind === status)?.by;
  const before = votes.filter(({ confirmed }) => status === 'approved' && confirmed).map((vote) => vote.by);
  const all = last === undefined ? before : [...before, last];
  return [...new Map(all.map((voter) => [voter.principal, voter])).values()];
}
