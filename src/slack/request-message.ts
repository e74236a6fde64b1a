import type { NotifiedRequest } from '../approvals/notifier.ts';
import { ownQuestion } from '../approvals/own-question.ts';
import type { Voter } from '../contract/approvals.ts';
import { defined } from '../protocol/json.ts';
import { visibleExcerpt } from '../protocol/visible-text.ts';
import { type Block, type Button, mrkdwn, plain, type SectionBlock } from './block-kit.ts';
import { slackExcerpt, slackText } from './slack-text.ts';

/** A request, from whichever side it is seen. */
export interface AskedRequest
  extends Pick<
    NotifiedRequest,
    | 'requestId'
    | 'kind'
    | 'app'
    | 'userId'
    | 'sessionId'
    | 'agent'
    | 'path'
    | 'tool'
    | 'hint'
    | 'args'
    | 'terms'
  > {
  requester?: string;
  /** Milliseconds since the epoch. */
  until?: number;
  /** Those that count by now. */
  votes?: readonly { by: Voter; confirmed: boolean }[];
}

/** How a request has ended. */
interface Outcome {
  status: string;
  /** Milliseconds since the epoch. */
  at?: number;
  by?: readonly string[];
  reason?: string;
  editedArgs?: Readonly<Record<string, unknown>>;
}

/** Facts for a message besides its request. */
interface MessageTerms {
  /** People can open the request elsewhere, and see all of it there. */
  opens: boolean;
  /** Slack's ids of those who are called by this message. */
  mentions?: readonly string[];
}

/** A posted message, and its update. */
export interface DrawnMessage {
  blocks: Block[];
  /** For notices, and for those who can't see blocks. */
  text: string;
}

/** Ids of the buttons. */
export const ACTIONS = {
  approve: 'holdfast.approve',
  reject: 'holdfast.reject',
  edit: 'holdfast.edit',
  open: 'holdfast.open',
  withdraw: 'holdfast.withdraw',
} as const;

type ActionName = keyof typeof ACTIONS;

/** Undefined for the id of no button here. */
export function actionOf(actionId: unknown): ActionName | undefined {
  const found = Object.entries(ACTIONS).find(([, id]) => id === actionId);
  return found?.[0] as ActionName | undefined;
}

const LONGEST_NAME = 100;
const LONGEST_HINT = 1_000;
const LONGEST_REASON = 1_000;
const LONGEST_OUTCOME = 1_200;
const MOST_MENTIONS = 10;
const MOST_VOTERS = 10;
const USER_ID = /^[UW][A-Z0-9]{2,30}$/;

const WANTED = {
  confirmation: 'waits for an approval',
  credential: 'waits for a credential',
  input: 'waits for an answer',
} as const;

/** A request that waits, with the buttons that answer it. */
export function pendingMessage(request: AskedRequest, { opens, mentions = [] }: MessageTerms): DrawnMessage {
  const drawn = argumentBlocks(request.args, 'holdfast_args');
  const buttons = buttonsOf(request, opens);
  return {
    text: titleOf(request),
    blocks: [
      ...headOf(request),
      ...drawn.blocks,
      ...(drawn.isCut ? [notice('holdfast_cut', cutNotice(opens))] : []),
      { type: 'context', block_id: 'holdfast_terms', elements: [plain(termsOf(request))] },
      ...callOf(mentions),
      ...(buttons.length === 0
        ? [notice('holdfast_elsewhere', 'It can’t be answered in Slack: use the command line of Holdfast.')]
        : [{ type: 'actions' as const, block_id: 'holdfast_actions', elements: buttons }]),
    ],
  };
}

/** The same request after its end: the end, and no buttons. */
export function endedMessage(request: AskedRequest, outcome: Outcome): DrawnMessage {
  const { reason, editedArgs } = outcome;
  const line = slackText(outcomeLine(outcome), LONGEST_OUTCOME);
  const edited = editedArgs === undefined ? [] : argumentBlocks(editedArgs, 'holdfast_edited').blocks;
  return {
    text: `${titleOf(request, '')}: ${line}`,
    blocks: [
      ...headOf(request, ''),
      ...argumentBlocks(request.args, 'holdfast_args').blocks,
      notice('holdfast_outcome', line),
      ...(reason === undefined || reason === ''
        ? []
        : [notice('holdfast_reason', `Reason: ${slackText(reason, LONGEST_REASON)}`)]),
      ...(edited.length === 0 ? [] : [notice('holdfast_edit', 'It runs with these arguments instead:')]),
      ...edited,
    ],
  };
}

/** In place of a request whose session was deleted, and which another one of its id has followed. */
export function replacedMessage(): DrawnMessage {
  const text = 'This request is gone. Another message shows the current one.';
  return { text, blocks: [notice('holdfast_replaced', text)] };
}

/** A block that calls people by Slack's ids, which only the configuration names; none for nobody. */
export function callOf(mentions: readonly string[]): Block[] {
  const called = mentions.filter((id) => USER_ID.test(id)).slice(0, MOST_MENTIONS);
  if (called.length === 0) return [];
  const text = called.map((id) => `<@${id}>`).join(' ');
  return [{ type: 'context', block_id: 'holdfast_called', elements: [mrkdwn(text)] }];
}

