import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { tellDecision } from './decide-approval.ts';
import { namedRequest, type RequestNaming } from './named-request.ts';

export interface ProvideCredentialOptions extends RequestNaming {
  /** `credentialRef` of a stored credential. */
  credential: string;
  json?: boolean;
}

/** `holdfast approvals provide-credential`. */
export async function provideCredential(
  argument: string,
  options: ProvideCredentialOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
): Promise<void> {
  const { folder, env, credential: credentialRef } = options;
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const { approvals } = connected.api;
    const row = await withProgress(output, 'reading the request', namedRequest(argument, options, approvals));
    if (row.kind !== 'credential') {
      throw new UsageError(
        `${row.requestId} asks for ${row.kind === 'input' ? 'an answer' : 'an approval'}, not for a credential: holdfast ` +
          `approvals show ${row.requestId} tells what to type`,
      );
    }
    const sent = approvals.provideCredential({ requestId: row.requestId }, { credentialRef });
    tellDecision(
      row,
      await withProgress(output, 'giving the credential', sent),
      { isSigned: false, json: options.json },
      output,
    );
  } finally {
    await connected.close();
  }
}
