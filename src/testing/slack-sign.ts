import { createHmac } from 'node:crypto';

/** How a request that Slack sends is changed, as an attacker would. */
export interface SlackForgery {
  /** Default: the app's. */
  signingSecret?: string;
  /** Seconds since the epoch. Default: now. */
  timestamp?: number;
  /** Default: the workspace's. */
  teamId?: string;
  /** Default: the app's. */
  appId?: string;
  /** Default: one of the mock server's. */
  responseUrl?: string;
  /** Beside, or in place of, those that Slack sends. */
  headers?: Readonly<Record<string, string>>;
}

/** The headers by which a request is known as Slack's: https://docs.slack.dev/authentication/verifying-requests-from-slack */
export function slackHeaders(body: string, signingSecret: string, timestamp: number): Record<string, string> {
  const mac = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex');
  return { 'x-slack-request-timestamp': String(timestamp), 'x-slack-signature': `v0=${mac}` };
}
