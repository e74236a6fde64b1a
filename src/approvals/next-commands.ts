import type { ApprovalRow } from '../contract/requests.ts';
import { shellWord } from '../protocol/shell-word.ts';
import { visibleText } from '../protocol/visible-text.ts';
import { credentialTypesOf } from './credential-types.ts';
import { needsAttestation } from './voting.ts';

const DEFAULT_FOLDER = '.holdfast';

/** Commands that decide a pending request, to be copied; their capitals are for the person to fill in. */
export function nextCommands(row: ApprovalRow, folder?: string): string[] {
  const command = (words: string) => commandIn(folder, words);
  const { requestId, kind, app, userId, authConfig } = row;
  const request = shellWord(requestId);
  const signed = needsAttestation(row) ? ' --as NAME --key FILE' : '';
  if (kind === 'input') return [command(`approvals answer ${request} --response JSON`)];
  if (kind === 'credential') {
    const key = shellWord(authConfig?.credentialKey ?? 'KEY');
    const whose = `--app ${shellWord(app)} --user ${shellWord(userId)}`;
    if (authConfig?.provider !== undefined)
      return [visibleText(command(`credentials connect ${key} ${whose}`))];
    return [
      command(`credentials add ${whose} --name ${key} --type ${credentialTypesOf(row)[0]}`),
      command(`approvals provide-credential ${request} --credential REF`),
    ].map(visibleText);
  }
  return [
    command(`approvals approve ${request}${signed}`),
    ...(row.terms.allowEdit ? [command(`approvals approve ${request} --args JSON${signed}`)] : []),
    command(`approvals reject ${request} --reason TEXT${signed}`),
  ];
}

/** A command in a folder. */
export function commandIn(folder: string | undefined, words: string): string {
  return `npx holdfast ${words}${folder === undefined || folder === DEFAULT_FOLDER ? '' : ` --folder ${shellWord(folder)}`}`;
}
