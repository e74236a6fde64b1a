import { hasCode } from '../../contract/error.ts';
import { plain } from '../../slack/block-kit.ts';
import { callOf, type DrawnMessage } from '../../slack/request-message.ts';
import { SlackFailed } from '../../slack/slack-api.ts';
import type { SlackApp } from '../../slack/slack-app.ts';
import type { SlackUser } from '../../slack/slack-options.ts';
import { plainMessage, slackLines, slackText } from '../../slack/slack-text.ts';
import { type SlackThread, sessionOfThread } from '../../slack/thread-session.ts';
import type { ChannelThread } from '../../store/messages/message-store.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { isPassing } from '../background.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { RouteSetting } from '../route-setting.ts';
import { CHANNEL } from './slack-deduplication.ts';
import { type CommandPayload, type EventPayload, threadMessageOf } from './slack-payloads.ts';
import type { SlackParts, SlackResponder } from './slack-responder.ts';

const LONGEST_SHOWN = 2_900;
const LONGEST_NOTICE = 200;

/** A reply in a thread, as far as it may be one of a session. */
export interface ThreadReply {
  id: string;
  /** The same one, by each workspace that may have begun it: a channel may be of several. */
  threads: readonly SlackThread[];
  who: SlackUser;
  text: string;
}

/** Turns that are begun in Slack, and gone on with in their threads. */
export class SlackTurns {
  readonly #app: SlackApp;
  readonly #setting: RouteSetting;
  readonly #records: GatewayRecords;
  readonly #responder: SlackResponder;

  constructor({ app, setting, records, responder }: SlackParts) {
    this.#app = app;
    this.#setting = setting;
    this.#records = records;
    this.#responder = responder;
  }

  /** A slash command: a thread of its own, and the first turn in it. */
  async asked(id: string, command: CommandPayload): Promise<void> {
    const { team_id: team, user_id: user, channel_id: channel, response_url: responseUrl } = command;
    const listener = { user, channel, responseUrl };
    const { commandApp: app } = this.#app;
    const text = plainMessage(command.text).trim();
    if (app === undefined) {
      return await this.#responder.tell(
        listener,
        'This command has no app yet. Ask the operator of Holdfast to set commandApp.',
      );
    }
    if (text === '') {
      return await this.#responder.tell(
        listener,
        `Write your question after the command: ${command.command} and your question.`,
      );
    }
    let person: string;
    try {
      person = await this.#personOf({ id: user, teamId: team });
    } catch (error) {
      const why = hasCode(error, 'HOLDFAST_SLACK_PERSON_LATE')
        ? 'it takes too long to find out who you are'
        : 'Holdfast could not find out who you are';
      await this.#responder.tell(listener, `Nothing was asked: ${why}. Try again later.`);
      throw error;
    }
    let place: SlackThread;
    try {
      place = { team, ...(await this.#app.api.post(channel, question(user, text))) };
    } catch (error) {
      if (!(error instanceof SlackFailed)) throw error;
      this.#responder.note('a thread in Slack could not be begun', error);
      return await this.#responder.tell(listener, `Nothing was asked: ${reasonOf(error)}`);
    }
    const [secret] = await this.#app.signingSecrets();
    const names = { app, userId: person, sessionId: sessionOfThread(place, secret) };
    try {
      await this.#setting.background.retryWhileUnavailable(() =>
        this.#records.messages.keepThread(channelThread(place), names),
      );
      await this.#send(names, { id, person, text });
    } catch (error) {
      await this.#tellThread(place, 'Your question could not be sent. Try again later.');
      throw error;
    }
  }

  /**
   * A reply in a thread that is a session; one in another thread is nobody's business here. Told again, it is the same message.
   *
   * @param answered Slack has its answer, and doesn't tell it again.
   * @throws what passes, where Slack may still tell it again.
   */
  async replied({ id, threads, who, text }: ThreadReply, answered: AbortSignal): Promise<void> {
    const found = await this.#setting.background.retryWhileUnavailable(() => this.#sessionOf(threads));
    if (found === undefined) return;
    const { names, thread } = found;
    try {
      await this.#send(names, { id, person: await this.#personOf(who), text });
    } catch (error) {
      if (isPassing(error) && !answered.aborted) throw error;
      await this.#tellThread(thread, 'Your message could not be delivered. Send it again later.');
      throw error;
    }
  }

  async #sessionOf(
    threads: readonly SlackThread[],
  ): Promise<{ names: SessionNames; thread: SlackThread } | undefined> {
    for (const thread of threads) {
      if (!this.#app.teamIds.has(thread.team)) continue;
      const names = await this.#records.messages.findThread(channelThread(thread));
      if (names !== undefined) return { names, thread };
    }
    return undefined;
  }

  async #send(names: SessionNames, { id, person, text }: { id: string; person: string; text: string }) {
    const { client } = this.#setting.options;
    const message = { ...names, messageId: `slack:${id}`, message: text };
    const sent = await this.#setting.attester.attestMessage(person, message);
    await this.#setting.background.retryWhileUnavailable(() => client.sendMessage(sent));
  }

  async #personOf(who: SlackUser): Promise<string> {
    return (await this.#app.personOf(who)) ?? this.#app.userOf(who);
  }

  async #tellThread({ channel, ts }: SlackThread, text: string): Promise<void> {
    try {
      await this.#app.api.post(channel, { text, blocks: [{ type: 'section', text: plain(text) }] }, ts);
    } catch (error) {
      this.#responder.note('a thread in Slack could not be told', error);
    }
  }
}

/** Undefined for an event that is no reply of a person in a thread. */
export function replyOf(payload: EventPayload): ThreadReply | undefined {
  const message = threadMessageOf(payload);
  if (message === undefined) return undefined;
  const text = plainMessage(message.text);
  if (text.trim() === '') return undefined;
  const { team_id: team, context_team_id: appTeam, event_id: id, is_ext_shared_channel: isShared } = payload;
  const { channel, user, thread_ts: ts } = message;
  // Slack may leave it out where there is one workspace only.
  const teamId = message.user_team ?? message.team ?? (isShared ? undefined : team);
  if (teamId === undefined) return undefined;
  const teams = new Set([appTeam ?? team, team, teamId]);
  return {
    id,
    threads: [...teams].map((each) => ({ team: each, channel, ts })),
    who: { id: user, teamId },
    text,
  };
}

function channelThread({ team, channel, ts }: SlackThread): ChannelThread {
  return { channel: CHANNEL, thread: `${team}:${channel}:${ts}` };
}

function question(user: string, text: string): DrawnMessage {
  return {
    text: slackText(text, LONGEST_NOTICE),
    blocks: [...callOf([user]), { type: 'section', text: plain(slackLines(text, LONGEST_SHOWN).text) }],
  };
}

function reasonOf({ error }: SlackFailed): string {
  return error === 'not_in_channel' || error === 'channel_not_found'
    ? 'I am not in this channel: invite me, then ask again.'
    : 'Slack can’t be reached now. Try again later.';
}
