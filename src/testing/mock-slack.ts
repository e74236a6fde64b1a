import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { outliveErrors } from '../net/outlive-errors.ts';
import { defined } from '../protocol/json.ts';
import { isObject, type Json, listOf } from './gemini-json.ts';
import { contentOf, MOCK_APP, SLACK_METHODS, shownMessage } from './slack-methods.ts';
import { type SlackForgery, slackHeaders } from './slack-sign.ts';
import { type SlackMessage, SlackRefusal, SlackState, type SlackView } from './slack-state.ts';
import type { MockSlack, MockSlackOptions, SlackActor, SlackMood } from './slack-workspace.ts';

const FORM = 'application/x-www-form-urlencoded';
/** Milliseconds for which a modal may be opened by a trigger. */
const TRIGGER_LIFE = 3_000;
const MOST_REPLIES = 5;
const LONGEST_WAIT = 30_000;

/**
 * Starts a local HTTP server that stands in for Slack: the Web API methods that Holdfast uses, which refuse what Slack refuses, and
 * people who click, type and reply, as signed requests to a gateway.
 *
 * @example
 * await using slack = await startMockSlack();
 * await slack.click(gateway.url, { message: await slack.waitForMessage(), action: 'Approve', user: 'U0MIRA' });
 */
export async function startMockSlack(options: MockSlackOptions = {}): Promise<MockSlack> {
  const mock = new LocalSlack(options);
  await mock.listen(options.port ?? 0);
  return mock;
}

class LocalSlack implements MockSlack {
  readonly botToken = `xoxb-${randomUUID()}`;
  readonly signingSecret = randomUUID().replaceAll('-', '');
  readonly appId = MOCK_APP;
  readonly teamId = 'T0HOLDFAST';
  readonly calls: string[] = [];
  readonly refusals: { method: string; error: string; problems: readonly string[] }[] = [];
  readonly #state = new SlackState();
  readonly #server: Server;
  #origin = '';
  #mood: SlackMood = 'up';
  #closing: Promise<void> | undefined;

