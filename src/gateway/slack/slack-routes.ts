import { StoreNeeded } from '../../client/client-errors.ts';
import { editProblems, MODALS, readSubject } from '../../slack/request-modals.ts';
import type { SlackApp } from '../../slack/slack-app.ts';
import { Background } from '../background.ts';
import type { GatewayContext, GatewayHono } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import type { RouteSetting } from '../route-setting.ts';
import { SlackDecisions } from './slack-decisions.ts';
import { SlackDeduplication } from './slack-deduplication.ts';
import {
  type ClickPayload,
  deliveryIdOf,
  readCommand,
  readEvent,
  readInteraction,
  type SubmissionPayload,
} from './slack-payloads.ts';
import { SlackResponder } from './slack-responder.ts';
import { replyOf, SlackTurns } from './slack-turns.ts';
import { takeSlack } from './take-slack.ts';

/** Milliseconds that Slack waits for what an event comes to; it waits three seconds in all. */
const EVENT_TIME = 2_500;
/** People who are told at the same time that there is too much to do. */
const MOST_SENT_AWAY = 100;
const BUSY = 'Holdfast has too much to do now: try again later.';

interface Sender {
  api_app_id: string;
  team?: { id: string } | null | undefined;
  /** Absent where nobody says of which workspace they are. */
  user?: { team_id: string };
}

/**
 * The routes for Slack: clicks and modals, slash commands, events. Slack's signature is their authentication. Slack waits three
 * seconds, also during outages of Temporal and the store: clicks and commands, which it sends once, are answered at once and done
 * beside; events, which it sends again, are answered once they have come to something, or go on beside.
 */
export function slackRoutes(app: GatewayHono, setting: RouteSetting): void {
  const slack = setting.options.settings?.slack;
  if (slack === undefined) return;
  const { logger, records } = setting.options;
  const { background, closing } = setting;
  const sentAway = new Background({ logger, closing, most: MOST_SENT_AWAY });
  const responder = new SlackResponder(slack, logger);
  const parts = () => {
    if (records === undefined) throw new StoreNeeded('this gateway has no store');
    const once = new SlackDeduplication({ records, background, responder });
    return { all: { app: slack, setting, records, responder }, once };
  };

  app.post('/v1/slack/interactions', async (context) => {
    const body = await takeSlack(slack, context, 'form');
    const payload = readInteraction(body);
    checkSender(slack, payload);
    const { all, once } = parts();
    const about = aboutOf(context);
    const done = { id: deliveryIdOf('interaction', body), nothing: 'Nothing was decided' } as const;
    if ('actions' in payload) {
      const listener = clickerOf(payload);
      if (!once.begin(about, { ...done, listener }, () => clicked(new SlackDecisions(all), payload))) {
        const isTold = listener !== undefined && sentAway.begin(about, () => responder.tell(listener, BUSY));
        if (!isTold) throw new RequestRefused('HOLDFAST_GATEWAY_BUSY');
      }
    } else if ('view' in payload) {
      const { callback_id: modal, state } = payload.view;
      const problems = modal === MODALS.edit ? editProblems(state.values) : {};
      if (Object.keys(problems).length > 0) {
        return context.json({ response_action: 'errors', errors: problems }, 200);
      }
      const subject = readSubject(payload.view.private_metadata);
      if (subject === undefined) return context.body(null, 200);
      const act = { ...listenerOf(payload, subject.channel), subject };
      const work = () => new SlackDecisions(all).submitted(act, modal, state.values);
      if (!once.begin(about, { ...done, listener: act }, work))
        throw new RequestRefused('HOLDFAST_GATEWAY_BUSY');
    }
    return context.body(null, 200);
  });

  app.post('/v1/slack/commands', async (context) => {
    const body = await takeSlack(slack, context, 'form');
    const command = readCommand(body);
    const { api_app_id, team_id: id } = command;
    checkSender(slack, { api_app_id, team: { id } });
    const { all, once } = parts();
    const { user_id: user, channel_id: channel, response_url: responseUrl } = command;
    const deliveryId = deliveryIdOf('command', body);
    const done = {
      id: deliveryId,
      listener: { user, channel, responseUrl },
      nothing: 'Nothing was asked',
    } as const;
    const isBegun = once.begin(aboutOf(context), done, () => new SlackTurns(all).asked(deliveryId, command));
    if (!isBegun) return context.json({ response_type: 'ephemeral', text: BUSY }, 200);
    return context.body(null, 200);
  });

  app.post('/v1/slack/events', async (context) => {
    const body = await takeSlack(slack, context, 'json');
    const payload = readEvent(body);
    if ('challenge' in payload) return context.json({ challenge: payload.challenge }, 200);
    const { api_app_id, team_id: team, context_team_id: appTeam } = payload;
    checkSender(slack, { api_app_id, team: { id: appTeam ?? team } });
    const { all } = parts();
    const reply = 'event_id' in payload ? replyOf(payload) : undefined;
    // Slack stops sending events to who refuses many: those of other workspaces' users are taken, and nothing is done.
    if (reply !== undefined && slack.teamIds.has(reply.who.teamId)) {
      const turns = new SlackTurns(all);
      const work = (answered: AbortSignal) => turns.replied(reply, answered);
      const outcome = await background.beginAndWait(aboutOf(context), work, EVENT_TIME);
      if (outcome === 'full') throw new RequestRefused('HOLDFAST_GATEWAY_BUSY');
    }
    return context.body(null, 200);
  });
}

/** @throws RequestRefused for other apps, other workspaces and, in shared channels, users of other workspaces. */
function checkSender(slack: SlackApp, { api_app_id: appId, team, user }: Sender): void {
  const teams = [team?.id, user?.team_id].filter((id) => id !== undefined && id !== null);
  const isKnown = teams.length > 0 && teams.every((id) => slack.teamIds.has(id));
  if (appId !== slack.appId || !isKnown) throw new RequestRefused('HOLDFAST_GATEWAY_FORBIDDEN');
}

function aboutOf(context: GatewayContext): { requestId: string } {
  return { requestId: context.get('requestId') };
}

async function clicked(decisions: SlackDecisions, payload: ClickPayload): Promise<void> {
  const { container, actions, trigger_id: triggerId } = payload;
  const [action] = actions;
  const listener = clickerOf(payload);
  if (container === undefined || listener === undefined || action?.value === undefined) return;
  const subject = { requestId: action.value, channel: container.channel_id, ts: container.message_ts };
  await decisions.clicked({ ...listener, subject }, action.action_id, triggerId);
}

/** Undefined for a click without a place. */
function clickerOf(payload: ClickPayload) {
  const { container, response_url: responseUrl } = payload;
  return container && { ...listenerOf(payload, container.channel_id), responseUrl };
}

function listenerOf({ user }: Pick<ClickPayload | SubmissionPayload, 'user'>, channel: string) {
  return { user: user.id, channel, who: { id: user.id, teamId: user.team_id } };
}
