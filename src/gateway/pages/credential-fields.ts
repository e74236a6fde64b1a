import { html } from 'hono/html';
import type { PutCredential } from '../../contract/credentials.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { isRecord } from '../../protocol/json.ts';
import type { Field, Filled } from './fields.ts';
import type { Form } from './take-form.ts';

export type CredentialKind = 'apiKey' | 'bearer' | 'basic';

const KINDS = ['apiKey', 'bearer', 'basic'] as const;

const FIELDS: Record<CredentialKind, readonly Field[]> = {
  apiKey: [{ id: 'apiKey-secret', label: html`API key`, control: 'secret' }],
  bearer: [{ id: 'bearer-secret', label: html`Token`, control: 'secret' }],
  basic: [
    { id: 'basic-username', label: html`User name`, control: 'line' },
    { id: 'basic-secret', label: html`Password`, control: 'secret' },
  ],
};

export const KIND_NAMES: Record<CredentialKind, string> = {
  apiKey: 'an API key',
  bearer: 'a token',
  basic: 'a user name and a password',
};

/** Kinds that fit what the tool asks for: one where it says which. */
export function credentialKinds({ authConfig }: Pick<ApprovalRow, 'authConfig'>): readonly CredentialKind[] {
  const given: unknown = authConfig?.authScheme;
  const { type, scheme } = isRecord(given) ? given : {};
  if (type === 'apiKey') return ['apiKey'];
  const named = typeof scheme === 'string' ? scheme.toLowerCase() : '';
  if (type === 'http' && (named === 'bearer' || named === 'basic')) return [named];
  return KINDS;
}

export function credentialFields(kind: CredentialKind): readonly Field[] {
  return FIELDS[kind];
}

/** A person's credential; undefined when a field is wrong. The page never fills in a secret again. */
export function readCredential(
  form: Form,
  kinds: readonly CredentialKind[],
):
  | { kind: CredentialKind; credential: PutCredential['credential'] | undefined; filled: Map<string, Filled> }
  | undefined {
  const kind = kinds.find((each) => each === form.get('kind'));
  if (kind === undefined) return undefined;
  const [secret, username] = [form.get(`${kind}-secret`) ?? '', form.get('basic-username') ?? ''];
  const missing: Filled = { problem: 'This is needed.' };
  const filled = new Map<string, Filled>([
    ['kind', { value: kind }],
    [`${kind}-secret`, secret === '' ? missing : {}],
    ...(kind === 'basic'
      ? ([['basic-username', username === '' ? missing : { value: username }]] as const)
      : []),
  ]);
  const isWhole = [...filled.values()].every(({ problem }) => problem === undefined);
  return { kind, filled, credential: isWhole ? credentialOf(kind, secret, username) : undefined };
}

function credentialOf(kind: CredentialKind, secret: string, username: string): PutCredential['credential'] {
  if (kind === 'apiKey') return { authType: 'apiKey', apiKey: secret };
  const http =
    kind === 'bearer'
      ? { scheme: 'bearer', credentials: { token: secret } }
      : { scheme: 'basic', credentials: { username, password: secret } };
  return { authType: 'http', http };
}
