import type { Notifier } from '../approvals/notifier.ts';
import type { BasePlugin } from '../plugins/base-plugin.ts';
import { SlackApp } from './slack-app.ts';
import { SlackNotifier } from './slack-notifier.ts';
import type { SlackOptions } from './slack-options.ts';
import { SlackPlugin } from './slack-plugin.ts';

/** A Slack app's three sides. */
export interface Slack {
  /** For `durable.notifiers` of an app: posts requests that wait for people. */
  notifier: Notifier;
  /** For `plugins` of the app: posts the answers of turns that were begun in Slack. */
  plugin: BasePlugin;
  /** For `defineGateway({ slack })`: takes clicks, commands and replies. */
  gateway: SlackApp;
}

/**
 * Approvals, questions and turns in Slack, by an app of your own in your workspace. See docs/slack.md.
 *
 * @throws DefinitionError, naming the option.
 * @example
 * export const desk = slack({
 *   botToken: { env: 'SLACK_BOT_TOKEN' },
 *   signingSecret: { env: 'SLACK_SIGNING_SECRET' },
 *   appId: 'A0123456789',
 *   teamIds: ['T0123456789'],
 *   channel: 'C0123456789',
 *   persons: { U0123456789: 'mira' },
 * });
 * export const app = new App({ name: 'shop', rootAgent, plugins: [desk.plugin], durable: { notifiers: [desk.notifier] } });
 * export const gateway = defineGateway({ slack: desk.gateway });
 */
export function slack(options: SlackOptions): Slack {
  const app = new SlackApp(options);
  return { notifier: new SlackNotifier(app), plugin: new SlackPlugin(app), gateway: app };
}
