import { randomUUID } from 'node:crypto';
import { defined } from '../protocol/json.ts';
import { isObject, type Json, listOf } from './gemini-json.ts';
import { blockProblems, viewProblems } from './slack-block-check.ts';
import { type SlackMessage, SlackRefusal, type SlackState } from './slack-state.ts';

type Method = (state: SlackState, args: Json) => Json;

const CHANNEL = /^[CDG][A-Z0-9]{2,}$/;
const USER = /^[UW][A-Z0-9]{2,}$/;
const LONGEST_TEXT = 40_000;
const MOST_OF_A_PAGE = 999;

export const MOCK_APP = 'A0HOLDFAST';

/** The methods of Slack's Web API that the mock server has, as https://docs.slack.dev/reference/methods says of them. */
export const SLACK_METHODS: Readonly<Record<string, Method>> = {
  'auth.test': () => ({
    url: 'https://mock-slack.slack.com/',
    team: 'Mock server',
    user: 'holdfast',
    bot_id: 'B0HOLDFAST',
  }),
  'chat.postMessage': (state, args) => {
    const channel = channelOf(args);
    const { thread_ts: threadTs } = args;
    const message: SlackMessage = {
      channel,
      ts: state.nextTs(),
      ...(threadTs === undefined ? {} : { threadTs: String(threadTs) }),
      ...contentOf(args),
      edits: 0,
    };
    if (threadTs !== undefined && state.find(channel, String(threadTs)) === undefined) {
      throw new SlackRefusal('thread_not_found');
    }
    state.messages.push(message);
    return { channel, ts: message.ts, message: shownMessage(message) };
  },
  'chat.update': (state, args) => {
    const channel = channelOf(args);
    const message = state.find(channel, String(args.ts));
    if (message === undefined) throw new SlackRefusal('message_not_found');
    Object.assign(message, contentOf(args));
    message.edits += 1;
    return { channel, ts: message.ts, text: message.text, message: shownMessage(message) };
  },
  'conversations.history': (state, args) =>
    pageOf(state.between(channelOf(args), timesOf(args)).reverse(), args),
  'conversations.replies': (state, args) => {
    const channel = channelOf(args);
    const threadTs = String(args.ts ?? '');
    if (state.find(channel, threadTs) === undefined) throw new SlackRefusal('thread_not_found');
    return pageOf(state.between(channel, { threadTs, ...timesOf(args) }), args);
  },
  'chat.postEphemeral': (state, args) => {
    const user = String(args.user ?? '');
    if (!USER.test(user)) throw new SlackRefusal('user_not_in_channel');
    state.whispers.push({ channel: channelOf(args), user, ...contentOf(args) });
    return { message_ts: state.nextTs() };
  },
  'views.open': (state, args) => {
    const trigger = state.triggers.get(String(args.trigger_id ?? ''));
    if (trigger === undefined) throw new SlackRefusal('invalid_trigger_id');
    if (trigger.until < Date.now()) throw new SlackRefusal('expired_trigger_id');
    const view = parsed(args.view);
    const problems = viewProblems(view);
    if (problems.length > 0 || !isObject(view)) throw new SlackRefusal('invalid_arguments', problems);
    state.triggers.delete(String(args.trigger_id));
    const blocks = listOf(view.blocks).filter(isObject);
    const id = `V${randomUUID().slice(0, 8).toUpperCase()}`;
    state.views.push({
      id,
      user: trigger.user,
      callbackId: String(view.callback_id ?? ''),
      privateMetadata: String(view.private_metadata ?? ''),
      title: isObject(view.title) ? String(view.title.text) : '',
      blocks,
      initial: Object.fromEntries(
        blocks.flatMap(({ block_id: name, element }) =>
          isObject(element) ? [[String(name), String(element.initial_value ?? '')]] : [],
        ),
      ),
    });
    return { view: { id, ...view } };
  },
};

/** A message as Slack tells of it. */
export function shownMessage({ ts, threadTs, text, blocks }: SlackMessage): Json {
  return {
    type: 'message',
    user: 'U0HOLDFAST',
    bot_id: 'B0HOLDFAST',
    app_id: MOCK_APP,
    ts,
    ...defined({ thread_ts: threadTs }),
    text,
    blocks,
  };
}

/** @throws SlackRefusal */
export function contentOf(args: Json): Pick<SlackMessage, 'text' | 'blocks'> {
  const text = String(args.text ?? '');
  const blocks = args.blocks === undefined ? [] : parsed(args.blocks);
  const problems = blockProblems(blocks, 'message');
  if (problems.includes('msg_blocks_too_long')) throw new SlackRefusal('msg_blocks_too_long');
  if (problems.length > 0) throw new SlackRefusal('invalid_blocks', problems);
  if (text === '' && listOf(blocks).length === 0) throw new SlackRefusal('no_text');
  if (text.length > LONGEST_TEXT) throw new SlackRefusal('msg_too_long');
  return { text, blocks: listOf(blocks).filter(isObject) };
}

/** Seconds, as a message's `ts` has them. */
function timesOf({ oldest = 0, latest }: Json): { oldest: number; latest: number } {
  return { oldest: Number(oldest), latest: latest === undefined ? Number.POSITIVE_INFINITY : Number(latest) };
}

function pageOf(messages: readonly SlackMessage[], { limit = 100, cursor }: Json): Json {
  const from = Number(cursor ?? 0);
  const most = Number(limit);
  if (!(most >= 1 && most <= MOST_OF_A_PAGE)) throw new SlackRefusal('invalid_limit');
  const next = from + most;
  const hasMore = next < messages.length;
  return {
    messages: messages.slice(from, next).map(shownMessage),
    has_more: hasMore,
    ...(hasMore ? { response_metadata: { next_cursor: String(next) } } : {}),
  };
}

function channelOf({ channel }: Json): string {
  if (typeof channel !== 'string' || !CHANNEL.test(channel)) throw new SlackRefusal('channel_not_found');
  return channel;
}

/** In forms, what is no text travels as JSON. */
function parsed(value: unknown): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    throw new SlackRefusal('invalid_arguments', ['expected JSON']);
  }
}
