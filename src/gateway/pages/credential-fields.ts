import { html } from 'hono/html';
import { type CredentialType, credentialOf } from '../../approvals/credential-types.ts';
import type { PutCredential } from '../../contract/credentials.ts';
import type { Field, Filled } from './fields.ts';
import type { Form } from './take-form.ts';

const FIELDS: Record<CredentialType, readonly Field[]> = {
  'api-key': [{ id: 'api-key-secret', label: html`API key`, control: 'secret' }],
  bearer: [{ id: 'bearer-secret', label: html`Token`, control: 'secret' }],
  basic: [
    { id: 'basic-username', label: html`User name`, control: 'line' },
    { id: 'basic-secret', label: html`Password`, control: 'secret' },
  ],
};

export const KIND_NAMES: Record<CredentialType, string> = {
  'api-key': 'an API key',
  bearer: 'a token',
  basic: 'a user name and a password',
};

export function credentialFields(kind: CredentialType): readonly Field[] {
  return FIELDS[kind];
}

/** A person's credential; undefined when a field is wrong. The page never fills in a secret again. */
export function readCredential(
  form: Form,
  kinds: readonly CredentialType[],
):
  | { kind: CredentialType; credential: PutCredential['credential'] | undefined; filled: Map<string, Filled> }
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
