import { createHash } from 'node:crypto';
import { z } from 'zod';
import { RequestRefused } from '../gateway-errors.ts';

const ID = z.string().min(1).max(100);
const TEAM = z.object({ id: ID }).nullish();
/** Without a workspace nobody knows who it is. */
const USER = z.object({ id: ID, team_id: ID });

const CLICK = z.object({
  type: z.literal('block_actions'),
  api_app_id: ID,
  team: TEAM,
  user: USER,
  trigger_id: z.string().max(500),
  response_url: z.string().max(2_000).optional(),
  container: z.object({ message_ts: ID, channel_id: ID }).optional(),
  actions: z
    .array(z.object({ action_id: z.string().max(255), value: z.string().max(2_000).optional() }))
    .min(1)
    .max(25),
});

const SUBMISSION = z.object({
  type: z.literal('view_submission'),
  api_app_id: ID,
  team: TEAM,
  user: USER,
  view: z.object({
    callback_id: z.string().max(255),
    private_metadata: z.string().max(3_000),
    state: z.object({
      values: z.record(z.string(), z.record(z.string(), z.object({ value: z.string().nullish() }))),
    }),
  }),
});

/** Of kinds that nothing here makes, but whose sender is looked at all the same. */
const OTHER = z.object({ type: z.string(), api_app_id: ID, team: TEAM, user: USER });

const COMMAND = z.object({
  api_app_id: ID,
  team_id: ID,
  user_id: ID,
  channel_id: ID,
  command: z.string().max(200),
  text: z.string().default(''),
  trigger_id: z.string().max(500),
  response_url: z.string().max(2_000).optional(),
});

const VERIFICATION = z.object({ type: z.literal('url_verification'), challenge: z.string().max(1_000) });

const EVENT = z.object({
  type: z.literal('event_callback'),
  api_app_id: ID,
  team_id: ID,
  /** Workspace of the app. In a shared channel the writer's may be another one. */
  context_team_id: ID.nullish(),
  is_ext_shared_channel: z.boolean().nullish(),
  event_id: z.string().min(1).max(200),
  event: z.looseObject({ type: z.string() }),
});

/** Of kinds that nobody has subscribed to, or that Slack tells of itself. */
const OTHER_EVENT = z.object({
  type: z.string(),
  api_app_id: ID,
  team_id: ID,
  context_team_id: ID.nullish(),
});

const MESSAGE = z.object({
  type: z.literal('message'),
  subtype: z.literal('thread_broadcast').nullish(),
  bot_id: z.null().optional(),
  hidden: z.literal(false).nullish(),
  channel: ID,
  user: ID,
  team: ID.nullish(),
  user_team: ID.nullish(),
  text: z.string(),
  ts: ID,
  thread_ts: z.string().regex(/^\d{1,20}\.\d{1,10}$/),
});

export type ClickPayload = z.infer<typeof CLICK>;
export type SubmissionPayload = z.infer<typeof SUBMISSION>;
export type CommandPayload = z.infer<typeof COMMAND>;
export type EventPayload = z.infer<typeof EVENT>;

/** The action of a person. @throws RequestRefused */
export function readInteraction(body: string): ClickPayload | SubmissionPayload | z.infer<typeof OTHER> {
  const payload = parsed(new URLSearchParams(body).get('payload') ?? '', 'payload');
  const type =
    typeof payload === 'object' && payload !== null && 'type' in payload ? payload.type : undefined;
  if (type === 'block_actions') return read(CLICK, payload, 'payload');
  if (type === 'view_submission') return read(SUBMISSION, payload, 'payload');
  return read(OTHER, payload, 'payload');
}

/** @throws RequestRefused */
export function readCommand(body: string): CommandPayload {
  return read(COMMAND, Object.fromEntries(new URLSearchParams(body)), 'body');
}

/** @throws RequestRefused */
export function readEvent(
  body: string,
): EventPayload | z.infer<typeof VERIFICATION> | z.infer<typeof OTHER_EVENT> {
  return read(z.union([VERIFICATION, EVENT, OTHER_EVENT]), parsed(body, 'body'), 'body');
}

/** Undefined for an event that is no message of a person in a thread: an own one, an edit, one of another bot. */
export function threadMessageOf({ event }: EventPayload): z.infer<typeof MESSAGE> | undefined {
  const message = MESSAGE.safeParse(event).data;
  return message === undefined || message.thread_ts === message.ts ? undefined : message;
}

/** By which it is known when it comes again. */
export function deliveryIdOf(kind: string, body: string): string {
  return `${kind}:${createHash('sha256').update(body).digest('base64url')}`;
}

function read<Schema extends z.ZodType>(schema: Schema, value: unknown, where: string): z.output<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const path = result.error.issues[0]?.path.join('.') ?? '';
  throw new RequestRefused(
    'HOLDFAST_GATEWAY_BAD_REQUEST',
    `${where}${path === '' ? '' : `.${path}`}: Slack sends other payloads`,
  );
}

function parsed(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new RequestRefused('HOLDFAST_GATEWAY_BAD_REQUEST', `${where}: expected JSON`, {}, { cause });
  }
}
