import type { ApprovalRow } from '../contract/requests.ts';
import { isSensitive } from './sensitive.ts';

type Edited = Pick<ApprovalRow, 'args' | 'sensitive'>;

/** The arguments of the run: the shown ones, or an approval's edit. */
export function argumentsToRun({
  editedArgs,
  ...shown
}: Edited & Pick<ApprovalRow, 'editedArgs'>): Record<string, unknown> {
  return editedArgs === undefined ? shown.args : withFixed(shown, editedArgs);
}

/** An edit with the sensitive arguments, which it leaves out: no secret travels with a decision. */
export function withFixed(
  { args, sensitive }: Edited,
  edited: Record<string, unknown>,
): Record<string, unknown> {
  if (sensitive === true) return edited;
  const fixed = Object.entries(args).filter(([name]) => isSensitive(sensitive, name));
  return { ...edited, ...Object.fromEntries(fixed) };
}

/**
 * Why an edit can't be sent: it names what is sensitive, and a decision goes through the history of Temporal.
 *
 * @returns undefined where it can; never quotes a value.
 */
export function secretInEdit(
  { sensitive }: Pick<ApprovalRow, 'sensitive'>,
  edited: Record<string, unknown>,
): string | undefined {
  const why = 'and what a decision says is kept in the history of Temporal';
  if (sensitive === true)
    return `all arguments of this tool are sensitive, ${why}: approve it as it is, or reject it`;
  const name = Object.keys(edited).find((each) => isSensitive(sensitive, each));
  if (name === undefined) return undefined;
  return `the argument ${name} is sensitive, ${why}: leave it out, and it stays as it is, or reject the call`;
}
