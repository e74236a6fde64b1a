import type { CredentialType } from '../../approvals/next-commands.ts';
import type { AuthCredential } from '../../events/auth-credential.ts';
import { UsageError } from '../cli-error.ts';
import { type CommandOutput, processOutput, withProgress } from '../command-output.ts';
import { type ConnectOptions, connectFolder } from '../connect-folder.ts';
import { readSecret } from '../hidden-input.ts';
import { assertText, DEFAULT_USER, onlyApp } from '../sessions/named-session.ts';

export interface AddCredentialOptions {
  app?: string;
  user?: string;
  /** `credentialKey` of the tool's `authConfig`. */
  name: string;
  type: CredentialType;
  /** Of `basic`; it is no secret. */
  username?: string;
  label?: string;
  json?: boolean;
}

/** `holdfast credentials add`: encrypts a secret into the store, and prints the reference that stands for it. */
export async function addCredential(
  options: AddCredentialOptions & Pick<ConnectOptions, 'folder' | 'env'>,
  output: CommandOutput = processOutput(),
  secretOf: (question: string) => Promise<string> = readSecret,
): Promise<void> {
  const { folder, env, name, user = DEFAULT_USER, label } = options;
  assertText('--username', options.username);
  assertUsername(options);
  const connected = await connectFolder({ folder, env, onProgress: output.note });
  try {
    const app = options.app ?? (await onlyApp(connected.apps));
    const credential = credentialOf(options, await secretOf(QUESTIONS[options.type]));
    const stored = await withProgress(
      output,
      'storing',
      connected.api.credentials.put({
        app,
        userId: user,
        credentialKey: name,
        credential,
        ...(label === undefined ? {} : { label }),
      }),
    );
    if (options.json) return output.json(stored);
    output.line(stored.credentialRef);
    output.note(
      `stored encrypted as ${name} of user ${user} in app ${app}; a call that waits for it goes on with: npx holdfast approvals ` +
        `provide-credential REQUEST --credential ${stored.credentialRef}`,
    );
  } finally {
    await connected.close();
  }
}

const QUESTIONS: Record<CredentialType, string> = {
  'api-key': 'API key',
  bearer: 'bearer token',
  basic: 'password',
};

function assertUsername({ type, username }: AddCredentialOptions): void {
  if (type === 'basic' && username === undefined)
    throw new UsageError('--type basic: say whose password it is with --username <name>');
  if (type !== 'basic' && username !== undefined)
    throw new UsageError(`--username is for --type basic, not for ${type}`);
}

/** In ADK's words. */
export function credentialOf(
  { type, username = '' }: Pick<AddCredentialOptions, 'type' | 'username'>,
  secret: string,
): AuthCredential {
  switch (type) {
    case 'api-key':
      return { authType: 'apiKey', apiKey: secret };
    case 'bearer':
      return { authType: 'http', http: { scheme: 'bearer', credentials: { token: secret } } };
    case 'basic':
      return { authType: 'http', http: { scheme: 'basic', credentials: { username, password: secret } } };
  }
}
