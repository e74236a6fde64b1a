import { type CredentialType, credentialOf } from '../../approvals/credential-types.ts';
import { variable } from '../../environment.ts';
import { pageUrl } from '../../net/public-url.ts';
import { defined } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { CliError, UsageError } from '../cli-error.ts';
import { processOutput, withProgress } from '../command-output.ts';
import { connected, connectFolder, type InFolder } from '../connect-folder.ts';
import { readSecret } from '../hidden-input.ts';
import { assertText, type NamingOptions, namedUser, onlyApp } from '../sessions/named-session.ts';
import { ago, tableLines } from '../sessions/shown-values.ts';

interface AddCredentialOptions extends NamingOptions {
  /** `credentialKey` of the tool's `authConfig`. */
  name: string;
  type: CredentialType;
  /** The user name of `basic`; it is no secret. */
  username?: string;
  label?: string;
}

/** `holdfast credentials add`: encrypts a secret into the store, and prints the reference that stands for it. */
export async function addCredential(
  options: InFolder<AddCredentialOptions>,
  output = processOutput(),
  secretOf: (question: string) => Promise<string> = readSecret,
): Promise<void> {
  const { name, type, label } = options;
  assertText('--username', options.username);
  assertUsername(options);
  await connected(connectFolder, options, output, async ({ api, apps }) => {
    const owner = await namedUser(options, apps);
    const credential = credentialOf(type, await secretOf(SECRETS[type]), options.username);
    const putting = api.credentials.put({ ...owner, credentialKey: name, credential, ...defined({ label }) });
    const stored = await withProgress(output, 'storing', putting);
    if (options.json) return output.json(stored);
    output.line(stored.credentialRef);
    output.note(
      `stored encrypted as ${name} of user ${owner.userId} in app ${owner.app}; a call that waits for it goes on with: npx holdfast ` +
        `approvals provide-credential REQUEST --credential ${stored.credentialRef}`,
    );
  });
}

/** How a person is asked for each. */
export const SECRETS: Record<CredentialType, string> = {
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

/** `holdfast credentials list`: what is stored, without the secrets. */
export async function listCredentials(
  options: InFolder<NamingOptions>,
  output = processOutput(),
): Promise<void> {
  await connected(connectFolder, options, output, async ({ api, apps }) => {
    const app = options.app ?? (await onlyApp(apps));
    const listing = api.credentials.list({ app, ...defined({ userId: options.user }) });
    const credentials = await withProgress(output, 'reading credentials', listing);
    if (options.json) return output.json({ credentials });
    if (credentials.length === 0) return output.note(`no credentials in app ${app}`);
    const rows = credentials.map(
      ({ credentialRef, userId, credentialKey, authType, createdAt, label, account = '', scopes = [] }) =>
        [
          credentialRef,
          userId,
          credentialKey,
          authType,
          ago(createdAt),
          label ?? account,
          scopes.join(' '),
        ].map((cell) => visibleExcerpt(cell, 60)),
    );
    const columns = ['REFERENCE', 'USER', 'NAME', 'TYPE', 'STORED', 'LABEL OR ACCOUNT', 'SCOPES'];
    for (const line of tableLines(columns, rows)) output.line(line);
  });
}

/** `holdfast credentials remove`, by the reference or by the name. */
export async function removeCredential(
  argument: string,
  options: InFolder<NamingOptions>,
  output = processOutput(),
): Promise<void> {
  await connected(connectFolder, options, output, async ({ api: { credentials }, apps }) => {
    const owner = await namedUser(options, apps);
    const removed = await withProgress(output, 'removing', remove());
    if (removed === undefined) {
      throw new CliError(
        `app ${owner.app} and user ${owner.userId} have no credential ${visibleExcerpt(argument, 100)}: see holdfast credentials list`,
      );
    }
    const { credentialRef, revoked } = removed;
    if (options.json) return output.json({ removed: credentialRef, ...defined({ revoked }) });
    output.line(`${credentialRef} is removed`);
    if (revoked === false)
      output.note('its tokens were not given up: the server takes none back, or could not be asked');
    output.note('turns that wait for it, or need it again, ask for a new one');

    async function remove(): Promise<{ credentialRef: string; revoked?: boolean } | undefined> {
      const stored = await credentials.list(owner);
      const found = stored.find(
        ({ credentialRef, credentialKey }) => credentialRef === argument || credentialKey === argument,
      );
      if (found === undefined) return undefined;
      const { credentialRef } = found;
      const { removed, ...told } = await credentials.remove({ ...owner, credentialRef });
      return removed ? { credentialRef, ...told } : undefined;
    }
  });
}

/** `holdfast credentials connect`: a link on which a user connects an account. */
export async function connectCredential(
  credentialKey: string,
  options: InFolder<NamingOptions>,
  output = processOutput(),
): Promise<void> {
  await connected(connectFolder, options, output, async ({ api, apps, gatewayUrl }) => {
    const owner = await namedUser(options, apps);
    const link = await api.credentials.connect({ ...owner, credentialKey });
    const publicUrl = variable('HOLDFAST_PUBLIC_URL', options.env)?.trim();
    const base = publicUrl ?? gatewayUrl;
    const url = base === undefined ? undefined : pageUrl(base, link.path);
    if (options.json) return output.json({ ...link, ...defined({ url }) });
    output.line(url ?? link.path);
    if (url === undefined) output.note('this is the path at the gateway, whose address is not known here');
    output.note(
      `its holder connects an account for user ${owner.userId} in app ${owner.app}: pass it on to them only`,
    );
  });
}

/** `holdfast credentials reseal`: encrypts an app's credentials with the first key. */
export async function resealCredentials(
  options: InFolder<NamingOptions>,
  output = processOutput(),
): Promise<void> {
  await connected(connectFolder, options, output, async ({ api, apps }) => {
    const app = options.app ?? (await onlyApp(apps));
    const resealed = await withProgress(output, 'encrypting', api.credentials.reseal({ app }));
    if (options.json) return output.json({ resealed });
    output.line(`${resealed} credentials of app ${app} have the first key now`);
  });
}
