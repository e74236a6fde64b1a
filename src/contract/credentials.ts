import { z } from 'zod';
import type { AuthCredential } from '../events/auth-credential.ts';
import { APP, moment, name, USER, USER_PATH, WHOSE_ON_THE_WIRE } from './fields.ts';
import type { Exact, InputOf, Noun, Operation } from './operation.ts';

/** Characters of a `credentialKey`, at most. */
const LONGEST_KEY = 512;
/** Characters of a credential's label, at most. */
const LONGEST_LABEL = 200;
/** Characters of a secret, at most. Service accounts' tokens have some thousands. */
export const LONGEST_SECRET = 16_384;

const LABELLED = {
  credentialKey: name('`credentialKey` of the tools’ `authConfig`, by which they ask for it.', LONGEST_KEY),
  label: z.string().max(LONGEST_LABEL).optional().meta({ description: 'For people; no secret.' }),
};

/** The vault checks the fields: an unknown name may be a secret, and the vault quotes no names. */
const CREDENTIAL = z
  .looseObject({
    authType: z.enum(['apiKey', 'http', 'oauth2', 'openIdConnect', 'serviceAccount']),
    oauth2: z.looseObject({ accessToken: z.string().optional() }).optional(),
    serviceAccount: z.looseObject({}).optional(),
    apiKey: z.string().optional(),
    http: z
      .looseObject({
        scheme: z.string().meta({ 'x-expected': "'bearer' or 'basic'" }),
        credentials: z.looseObject({}),
      })
      .optional(),
  })
  .meta({
    id: 'Credential',
    description:
      'An API key, HTTP’s `bearer` (token) or `basic` (username, password), tokens of OAuth, or the key file of a service account; as ' +
      'ADK’s AuthCredential. Each value has at most ' +
      `${LONGEST_SECRET} characters and no control characters; a username has no colon.`,
  }) as unknown as z.ZodType<AuthCredential>;

const STORED_CREDENTIAL = z
  .looseObject({
    credentialRef: z.string().meta({ description: 'Names it; no secret.' }),
    app: z.string(),
    userId: z.string(),
    credentialKey: z.string(),
    authType: z.string(),
    label: z.string().optional(),
    scopes: z.array(z.string()).optional().meta({ description: 'Of tokens: their scopes.' }),
    expiresAt: moment('Of tokens: when they expire. They are refreshed before.').optional(),
    account: z
      .string()
      .optional()
      .meta({ description: 'Of tokens: the account of the person who consented.' }),
    createdAt: moment(),
  })
  .meta({ id: 'StoredCredential' });

const LISTED = {
  name: 'credentials.list',
  tag: 'Credentials',
  method: 'get',
  output: z.object({ credentials: z.array(STORED_CREDENTIAL) }).meta({ id: 'CredentialList' }),
  answer: 'Without the secrets.',
} as const;

/** Names and label of a credential, without the secret. */
export const CREDENTIAL_NAMES = z.object({ ...USER, ...LABELLED });

export const putCredential = {
  name: 'credentials.put',
  id: 'putCredential',
  tag: 'Credentials',
  summary: 'Store a credential',
  description: 'Encrypted, in place of the user’s one of the same key. It can’t be read again.',
  method: 'post',
  path: `${USER_PATH}/credentials`,
  may: { permission: 'operate', of: 'path' },
  input: CREDENTIAL_NAMES.extend({ credential: CREDENTIAL }),
  checked: CREDENTIAL_NAMES,
  wire: WHOSE_ON_THE_WIRE,
  output: STORED_CREDENTIAL,
  answer: 'The reference to the credential.',
  status: 201,
  errors: ['HOLDFAST_INVALID_CREDENTIAL'],
} as const satisfies Operation;

export const listUserCredentials = {
  ...LISTED,
  id: 'listUserCredentials',
  summary: 'List a user’s credentials',
  path: `${USER_PATH}/credentials`,
  may: { permission: 'read', of: 'path' },
  input: z.object(USER),
  wire: WHOSE_ON_THE_WIRE,
} as const satisfies Operation;

