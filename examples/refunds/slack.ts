import { type Slack, slack } from 'holdfast/slack';
import { APPROVERS, HEAD_OF_FINANCE } from './people.ts';

/** Where refunds are asked about. */
export const CHANNEL = 'C0REFUNDS';

/** Slack's id of somebody here: a real workspace has made up its own. */
export function slackUserOf(name: string): string {
  return `U0${name.toUpperCase()}`;
}

/** The Slack app of the theatre; undefined where none is configured. */
export function theatreSlack(): Slack | undefined {
  const { REFUNDS_SLACK_URL: slackApiUrl, SLACK_APP_ID: appId, SLACK_TEAM_ID: teamId } = process.env;
  if (slackApiUrl === undefined || appId === undefined || teamId === undefined) return undefined;
  return slack({
    botToken: { env: 'SLACK_BOT_TOKEN' },
    signingSecret: { env: 'SLACK_SIGNING_SECRET' },
    appId,
    teamIds: [teamId],
    channel: CHANNEL,
    persons: Object.fromEntries([...APPROVERS, HEAD_OF_FINANCE].map((name) => [slackUserOf(name), name])),
    slackApiUrl,
  });
}
