export { type Slack, slack } from './slack.ts';
export { SlackFailed } from './slack-api.ts';
export { type SlackApp, SlackSecretMissing } from './slack-app.ts';
export type { SlackOptions, SlackSecret, SlackUser } from './slack-options.ts';
