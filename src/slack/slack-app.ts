import { setTimeout } from 'node:timers/promises';
import type { NotifiedRequest } from '../approvals/notifier.ts';
import { codedError, HoldfastError } from '../contract/error.ts';
import { variable } from '../environment.ts';
import { PUBLIC_URL_FORM, publicUrlOf } from '../net/public-url.ts';
import { isRecord } from '../protocol/json.ts';
import { DefinitionError } from '../schema/definition-error.ts';
import { kindOf } from '../schema/kind-of.ts';
import { assertKnownFields } from '../schema/known-fields.ts';
import * as option from '../schema/option-kinds.ts';
import { OptionReader } from '../schema/options.ts';
import { isPersonName, problemOfName } from '../schema/person-name.ts';
import { SlackApi } from './slack-api.ts';
import type { SlackOptions, SlackSecret, SlackUser } from './slack-options.ts';

const OWNER = 'slack';
const KNOWN: readonly (keyof SlackOptions)[] = [
  'botToken',
  'signingSecret',
  'appId',
  'teamIds',
  'channel',
  'persons',
  'commandApp',
  'name',
  'publicUrl',
  'slackApiUrl',
];
const API_URL = 'https://slack.com/api/';

const APP_ID = /^A[A-Z0-9]{2,30}$/;
const TEAM_ID = /^[TE][A-Z0-9]{2,30}$/;
const CHANNEL_ID = /^[CDG][A-Z0-9]{2,30}$/;
const USER_KEY = /^(?:([TE][A-Z0-9]{2,30})\/)?([UW][A-Z0-9]{2,30})$/;

/** Milliseconds that a function of the configuration has to find out who somebody is. */
const PERSON_TIME = 10_000;

/** How long a Slack app waits, milliseconds each; 10 seconds where it is left out. */
export interface SlackTimes {
  /** For one call of Slack. */
  call?: number;
  /** For `persons`, where it is a function. */
  person?: number;
}

/** A secret of a Slack app isn't where the configuration says. */
export class SlackSecretMissing extends codedError('HOLDFAST_SLACK_SECRET_MISSING') {}

/** A Slack app as it is configured: what notifier, plugin and gateway share. */
export class SlackApp {
  readonly name: string;
  readonly appId: string;
  readonly teamIds: ReadonlySet<string>;
  readonly commandApp: string | undefined;
  /** Where people reach the gateway, without a slash at the end. */
  readonly publicUrl: string | undefined;
  readonly api: SlackApi;
  readonly #options: SlackOptions;
  readonly #personTime: number;

  /** @throws DefinitionError, naming the option and never a value. */
  constructor(options: SlackOptions, { call, person = PERSON_TIME }: SlackTimes = {}) {
    assertKnownFields(OWNER, options, KNOWN);
    const read = new OptionReader(OWNER, options);
    this.name = option.text('slack')(read, 'name');
    this.commandApp = option.text()(read, 'commandApp');
    this.publicUrl = baseOf(options.publicUrl);
    this.appId = matching(option.required(option.text())(read, 'appId'), APP_ID, 'appId', 'an app’s id, A…');
    this.teamIds = teamsOf(options.teamIds);
    checkSecret(options.botToken, 'botToken');
    for (const [index, secret] of secretsOf(options).entries())
      checkSecret(secret, `signingSecret[${index}]`);
    if (typeof options.channel !== 'function') {
      matching(options.channel, CHANNEL_ID, 'channel', 'a channel’s id, C…, and not its name');
    }
    checkPersons(options.persons, this.teamIds);
    this.#options = options;
    this.#personTime = person;
    this.api = new SlackApi({
      appId: this.appId,
      apiUrl: apiUrlOf(options.slackApiUrl),
      token: () => readSecret(options.botToken, 'botToken'),
      callTime: call,
    });
  }

