import { z } from 'zod';
import { LONGEST_PERSON_NAME, PERSON_NAME, UNVERIFIED } from './decision-limits.ts';
import { duration, moment, name } from './fields.ts';
import { DEFAULT_LISTED, MOST_LISTED, PERMISSIONS } from './lists.ts';
import type { Contract, Exact, InputOf } from './operation.ts';

const permission = z.enum(PERMISSIONS);

export const GRANT = z.strictObject({
  app: name('The app; `*` for all of them.'),
  roles: z.array(permission).min(1),
  user: name('Limits it to the sessions of this user.').optional(),
});

const API_KEY = z.object({
  keyId: z.string().meta({ description: 'Stands in the key’s text, and is no secret.' }),
  name: z.string().meta({ description: 'The owner’s name in decisions and messages.' }),
  userId: z.string().optional().meta({ description: 'The only user in whose name it may act.' }),
  ...{ grants: z.array(GRANT), createdAt: moment(), expiresAt: moment().optional() },
  rotatedAt: moment().optional(),
  oldUntil: moment('Until when the text from before the rotation is good.').optional(),
  revokedAt: moment().optional(),
  usedAt: moment('To a minute.').optional(),
});

const NEW_TEXT = API_KEY.extend({ key: z.string().meta({ description: 'The text, which is shown once.' }) });

const DENIED_KIND = z.object({
  reason: z.string().meta({ description: 'As the refusal’s code says it, or `rate-limited`.' }),
  route: z.string().meta({ description: 'The route’s pattern, never the path.' }),
  who: z.string().optional().meta({ description: 'Of the principal; absent for strangers.' }),
  address: z.string().optional().meta({ description: 'Of a stranger.' }),
  permission: z.string().optional(),
  app: z.string().optional().meta({ description: 'Which a principal has named.' }),
});

const DENIAL = DENIED_KIND.extend({ count: z.int(), firstAt: moment(), lastAt: moment() });

const NAMED = { key: name('Its id, or its name where one key has it.') };

export const createKey = {
  name: 'keys.create',
  summary: 'Make an API key',
  input: z.object({
    name: z
      .string()
      .min(1)
      .max(LONGEST_PERSON_NAME)
      .regex(PERSON_NAME)
      .meta({
        description: 'Name of the key’s owner in decisions and messages.',
        'x-expected': `a name that doesn't begin or end with a space, has no control characters, and is not '${UNVERIFIED}'`,
      }),
    apps: z
      .array(name('The app.'))
      .min(1)
      .meta({ description: 'App that it may use, `*` for all; may be repeated.' }),
    roles: z
      .array(permission)
      .min(1)
      .meta({
        description: `Its permissions there: ${PERMISSIONS.join(', ')}, separated by commas.`,
        'x-expected': `some of ${PERMISSIONS.join(', ')}`,
      }),
    userId: name('The only user in whose name it may act.').optional(),
    expiresIn: duration('For how long it is good. Without it, until it is revoked.').optional(),
  }),
  output: NEW_TEXT,
} as const satisfies Contract;

export const listKeys = {
  name: 'keys.list',
  summary: 'List the API keys, without their secrets',
  input: z.object({}),
  output: z.object({ keys: z.array(API_KEY) }),
} as const satisfies Contract;

export const revokeKey = {
  name: 'keys.revoke',
  summary: 'End an API key: no gateway takes it any more, 5 seconds later at most',
  input: z.object(NAMED),
  output: API_KEY,
} as const satisfies Contract;

export const rotateKey = {
  name: 'keys.rotate',
  summary: 'Give an API key another text, shown this once',
  input: z.object({ ...NAMED, grace: duration('For how long the text before stays good.') }),
  output: NEW_TEXT,
} as const satisfies Contract;

export const listDenials = {
  name: 'keys.denials',
  summary: 'List the refusals of gateways in the last 30 days',
  input: z.object({
    since: moment('Not before this.').optional(),
    limit: z
      .int()
      .min(1)
      .max(MOST_LISTED)
      .optional()
      .meta({ description: 'Lines of the list.', default: DEFAULT_LISTED }),
  }),
  output: z.object({ denials: z.array(DENIAL) }),
} as const satisfies Contract;

/** Permissions at the gateway: `app` is `*` for all apps, `user` limits them to the sessions of one user. */
export type Grant = Exact<z.output<typeof GRANT>>;
/** An API key, without its secret. Times are milliseconds since the epoch. */
export type ApiKeyRow = Exact<z.output<typeof API_KEY>>;
/** A kind of refusal by the gateway. */
export type DeniedKind = Exact<z.output<typeof DENIED_KIND>>;
/** Refusals of one kind within a minute. */
export type Denial = Exact<z.output<typeof DENIAL>>;
export type ListDenials = Partial<InputOf<typeof listDenials>>;
