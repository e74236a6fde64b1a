import type { NotifiedRequest } from '../approvals/notifier.ts';

/** The value itself, what gives it, or the name of the environment variable that holds it; asked for whenever it is needed. */
export type SlackSecret = string | { env: string } | (() => string | Promise<string>);

/** Somebody in Slack, as Slack's ids say. */
export interface SlackUser {
  /** `U…` or `W…`. */
  id: string;
  /** `T…`: the workspace of this user. */
  teamId: string;
}

/** Options of {@link slack}. */
export interface SlackOptions {
  /** Token of the app's bot: `xoxb-…`. */
  botToken: SlackSecret;
  /** Signing secret of the app, from `Basic Information → App Credentials`. Several while it is replaced, the new one first. */
  signingSecret: SlackSecret | readonly SlackSecret[];
  /** `A…`: clicks of other apps are refused. */
  appId: string;
  /** `T…` of the workspaces whose users may decide and ask; those of others, as in shared channels, may not. */
  teamIds: readonly string[];
  /** Id (`C…`) of the channel of requests. A function chooses a channel for each request, or no channel by undefined. */
  channel: string | ((request: NotifiedRequest) => string | undefined);
  /**
   * The names of Slack's users in `approvers`: by their ids (`U…`; `T…/U…` with several `teamIds`), or by a function. An unknown
   * user can't decide. With ids the message mentions the people who may decide.
   */
  persons: Readonly<Record<string, string>> | ((user: SlackUser) => PersonFound | Promise<PersonFound>);
  /** Name of the app whose turns the slash command starts; without it, the command says that there is none. */
  commandApp?: string;
  /**
   * Name of the notifier and of the plugin, where an app has several of Slack.
   *
   * @default 'slack'
   */
  name?: string;
  /**
   * Where people reach the gateway, `https://agents.example.com`: answers link to the files that their turn has saved. Without it answers
   * only name them.
   *
   * @default the environment variable `HOLDFAST_PUBLIC_URL`
   */
  publicUrl?: string;
  /**
   * Where Slack's Web API is reached.
   *
   * @default 'https://slack.com/api/'
   */
  slackApiUrl?: string;
}

type PersonFound = string | undefined;