  /** @throws SlackSecretMissing */
  async signingSecrets(): Promise<readonly [string, ...string[]]> {
    const [first, ...others] = await Promise.all(
      secretsOf(this.#options).map((secret) => readSecret(secret, 'signingSecret')),
    );
    return [first as string, ...others];
  }

  /**
   * The person of this user; undefined if there is none.
   *
   * @throws HOLDFAST_SLACK_PERSON_LATE where a function doesn't say so in time.
   */
  async personOf(user: SlackUser): Promise<string | undefined> {
    const { persons } = this.#options;
    if (typeof persons === 'function') {
      const person: unknown = await this.#inTime(async () => await persons(user));
      return isPersonName(person) ? person : undefined;
    }
    if (!this.teamIds.has(user.teamId)) return undefined;
    const keys = [`${user.teamId}/${user.id}`, ...(this.teamIds.size === 1 ? [user.id] : [])];
    const key = keys.find((each) => Object.hasOwn(persons, each));
    return key === undefined ? undefined : persons[key];
  }

  async #inTime<T>(find: () => Promise<T>): Promise<T> {
    const over = new AbortController();
    const late = async (): Promise<never> => {
      await setTimeout(this.#personTime, undefined, { signal: over.signal });
      throw new HoldfastError(
        'HOLDFAST_SLACK_PERSON_LATE',
        `slack: persons: its function has not answered for ${this.#personTime} ms`,
      );
    };
    try {
      return await Promise.race([find(), late()]);
    } finally {
      over.abort();
    }
  }

  /** User id for Slack users that `persons` doesn’t name. */
  userOf({ id, teamId }: SlackUser): string {
    return this.teamIds.size === 1 ? `slack:${id}` : `slack:${teamId}:${id}`;
  }

  /** Ids of those who are known to be one of these persons. */
  idsOf(people: readonly string[]): string[] {
    const { persons } = this.#options;
    if (typeof persons === 'function') return [];
    const ids = Object.entries(persons).flatMap(([key, person]) =>
      people.includes(person) ? [USER_KEY.exec(key)?.[2] ?? key] : [],
    );
    return [...new Set(ids)];
  }

  /** Where a request is posted that no thread has; undefined for nowhere. */
  channelOf(request: NotifiedRequest): string | undefined {
    const { channel } = this.#options;
    return typeof channel === 'function' ? channel(request) : channel;
  }
}

function secretsOf({ signingSecret }: Pick<SlackOptions, 'signingSecret'>): readonly SlackSecret[] {
  const secrets = isList(signingSecret) ? signingSecret : [signingSecret];
  return secrets.length > 0 ? secrets : fail('signingSecret', 'expected at least one');
}

function isList(secret: SlackOptions['signingSecret']): secret is readonly SlackSecret[] {
  return Array.isArray(secret);
}

async function readSecret(secret: SlackSecret, option: string): Promise<string> {
  const value: unknown =
    typeof secret === 'function'
      ? await secret()
      : typeof secret === 'string'
        ? secret
        : variable(secret.env);
  if (typeof value === 'string' && value !== '') return value;
  const where = typeof secret === 'object' ? `set ${secret.env}` : 'let its function give text';
  throw new SlackSecretMissing(`slack: ${option}: there is none: ${where}`);
}

function checkSecret(secret: unknown, field: string): void {
  const isEnvironment = isRecord(secret) && typeof secret.env === 'string' && secret.env !== '';
  if (typeof secret === 'function' || isEnvironment || (typeof secret === 'string' && secret !== '')) return;
  fail(field, `expected text, a function or { env: NAME }, got ${kindOf(secret)}`);
}

function teamsOf(teamIds: unknown): ReadonlySet<string> {
  if (!Array.isArray(teamIds) || teamIds.length === 0) {
    return fail('teamIds', 'expected a list of the ids (T…) of workspaces, at least one');
  }
  return new Set(
    teamIds.map((id, index) => matching(id, TEAM_ID, `teamIds[${index}]`, 'a workspace’s id, T…')),
  );
}

function checkPersons(persons: unknown, teamIds: ReadonlySet<string>): void {
  if (typeof persons === 'function') return;
  if (!isRecord(persons)) fail('persons', `expected an object or a function, got ${kindOf(persons)}`);
  for (const [key, person] of Object.entries(persons)) {
    const [, team, id] = USER_KEY.exec(key) ?? [];
    if (id === undefined) {
      fail('persons', 'expected the ids of users as its keys, U… or T…/U…, and not their names');
    }
    if (team === undefined && teamIds.size > 1) {
      fail(`persons.${id}`, 'two workspaces may have a user of this id: say which one, as T…/U…');
    }
    if (team !== undefined && !teamIds.has(team)) {
      fail(`persons.${key}`, 'its workspace is not in teamIds, so its users can’t decide');
    }
    const problem = problemOfName(person);
    if (problem !== undefined) fail(`persons.${key}`, problem);
  }
}

function apiUrlOf(given: unknown): string {
  if (given === undefined) return API_URL;
  const url = typeof given === 'string' ? URL.parse(given) : null;
  if (url === null) return fail('slackApiUrl', 'expected an absolute URL');
  const isLocal = ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal)) {
    return fail('slackApiUrl', 'expected https, which only this machine may do without');
  }
  return url.href.endsWith('/') ? url.href : `${url.href}/`;
}

function matching(value: unknown, pattern: RegExp, field: string, wanted: string): string {
  return typeof value === 'string' && pattern.test(value)
    ? value
    : fail(field, `expected ${wanted}, got ${typeof value === 'string' ? 'other text' : kindOf(value)}`);
}

function baseOf(publicUrl: string | undefined): string | undefined {
  const url = publicUrlOf(publicUrl ?? variable('HOLDFAST_PUBLIC_URL')?.trim());
  if (publicUrl !== undefined && url === undefined) fail('publicUrl', `expected ${PUBLIC_URL_FORM}`);
  return url?.href.replace(/(?<!\/)\/+$/, '');
}

function fail(field: string, problem: string): never {
  throw new DefinitionError({ owner: OWNER, field, problem });
}
