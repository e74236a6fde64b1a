import { z } from '@hono/zod-openapi';
import type { AuthCredential } from '../../events/auth-credential.ts';
import { expected } from '../request-problems.ts';
import { bodyOf, text } from './fields.ts';

/** Its fields are the vault's to check, which quotes none of them. */
const CREDENTIAL = z
  .looseObject(
    {
      authType: z.enum(['apiKey', 'http'], { error: expected("'apiKey' or 'http'") }),
      apiKey: z.string({ error: expected('a string') }).optional(),
      http: z
        .looseObject(
          {
            scheme: z.string({ error: expected("'bearer' or 'basic'") }),
            credentials: z.looseObject({}, { error: expected('an object') }),
          },
          { error: expected('an object') },
        )
        .optional(),
    },
    { error: expected('an object') },
  )
  .openapi('Credential', {
    description:
      'An API key, or HTTP’s `bearer` (token) or `basic` (username, password); as ADK’s AuthCredential.',
  }) as unknown as z.ZodType<AuthCredential>;

export const PUT_CREDENTIAL = bodyOf({
  credentialKey: text('Name under which tools ask for it.'),
  credential: CREDENTIAL,
  label: text('For people; no secret.').optional(),
}).openapi('PutCredential');

export const STORED_CREDENTIAL = z
  .looseObject({
    credentialRef: z.string().openapi({ description: 'Names it; no secret.' }),
    app: z.string(),
    userId: z.string(),
    credentialKey: z.string(),
    authType: z.string(),
    label: z.string().optional(),
    createdAt: z.number().openapi({ description: 'Milliseconds since the epoch.' }),
  })
  .openapi('StoredCredential');

export const CREDENTIAL_LIST = z
  .object({ credentials: z.array(STORED_CREDENTIAL) })
  .openapi('CredentialList');

export const REMOVED_CREDENTIAL = z
  .object({ removed: z.boolean().openapi({ description: 'Whether there was one.' }) })
  .openapi('RemovedCredential');
