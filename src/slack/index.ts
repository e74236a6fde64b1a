export { type Slack, slack } from './slack.ts';
export { type SlackApp, SlackSecretMissing } from './slack-app.ts';
export { SlackFailed } from './slack-error.ts';
export type { SlackOptions, SlackSecret, SlackUser } from './slack-options.ts';