/** For people, in a line; not escaped yet. */
export function outcomeLine({ status, at, by = [] }: Outcome): string {
  const names = by.slice(0, MOST_VOTERS).map((name) => visibleExcerpt(name, LONGEST_NAME));
  const others = by.length - names.length;
  const voters = others > 0 ? [...names, `${others} more`] : names;
  const who = voters.length === 0 ? '' : ` by ${voters.join(', ')}`;
  const when = at === undefined ? '' : `, ${shownTime(at)}`;
  return `${visibleExcerpt(status.charAt(0).toUpperCase() + status.slice(1), LONGEST_NAME)}${who}${when}`;
}

function headOf(request: AskedRequest, wanted: string = WANTED[request.kind]): Block[] {
  const { path, agent, app, userId, sessionId, requester } = request;
  const hint = ownQuestion(request);
  const agents = (path.length > 0 ? path : [agent]).slice(0, 8).map((name) => slackText(name, LONGEST_NAME));
  const names = [app, userId, sessionId].map((name) => slackText(name, LONGEST_NAME)).join('/');
  return [
    {
      type: 'header',
      block_id: 'holdfast_title',
      text: plain(wanted === '' ? slackText(request.tool, LONGEST_NAME) : titleOf(request, wanted)),
    },
    {
      type: 'context',
      block_id: 'holdfast_who',
      elements: [
        plain(requester === undefined ? 'Sender unknown' : `For ${slackText(requester, LONGEST_NAME)}`),
        plain(`Agent ${agents.join(' › ')}`),
        plain(`Session ${names}`),
      ],
    },
    ...(hint.trim() === '' ? [] : [notice('holdfast_hint', slackText(hint, LONGEST_HINT))]),
  ];
}

function titleOf({ tool, kind }: AskedRequest, wanted: string = WANTED[kind]): string {
  return `${slackText(tool, LONGEST_NAME)}${wanted === '' ? '' : ` ${wanted}`}`;
}

function termsOf({ until, terms, votes = [] }: AskedRequest): string {
  const { quorum = 1 } = terms;
  const approving = votes.filter(({ confirmed }) => confirmed);
  const voters = approving.slice(0, MOST_VOTERS).map(({ by }) => slackText(by.principal, LONGEST_NAME));
  return [
    ...(quorum > 1
      ? [`${approving.length} of ${quorum} approvals${voters.length > 0 ? `: ${voters.join(', ')}` : ''}`]
      : []),
    until === undefined ? 'It has no deadline' : `Until ${shownTime(until)}`,
  ].join(' · ');
}

function buttonsOf({ kind, requestId, terms, votes = [] }: AskedRequest, opens: boolean): Button[] {
  const button = (action: ActionName, label: string, style?: Button['style']): Button => ({
    type: 'button',
    action_id: ACTIONS[action],
    text: plain(label),
    value: requestId,
    ...defined({ style }),
  });
  return [
    ...(kind === 'confirmation'
      ? [button('approve', 'Approve', 'primary'), button('reject', 'Reject', 'danger')]
      : []),
    ...(kind === 'confirmation' && terms.allowEdit === true ? [button('edit', 'Edit')] : []),
    ...(opens ? [button('open', 'Open')] : []),
    ...(kind === 'confirmation' && votes.length > 0 ? [button('withdraw', 'Take my vote back')] : []),
  ];
}

function cutNotice(opens: boolean): string {
  return opens
    ? 'Not all of it fits here: open the request before you decide.'
    : 'Not all of it fits here: look at the request on the command line before you decide.';
}

function notice(name: string, text: string): Block {
  return { type: 'section', block_id: name, text: plain(text) };
}

function shownTime(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Characters of names and of values, as they are sent. */
const LONGEST_ARGUMENT_NAME = 200;
const LONGEST_VALUE = 1_500;
/** Slack takes about 13,000 characters of all blocks together. */
const LONGEST_TOGETHER = 3_500;

const MOST = 20;
const IN_A_SECTION = 5;

interface DrawnArguments {
  blocks: SectionBlock[];
  /** Something of them isn't shown. */
  isCut: boolean;
}

/**
 * Arguments as a table of names and values, in JSON: two columns, drawn by us. A model's text is plain text in them, never markup.
 *
 * @param name of the blocks, unique in their message.
 */
function argumentBlocks(args: Readonly<Record<string, unknown>>, name: string): DrawnArguments {
  const entries = Object.entries(args);
  let left = LONGEST_TOGETHER;
  let isCut = false;
  const rows: [string, string][] = [];
  for (const [argument, value] of entries) {
    const json = JSON.stringify(value) ?? 'undefined';
    const shownName = slackExcerpt(
      argument.trim() === '' ? JSON.stringify(argument) : argument,
      LONGEST_ARGUMENT_NAME,
    );
    const shownValue = slackExcerpt(json, LONGEST_VALUE);
    left -= shownName.text.length + shownValue.text.length;
    if (rows.length === MOST || left < 0) {
      isCut = true;
      break;
    }
    isCut ||= shownName.isCut || shownValue.isCut;
    rows.push([shownName.text, shownValue.text]);
  }
  const blocks: SectionBlock[] = [];
  for (let from = 0; from < rows.length; from += IN_A_SECTION) {
    const fields = rows.slice(from, from + IN_A_SECTION).flatMap((row) => row.map(plain));
    blocks.push({ type: 'section', block_id: `${name}_${blocks.length}`, fields });
  }
  const missing = entries.length - rows.length;
  if (missing > 0) {
    blocks.push({
      type: 'section',
      block_id: `${name}_more`,
      text: plain(`and ${missing} more ${missing === 1 ? 'argument' : 'arguments'}, not shown here`),
    });
  }
  return { blocks, isCut };
}
