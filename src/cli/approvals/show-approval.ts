import { nextCommands } from '../../approvals/next-commands.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectSessions } from '../connect-folder.ts';
import { namedRequest, type RequestNaming } from './named-request.ts';
import { requestLines } from './request-text.ts';

export interface ShowApprovalOptions extends RequestNaming {
  json?: boolean;
}

/** `holdfast approvals show`: a request's question, its approvers, and its end. */
export async function showApproval(
  argument: string,
  options: ShowApprovalOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env } = options;
  const connected = await connectSessions({ folder, env, onProgress: output.note });
  try {
    const row = await withProgress(
      output,
      'reading the request',
      namedRequest(argument, options, connected.approvals),
    );
    if (options.json) return output.json(row);
    const [head = '', ...lines] = requestLines(row);
    output.line(output.paint('bold', head));
    for (const line of lines) output.line(line);
    if (row.status !== 'pending') return;
    output.line('  next:');
    for (const command of nextCommands(row, folder)) output.line(`    ${command}`);
  } finally {
    await connected.close();
  }
}