export const listAppCredentials = {
  ...LISTED,
  id: 'listAppCredentials',
  summary: 'List an app’s credentials, of all users',
  path: '/v1/apps/{app}/credentials',
  may: { permission: 'read', of: 'path' },
  input: z.object(APP),
} as const satisfies Operation;

/** Of one user, or of all. */
export function listOfCredentials({ userId }: ListCredentials) {
  return userId === undefined ? listAppCredentials : listUserCredentials;
}

export const removeCredential = {
  name: 'credentials.remove',
  id: 'removeCredential',
  tag: 'Credentials',
  summary: 'Remove a credential',
  description: 'Tokens are given up at their server first. Removing again is no error.',
  method: 'delete',
  path: `${USER_PATH}/credentials/{credentialRef}`,
  may: { permission: 'operate', of: 'path' },
  input: z.object({ ...USER, credentialRef: name('Reference of the credential, `cr-…`. URI-encoded.') }),
  wire: WHOSE_ON_THE_WIRE,
  output: z
    .object({
      removed: z.boolean().meta({ description: 'Whether there was one.' }),
      revoked: z
        .boolean()
        .optional()
        .meta({ description: 'Of tokens: whether their server has taken them back.' }),
    })
    .meta({ id: 'RemovedCredential' }),
  answer: 'It is gone.',
} as const satisfies Operation;

export const connectCredential = {
  name: 'credentials.connect',
  id: 'connectCredential',
  tag: 'Credentials',
  summary: 'Begin to connect an account',
  description:
    'A link on which the user consents at the authorization server of this `credentialKey`, to what waiting calls need. They go on then.',
  method: 'post',
  path: `${USER_PATH}/connections`,
  may: { permission: 'operate', of: 'path' },
  input: z.object({ ...USER, credentialKey: LABELLED.credentialKey }),
  wire: WHOSE_ON_THE_WIRE,
  output: z
    .object({
      path: z
        .string()
        .meta({ description: 'Path of the page at the gateway. It acts for the user: a secret.' }),
      expiresAt: moment('Until when the link is good.'),
    })
    .meta({ id: 'ConnectLink' }),
  answer: 'The link.',
  status: 201,
} as const satisfies Operation;

export const resealCredentials = {
  name: 'credentials.reseal',
  id: 'resealCredentials',
  tag: 'Credentials',
  summary: 'Encrypt an app’s credentials with the first key',
  description: 'Credentials that another of the keys has encrypted. Then that key may go.',
  method: 'post',
  path: '/v1/apps/{app}/credentials/reseal',
  may: { permission: 'operate', of: 'path' },
  input: z.object(APP),
  output: z
    .object({ resealed: z.number().meta({ description: 'How many.' }) })
    .meta({ id: 'ResealedCredentials' }),
  answer: 'All have the first key.',
} as const satisfies Operation;

/** By their methods; routes of the gateway stand in this order. */
export const CREDENTIALS = {
  put: putCredential,
  list: [listUserCredentials, listAppCredentials],
  remove: removeCredential,
  connect: connectCredential,
  reseal: resealCredentials,
} as const satisfies Noun;

/** A secret that is kept encrypted, without the secret. */
export type StoredCredential = Exact<z.output<typeof STORED_CREDENTIAL>>;
export type PutCredential = InputOf<typeof putCredential>;
export type ListCredentials = InputOf<typeof listAppCredentials> &
  Partial<Pick<InputOf<typeof listUserCredentials>, 'userId'>>;
export type RemoveCredential = InputOf<typeof removeCredential>;
export type RemovedCredential = Exact<z.output<typeof removeCredential.output>>;
export type ConnectCredential = InputOf<typeof connectCredential>;
/** A page at the gateway on which a user connects an account. */
export type ConnectLink = Exact<z.output<typeof connectCredential.output>>;
