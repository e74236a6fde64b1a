import { setTimeout } from 'node:timers/promises';
import { type MockSlack, type SlackMessage, startMockSlack } from 'holdfast/testing';
import { OpenedPage } from './browser.ts';
import { type Mail, mailsIn } from './mail.ts';
import { slackUserOf } from './slack.ts';

/** How often it is looked whether something has come, milliseconds. */
const PAUSE = 100;

/** Slack, played by a mock server on this machine, and the approvers’ mailboxes, which are a file. */
export class TheatreChannels implements AsyncDisposable {
  readonly #slack: MockSlack;
  readonly #mailbox: string;

  private constructor(slack: MockSlack, mailbox: string) {
    this.#slack = slack;
    this.#mailbox = mailbox;
  }

  static async open(mailbox: string): Promise<TheatreChannels> {
    return new TheatreChannels(await startMockSlack(), mailbox);
  }

  /** What the agents need to know of them. */
  get env(): Record<string, string> {
    const { url, botToken, signingSecret, appId, teamId } = this.#slack;
    return {
      ...{ REFUNDS_SLACK_URL: url, SLACK_BOT_TOKEN: botToken, SLACK_SIGNING_SECRET: signingSecret },
      ...{ SLACK_APP_ID: appId, SLACK_TEAM_ID: teamId, REFUNDS_MAILBOX: this.#mailbox },
    };
  }

  /** The message in Slack that asks about a booking. */
  async messageAbout(booking: string): Promise<SlackMessage> {
    return await until(() =>
      this.#slack.messages.find((message) => linesOf(message).join().includes(booking)),
    );
  }

  async mailTo(name: string, booking: string): Promise<Mail> {
    return await until(() =>
      mailsIn(this.#mailbox).find(({ to, subject }) => to === name && subject.includes(booking)),
    );
  }

  /** Somebody clicks on a button of a message; what only they are told of it is printed. */
  async click(name: string, message: SlackMessage, action: string, gateway: string): Promise<void> {
    console.log(`\n  ${name} clicks on “${action}”`);
    const before = this.#slack.whispers.length;
    const answer = await this.#slack.click(gateway, { message, action, user: slackUserOf(name) });
    if (answer.status !== 200) throw new Error(`the gateway answers Slack with ${answer.status}`);
    const whisper = await until(() => this.#slack.whispers[before]);
    console.log(`  only ${name} sees: ${whisper.text}`);
  }

  /** Prints a message as it stands in the channel, once it has been changed. */
  async shows(message: SlackMessage, expected: RegExp): Promise<void> {
    await until(() => (expected.test(linesOf(message).join('\n')) ? true : undefined));
    for (const line of linesOf(message)) console.log(`  Slack │ ${line}`);
  }

  /** Somebody opens the link that was mailed to them, and approves on the page. */
  async approveByLink({ to, link }: Mail): Promise<void> {
    const page = await OpenedPage.open(link);
    console.log(`\n  ${to} opens ${new URL(link).origin}/a/…`);
    for (const line of page.lines) console.log(`   page │ ${line}`);
    const after = await page.press('approve');
    console.log(`\n  ${to} presses “Approve”`);
    for (const line of after.lines.slice(0, 3)) console.log(`   page │ ${line}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#slack.close();
  }
}

async function until<T>(found: () => T | undefined): Promise<T> {
  for (let patience = 600; patience > 0; patience--) {
    const value = found();
    if (value !== undefined) return value;
    await setTimeout(PAUSE);
  }
  throw new Error('nothing has come for a minute');
}

/** The texts of a message, in the order in which they stand in it. */
function linesOf({ blocks }: SlackMessage): string[] {
  return textsIn(blocks).flatMap((text) => text.split('\n'));
}

function textsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [];
  const { text, type } = value as { text?: unknown; type?: unknown };
  if (typeof text === 'string') return [text];
  if (type === 'button') return textsIn(text).map((label) => `[${label}]`);
  return Object.values(value).flatMap(textsIn);
}
