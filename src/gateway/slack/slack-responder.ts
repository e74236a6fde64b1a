import { mrkdwn, plain } from '../../slack/block-kit.ts';
import type { DrawnMessage } from '../../slack/request-message.ts';
import { SlackFailed } from '../../slack/slack-api.ts';
import type { SlackApp } from '../../slack/slack-app.ts';
import { slackText } from '../../slack/slack-text.ts';
import type { GatewayLogger } from '../gateway-logger.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { RouteSetting } from '../route-setting.ts';

/** A person who has acted in Slack, and is to be told the result. */
export interface Listener {
  user: string;
  channel: string;
  /** Where an answer is taken; as Slack has sent it, and looked at before it is used. */
  responseUrl?: string | undefined;
}

/** Shared by what answers Slack. */
export interface SlackParts {
  app: SlackApp;
  setting: RouteSetting;
  records: GatewayRecords;
  responder: SlackResponder;
}

const LONGEST = 2_900;

/** Tells those who have clicked or typed, and nobody else. */
export class SlackResponder {
  readonly #app: SlackApp;
  readonly #logger: GatewayLogger;

  constructor(app: SlackApp, logger: GatewayLogger) {
    this.#app = app;
    this.#logger = logger;
  }

  /** Never throws: a failed notice doesn't undo the action that it tells of. */
  async tell(to: Listener, text: string): Promise<void> {
    const shown = slackText(text, LONGEST);
    await this.#send(to, { text: shown, blocks: [{ type: 'section', text: plain(shown) }] });
  }

  /** @param url ours. */
  async link(to: Listener, url: string, text: string): Promise<void> {
    const link = `<${url}|Open the request>`;
    await this.#send(to, {
      text: 'Open the request',
      blocks: [
        { type: 'section', text: mrkdwn(link) },
        { type: 'context', elements: [plain(text)] },
      ],
    });
  }

  /** For the operator. */
  note(what: string, error: unknown): void {
    const problem = error instanceof SlackFailed ? error.message : undefined;
    this.#logger.warn(what, problem === undefined ? { error } : { problem });
  }

  async #send({ user, channel, responseUrl }: Listener, message: DrawnMessage): Promise<void> {
    const { api } = this.#app;
    const isAnswerable = responseUrl !== undefined && api.takesResponse(responseUrl);
    try {
      if (isAnswerable) await api.respond(responseUrl, message);
      else await api.postEphemeral({ channel, user }, message);
    } catch (error) {
      if (!isAnswerable) return this.note('a Slack user could not be told', error);
      try {
        await api.postEphemeral({ channel, user }, message);
      } catch (again) {
        this.note('a Slack user could not be told', again);
      }
    }
  }
}
