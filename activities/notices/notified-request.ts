import type { NotifiedRequest } from '../../src/approvals/notifier.ts';
import { shownArguments, WITHHELD, withoutWithheld } from '../../src/plugins/withheld.ts';
import { isRecord } from '../../src/schema/kind-of.ts';
import type { ApprovalRow, SessionNames } from '../../src/store/store.ts';

/** A request as people are told of it: nothing of what its tool keeps to itself. */
export function notifiedRequest(
  row: ApprovalRow,
  transcriptUrl: ((names: SessionNames) => string) | undefined,
): NotifiedRequest {
  const { requestId, kind, app, userId, sessionId, agent, path, tool, callKey, callId, terms, since } = row;
  const { payload, requester, until, responseSchema, authConfig } = row;
  const isOpen = row.sensitive === false || (Array.isArray(row.sensitive) && row.sensitive.length === 0);
  return {
    ...{ requestId, kind, app, userId, sessionId, agent, path, tool, callKey, callId, terms, since },
    hint: isOpen ? row.hint : hintOf(row),
    args: argumentsOf(row),
    ...(payload === undefined || !isOpen ? {} : { payload }),
    ...(requester === undefined ? {} : { requester }),
    ...(until === undefined ? {} : { until }),
    ...(responseSchema === undefined ? {} : { responseSchema }),
    ...(authConfig === undefined ? {} : { credentialKey: authConfig.credentialKey }),
    commands: commandsOf(row),
    links: transcriptUrl === undefined ? {} : { transcript: transcriptUrl({ app, userId, sessionId }) },
  };
}

/** The tool may have quoted an argument. */
function hintOf({ hint, sensitive, args }: ApprovalRow): string {
  return sensitive === true ? '' : withoutWithheld(hint, { sensitive }, args);
}

function argumentsOf({ args, sensitive }: ApprovalRow): Record<string, unknown> {
  const shown = shownArguments({ sensitive }, args);
  return isRecord(shown) ? shown : Object.fromEntries(Object.keys(args).map((name) => [name, WITHHELD]));
}

function commandsOf({ kind, requestId }: ApprovalRow): string[] {
  const command = (word: string, more = '') => `npx holdfast approvals ${word} ${requestId}${more}`;
  if (kind === 'input') return [command('show'), command('answer', ' --response JSON')];
  if (kind === 'credential') return [command('show'), command('provide-credential', ' --credential REF')];
  return [command('show'), command('approve'), command('reject', ' --reason TEXT')];
}
