import { randomUUID } from 'node:crypto';
import { StoreNeeded } from '../../client/client-errors.ts';
import { editProblems, MODALS, readSubject } from '../../slack/request-modals.ts';
import type { SlackApp } from '../../slack/slack-app.ts';
import type { GatewayContext, GatewayHono, RouteSetting } from '../gateway-app.ts';
import { RequestRefused } from '../gateway-errors.ts';
import { Background } from '../slack/background.ts';
import { SlackDecisions } from '../slack/slack-decisions.ts';
import {
  type ClickPayload,
  heardIdOf,
  readCommand,
  readEvent,
  readInteraction,
  type SubmissionPayload,
} from '../slack/slack-payloads.ts';
import { SlackTeller } from '../slack/slack-teller.ts';
import { replyOf, SlackTurns } from '../slack/slack-turns.ts';
import { takeSlack } from '../slack/take-slack.ts';

interface Sender {
  api_app_id: string;
  team?: { id: string } | null | undefined;
  user: { id: string; team_id?: string | null | undefined };
}

/**
 * What Slack sends: clicks and modals, slash commands, events. Slack's signature is their authentication. Each is answered at once, and
 * done beside: Slack waits three seconds, whatever Temporal and the store do.
 */
export function slackRoutes(app: GatewayHono, setting: RouteSetting): void {
  const slack = setting.options.settings?.slack;
  if (slack === undefined) return;
  const { logger, records } = setting.options;
  const background = new Background({ logger, closing: setting.closing });
  const begin = (context: GatewayContext, work: () => Promise<void>) =>
    background.begin({ requestId: context.get('requestId') }, work);
  const teller = new SlackTeller(slack, logger);
  const parts = () => {
    if (records === undefined) throw new StoreNeeded('this gateway has no store');
    return { app: slack, setting, records, background, teller };
  };

  app.post('/v1/slack/interactions', async (context) => {
    const body = await takeSlack(slack, context, 'form');
    const payload = readInteraction(body);
    checkSender(slack, payload);
    const all = parts();
    const heard = { id: heardIdOf('interaction', body), holder: randomUUID() };
    const once = (work: () => Promise<void>) =>
      begin(context, async () => {
        if (await background.patiently(() => all.records.hearSlack(heard))) await work();
      });
    if ('actions' in payload) {
      once(() => clicked(new SlackDecisions(all), payload));
    } else if ('view' in payload) {
      const { callback_id: modal, state } = payload.view;
      const problems = modal === MODALS.edit ? editProblems(state.values) : {};
      if (Object.keys(problems).length > 0) {
        return context.json({ response_action: 'errors', errors: problems }, 200);
      }
      once(() => submitted(new SlackDecisions(all), payload));
    }
    return context.body(null, 200);
  });

  app.post('/v1/slack/commands', async (context) => {
    const body = await takeSlack(slack, context, 'form');
    const command = readCommand(body);
    const { api_app_id, team_id: id, user_id } = command;
    checkSender(slack, { api_app_id, team: { id }, user: { id: user_id } });
    const all = parts();
    const heard = { id: heardIdOf('command', body), holder: randomUUID() };
    begin(context, async () => {
      if (!(await background.patiently(() => all.records.hearSlack(heard)))) return;
      await new SlackTurns(all).asked(heard.id, command);
    });
    return context.body(null, 200);
  });

  app.post('/v1/slack/events', async (context) => {
    const body = await takeSlack(slack, context, 'json');
    const payload = readEvent(body);
    if ('challenge' in payload) return context.json({ challenge: payload.challenge }, 200);
    const { api_app_id, team_id: id } = payload;
    checkSender(slack, { api_app_id, team: { id }, user: { id: '' } });
    const all = parts();
    const reply = 'event_id' in payload ? replyOf(payload) : undefined;
    // Slack stops sending events to who refuses many: those of other workspaces' users are taken, and nothing is done.
    if (reply !== undefined && slack.teamIds.has(reply.who.teamId)) {
      begin(context, () => new SlackTurns(all).replied(reply));
    }
    return context.body(null, 200);
  });
}

/** @throws RequestRefused for other apps, other workspaces and, in shared channels, users of other workspaces. */
function checkSender(slack: SlackApp, { api_app_id: appId, team, user }: Sender): void {
  const teams = [team?.id, user.team_id].filter((id) => id !== undefined && id !== null);
  const isKnown = teams.length > 0 && teams.every((id) => slack.teamIds.has(id));
  if (appId !== slack.appId || !isKnown) throw new RequestRefused('forbidden');
}

async function clicked(decisions: SlackDecisions, payload: ClickPayload): Promise<void> {
  const { container, actions, trigger_id: triggerId, response_url: responseUrl } = payload;
  const [action] = actions;
  if (container === undefined || action?.value === undefined) return;
  const { channel_id: channel, message_ts: ts } = container;
  const subject = { requestId: action.value, channel, ts };
  const act = { ...listenerOf(payload, channel), responseUrl, subject };
  await decisions.clicked(act, action.action_id, triggerId);
}

async function submitted(decisions: SlackDecisions, payload: SubmissionPayload): Promise<void> {
  const { callback_id: modal, private_metadata: metadata, state } = payload.view;
  const subject = readSubject(metadata);
  if (subject === undefined) return;
  await decisions.submitted({ ...listenerOf(payload, subject.channel), subject }, modal, state.values);
}

function listenerOf({ user, team }: Pick<ClickPayload, 'user' | 'team'>, channel: string) {
  return { user: user.id, channel, who: { id: user.id, teamId: user.team_id ?? team?.id ?? '' } };
}
