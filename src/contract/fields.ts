import { z } from 'zod';
import { DEFAULT_LISTED, MOST_LISTED } from './lists.ts';
import { LONGEST_NAME, LONGEST_TIME } from './message-limits.ts';
import { PROTOCOL_VERSION } from './version.ts';

/** No database keeps NUL, and no JSON a lone surrogate. */
const STORABLE = /^[^\p{Cs}\0]+$/u;

/** A name, of any length unless `most` bounds it. */
export function name(description: string, most = Number.POSITIVE_INFINITY) {
  const text = z.string().min(1).regex(STORABLE);
  return (Number.isFinite(most) ? text.max(most) : text).meta({
    description,
    'x-expected': 'a non-empty string of well-formed Unicode without NUL characters',
  });
}

/** A name that a path of the gateway has later. */
export function newName(description: string) {
  return name(description).meta({ 'x-path-part': true });
}

const BYTES_OF_QUOTES = 2;

/** A name that goes into ids of Temporal's, which bounds their bytes. */
export function idName(description?: string) {
  const of = description === undefined ? {} : { description };
  return z
    .string()
    .min(1)
    .max(LONGEST_NAME)
    .meta({ ...of, 'x-max-bytes': LONGEST_NAME + BYTES_OF_QUOTES });
}

/** Milliseconds since the epoch. */
export function moment(description?: string) {
  const unit = 'Milliseconds since the epoch.';
  return z.number().meta({ description: description === undefined ? unit : `${description} ${unit}` });
}

/** The last moment of a `Date`. */
const LATEST = 8.64e15;

/** A moment that somebody says, with a fraction or without. */
export function time(description: string) {
  return z
    .number()
    .min(0)
    .max(LATEST)
    .meta({
      description: `${description} Milliseconds since the epoch.`,
      'x-expected': 'milliseconds since the epoch',
    });
}

/** How long there is until something is due, which may have been before now, in milliseconds. */
export function timeLeft() {
  return z.number().min(-LONGEST_TIME).max(LONGEST_TIME).meta({ 'x-expected': 'milliseconds' });
}

/** How long something may take, in milliseconds. */
export function duration(description?: string) {
  const of = description === undefined ? {} : { description };
  return z
    .number()
    .gt(0)
    .max(LONGEST_TIME)
    .meta({ ...of, 'x-expected': 'milliseconds, more than 0' });
}

/** `v` of values that cross Temporal. */
export function version() {
  return z
    .number()
    .max(PROTOCOL_VERSION)
    .optional()
    .meta({ 'x-expected': `a version up to ${PROTOCOL_VERSION} (deploy a newer worker for a later one)` });
}

export function jsonObject(description: string) {
  return z.record(z.string(), z.unknown()).meta({ description });
}

/** Fields that a page of a list is asked for by. */
export const PAGE = {
  limit: z
    .int()
    .min(1)
    .max(MOST_LISTED)
    .optional()
    .meta({ description: 'Rows of a page.', default: DEFAULT_LISTED }),
  order: z
    .enum(['oldest', 'newest'])
    .optional()
    .meta({ description: 'Which come first.', default: 'oldest' }),
};

/** Fields that narrow a list. */
export const WHOSE = {
  app: name('Of this app only.').optional(),
  userId: name('Of this user’s sessions only.').optional(),
  sessionId: name('Of this session only.').optional(),
};

/** Names of {@link WHOSE} and {@link SESSION} on the wire. */
export const WHOSE_ON_THE_WIRE = { userId: 'user', sessionId: 'session' };

/** The app that a path names. */
export const APP = { app: name('The app. URI-encoded.', LONGEST_NAME) };

/** The user that a path names. */
export const USER = { ...APP, userId: name('The user. URI-encoded.', LONGEST_NAME) };

/** The session that a path names. */
export const SESSION = { ...USER, sessionId: name('The session. URI-encoded.', LONGEST_NAME) };

/** App, user and session of a turn or a job, as workflows get them. */
export const WHOSE_WORK = {
  app: name('The app.', LONGEST_NAME),
  userId: name('The user.', LONGEST_NAME),
  sessionId: name('The session.', LONGEST_NAME),
};

/** A session, as it is named. */
export const SESSION_NAMES = z.object(SESSION);

export const USER_PATH = '/v1/apps/{app}/users/{user}';
export const SESSION_PATH = `${USER_PATH}/sessions/{session}`;

/** Milliseconds, at most, that an answer is waited for. */
export const LONGEST_TIMEOUT = 60_000;

/** How long a worker is waited for, where nobody gives another time, milliseconds. */
export const ANSWER_TIMEOUT = 5_000;

export const TIMEOUT = z
  .int()
  .min(0)
  .max(LONGEST_TIMEOUT)
  .optional()
  .meta({ description: 'How long a worker is waited for, milliseconds.', default: ANSWER_TIMEOUT });
