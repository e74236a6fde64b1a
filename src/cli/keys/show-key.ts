import { issuerOf } from '../../approvals/approver-key.ts';
import { readKeyFile } from '../approvals/approver.ts';
import { type CommandOutput, processOutput } from '../command-output.ts';
import { issuerLines } from './create-key.ts';

/** `holdfast keys show`: the public half of a key. */
export function showKey(
  path: string,
  { json }: { json?: boolean },
  output: CommandOutput = processOutput(),
): void {
  const issuer = issuerOf(readKeyFile(path));
  if (json) output.json(issuer);
  else for (const line of issuerLines(issuer)) output.line(line);
}