  constructor({ ref }: MockSlackOptions) {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        // A caller that has hung up hears nothing.
        if (response.headersSent || request.destroyed) return response.destroy();
        answer(response, 500, { ok: false, error: 'internal_error', problem: String(error) });
      });
    });
    if (ref === false) this.#server.unref().on('connection', (socket) => socket.unref());
  }

  get url(): string {
    return `${this.#origin}/api/`;
  }

  get messages() {
    return this.#state.messages;
  }

  get whispers() {
    return this.#state.whispers;
  }

  get views() {
    return this.#state.views;
  }

  async listen(port: number): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    outliveErrors(this.#server, 'the mock of Slack');
    this.#origin = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async waitForMessage(count = 1): Promise<SlackMessage> {
    const deadline = Date.now() + LONGEST_WAIT;
    for (;;) {
      const message = this.messages[count - 1];
      if (message !== undefined) return message;
      if (Date.now() > deadline) throw new Error(`Slack has ${this.messages.length} messages, not ${count}`);
      await wait(50);
    }
  }

  become(mood: SlackMood): void {
    this.#mood = mood;
  }

  async click(
    gateway: string,
    click: SlackActor & { message: SlackMessage; action: string },
    forged: SlackForgery = {},
  ): Promise<Response> {
    return await this.send(gateway, '/v1/slack/interactions', this.clickBody(click, forged), FORM, forged);
  }

  clickBody(
    {
      message,
      action,
      user,
      userTeam,
      value,
    }: SlackActor & { message: SlackMessage; action: string; value?: string },
    forged: SlackForgery = {},
  ): string {
    const button = buttonOf(message, action);
    const payload = {
      type: 'block_actions',
      ...this.#common(user, userTeam, forged),
      container: {
        type: 'message',
        message_ts: message.ts,
        channel_id: message.channel,
        is_ephemeral: false,
      },
      channel: { id: message.channel, name: 'approvals' },
      message: shownMessage(message),
      response_url: forged.responseUrl ?? this.#responseUrl(user, message.channel, message.ts),
      actions: [{ ...button, ...defined({ value }), action_ts: this.#state.nextTs() }],
    };
    return formOf({ payload: JSON.stringify(payload) });
  }

  async submitView(
    gateway: string,
    submit: { view: SlackView; values?: Readonly<Record<string, string>>; userTeam?: string },
    forged: SlackForgery = {},
  ): Promise<Response> {
    const { view, values = {}, userTeam } = submit;
    const inputs = view.blocks.filter(({ type }) => type === 'input');
    const payload = {
      type: 'view_submission',
      ...this.#common(view.user, userTeam, forged),
      view: {
        id: view.id,
        type: 'modal',
        callback_id: view.callbackId,
        private_metadata: view.privateMetadata,
        app_id: forged.appId ?? this.appId,
        state: {
          values: Object.fromEntries(
            inputs.map(({ block_id: name, element }) => {
              const value = values[String(name)] ?? view.initial[String(name)] ?? '';
              const action = isObject(element) ? String(element.action_id) : '';
              return [name, { [action]: { type: 'plain_text_input', value: value === '' ? null : value } }];
            }),
          ),
        },
      },
    };
    const body = formOf({ payload: JSON.stringify(payload) });
    return await this.send(gateway, '/v1/slack/interactions', body, FORM, forged);
  }

  async command(
    gateway: string,
    { user, channel, command, text }: SlackActor & { channel: string; command: string; text: string },
    forged: SlackForgery = {},
  ): Promise<Response> {
    const body = formOf({
      token: 'deprecated',
      team_id: forged.teamId ?? this.teamId,
      team_domain: 'mock-slack',
      channel_id: channel,
      channel_name: 'general',
      user_id: user,
      user_name: 'somebody',
      command,
      text,
      api_app_id: forged.appId ?? this.appId,
      is_enterprise_install: 'false',
      response_url: forged.responseUrl ?? this.#responseUrl(user, channel),
      trigger_id: this.#trigger(user),
    });
    return await this.send(gateway, '/v1/slack/commands', body, FORM, forged);
  }

  async reply(
    gateway: string,
    reply: SlackActor & { channel: string; threadTs: string; text: string; eventId?: string; fields?: Json },
    forged: SlackForgery = {},
  ): Promise<Response> {
    const { user, userTeam, channel, threadTs, text, fields } = reply;
    const { eventId = `Ev${randomUUID().slice(0, 8).toUpperCase()}` } = reply;
    const ts = this.#state.nextTs();
    const team = userTeam ?? forged.teamId ?? this.teamId;
    const body = JSON.stringify({
      token: 'deprecated',
      team_id: forged.teamId ?? this.teamId,
      api_app_id: forged.appId ?? this.appId,
      type: 'event_callback',
      event_id: eventId,
      event_time: Math.floor(Date.now() / 1_000),
      event: {
        type: 'message',
        channel,
        user,
        team,
        text,
        ts,
        thread_ts: threadTs,
        channel_type: 'channel',
        ...fields,
      },
    });
    return await this.send(gateway, '/v1/slack/events', body, 'application/json', forged);
  }

  async send(
    gateway: string,
    path: string,
    body: string,
    type: string,
    forged: SlackForgery = {},
  ): Promise<Response> {
    const { signingSecret = this.signingSecret, timestamp = Math.floor(Date.now() / 1_000) } = forged;
    const headers = {
      'content-type': type,
      ...slackHeaders(body, signingSecret, timestamp),
      ...forged.headers,
    };
    return await fetch(`${gateway}${path}`, { method: 'POST', headers, body });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  #common(user: string, userTeam: string | undefined, forged: SlackForgery): Json {
    const { teamId = this.teamId, appId = this.appId } = forged;
    return {
      token: 'deprecated',
      api_app_id: appId,
      team: { id: teamId, domain: 'mock-slack' },
      user: { id: user, username: 'somebody', name: 'somebody', team_id: userTeam ?? teamId },
      enterprise: null,
      is_enterprise_install: false,
      trigger_id: this.#trigger(user),
    };
  }

  #trigger(user: string): string {
    const id = `${Date.now()}.${randomUUID()}`;
    this.#state.triggers.set(id, { user, until: Date.now() + TRIGGER_LIFE });
    return id;
  }

  #responseUrl(user: string, channel: string, ts?: string): string {
    const id = randomUUID();
    this.#state.replies.set(id, { user, channel, uses: 0, ...defined({ ts }) });
    return `${this.#origin}/actions/${id}`;
  }

  async #serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(incoming.url ?? '/', this.#origin);
    const method = pathname.startsWith('/api/') ? pathname.slice('/api/'.length) : pathname;
    const mood = this.#mood;
    if (mood === 'down') {
      incoming.socket.destroy();
      return;
    }
    const body = await textOf(incoming);
    if (typeof mood === 'object' && 'slow' in mood && (mood.method ?? method) === method) {
      await (typeof mood.slow === 'number' ? wait(mood.slow) : mood.slow);
    }
    this.calls.push(pathname.startsWith('/actions/') ? 'response_url' : method);
    if (typeof mood === 'object' && 'rateLimited' in mood && (mood.method ?? method) === method) {
      answer(response, 429, { ok: false, error: 'ratelimited' }, { 'retry-after': String(mood.rateLimited) });
      return;
    }
    try {
      const result = pathname.startsWith('/actions/')
        ? this.#respond(pathname.slice('/actions/'.length), body)
        : this.#call(method, incoming, body);
      if (typeof mood === 'object' && 'mute' in mood && mood.mute === method) incoming.socket.destroy();
      else answer(response, 200, { ok: true, ...result });
    } catch (error) {
      if (!(error instanceof SlackRefusal)) throw error;
      this.refusals.push({ method, error: error.error, problems: error.problems });
      const response_metadata = { messages: error.problems };
      answer(response, 200, { ok: false, error: error.error, response_metadata });
    }
  }

  #call(name: string, { headers }: IncomingMessage, body: string): Json {
    const isJson = headers['content-type']?.startsWith('application/json') === true;
    const args: Json = isJson ? objectOf(body) : Object.fromEntries(new URLSearchParams(body));
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? args.token;
    if (token === undefined) throw new SlackRefusal('not_authed');
    if (token !== this.botToken) throw new SlackRefusal('invalid_auth');
    const method = SLACK_METHODS[name];
    if (method === undefined) throw new SlackRefusal('unknown_method');
    return method(this.#state, args);
  }

  #respond(id: string, body: string): Json {
    const reply = this.#state.replies.get(id);
    if (reply === undefined) throw new SlackRefusal('no_active_hooks');
    reply.uses += 1;
    if (reply.uses > MOST_REPLIES) throw new SlackRefusal('used_url');
    const { user, channel, ts } = reply;
    const args = objectOf(body);
    const message =
      args.replace_original === true && ts !== undefined ? this.#state.find(channel, ts) : undefined;
    if (message !== undefined) {
      Object.assign(message, contentOf(args));
      message.edits += 1;
    } else {
      this.#state.whispers.push({ channel, user, ...contentOf(args) });
    }
    return {};
  }
}

function buttonOf({ blocks }: SlackMessage, action: string): Json {
  const buttons = blocks.filter(({ type }) => type === 'actions').flatMap(({ elements }) => listOf(elements));
  const button = buttons.filter(isObject).find(({ text }) => isObject(text) && text.text === action);
  if (button === undefined) throw new Error(`the message has no button ${action}`);
  return {
    type: 'button',
    action_id: button.action_id,
    block_id: 'actions',
    text: button.text,
    value: button.value,
  };
}

function objectOf(body: string): Json {
  try {
    const value: unknown = JSON.parse(body);
    if (isObject(value)) return value;
  } catch {
    // As what is no object.
  }
  throw new SlackRefusal('invalid_json');
}

function formOf(fields: Readonly<Record<string, string>>): string {
  return new URLSearchParams(fields).toString();
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function answer(
  response: ServerResponse,
  status: number,
  body: Json,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
}
