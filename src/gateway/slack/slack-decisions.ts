import { linkUrl, signApprovalLink } from '../../approvals/approval-link.ts';
import type { Decided } from '../../client/approvals/approvals.ts';
import {
  DecisionRefused,
  InvalidTurn,
  RequestNotFound,
  RequestNotPending,
} from '../../client/client-errors.ts';
import type { ConfirmOptions, ShownRequest } from '../../contract/approvals.ts';
import { codedError, hasCode } from '../../contract/error.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import { credentialKeysOf } from '../../credentials/credential-keys.ts';
import {
  actionOf,
  endedMessage,
  outcomeLine,
  pendingMessage,
  replacedMessage,
} from '../../slack/request-message.ts';
import {
  editModal,
  MODALS,
  type ModalSubject,
  type ModalValues,
  readEdit,
  readReason,
  rejectModal,
} from '../../slack/request-modals.ts';
import { placeOf, type RequestNote, readNote, readPosting, shownDigest } from '../../slack/request-note.ts';
import { SlackFailed } from '../../slack/slack-api.ts';
import type { SlackApp } from '../../slack/slack-app.ts';
import type { SlackUser } from '../../slack/slack-options.ts';
import { slackText } from '../../slack/slack-text.ts';
import { isLeft, isPassing } from '../background.ts';
import type { GatewayRecords } from '../gateway-records.ts';
import type { RouteSetting } from '../route-setting.ts';
import type { Listener, SlackParts, SlackResponder } from './slack-responder.ts';

/** Milliseconds that the notifier has to write down where it has posted a message. */
const NOTE_TIME = 60_000;
const LONGEST_NAME = 100;

/** A person's action on a request. */
export interface SlackAct extends Listener {
  who: SlackUser;
  subject: ModalSubject;
}

interface Situation extends SlackAct {
  person: string;
  note: RequestNote;
  row: ApprovalRow;
  /** As its message has shown it. */
  shown: ShownRequest;
}

const NONE_OF_OURS =
  'Nothing was decided: this message isn’t from Holdfast, or another message has replaced it.';

/** Turns clicks and modals into decisions of the persons that Slack's users stand for. */
export class SlackDecisions {
  readonly #app: SlackApp;
  readonly #setting: RouteSetting;
  readonly #records: GatewayRecords;
  readonly #responder: SlackResponder;

  constructor({ app, setting, records, responder }: SlackParts) {
    this.#app = app;
    this.#setting = setting;
    this.#records = records;
    this.#responder = responder;
  }

  async clicked(act: SlackAct, actionId: string, triggerId: string): Promise<void> {
    const action = actionOf(actionId);
    if (action === undefined) return;
    await this.#answering(act, async (situation) => {
      const { row, subject } = situation;
      if (action === 'reject') return await this.#open(act, triggerId, rejectModal(subject, row));
      if (action === 'open') return await this.#link(situation);
      if (action === 'withdraw') return await this.#withdraw(situation);
      if (action === 'approve') return await this.#decide(situation, { confirmed: true });
      const modal = row.terms.allowEdit === true ? editModal(subject, row) : undefined;
      if (modal === undefined) {
        return await this.#responder.tell(act, 'The arguments of this request can’t be edited in Slack.');
      }
      await this.#open(act, triggerId, modal);
    });
  }

  async submitted(act: SlackAct, modal: string, values: ModalValues): Promise<void> {
    await this.#answering(act, async (situation) => {
      if (modal === MODALS.reject) {
        const reason = readReason(values);
        const given = reason === undefined ? {} : { reason };
        return await this.#decide(situation, { confirmed: false, ...given });
      }
      if (modal !== MODALS.edit) return;
      const args = readEdit(values, situation.row);
      await this.#decide(situation, { confirmed: true, ...(args === undefined ? {} : { args }) });
    });
  }

  /** Finds out who acts, and about what; tells them where that comes to nothing. */
  async #answering(act: SlackAct, answer: (situation: Situation) => Promise<void>): Promise<void> {
    const { who } = act;
    try {
      const person = await this.#app.personOf(who);
      if (person === undefined) {
        return await this.#responder.tell(
          act,
          `Nothing was decided: Holdfast doesn’t know you. Ask its operator to add your Slack id, ${who.id}, to its persons.`,
        );
      }
      const situation = await this.#situationOf(act, person);
      if (situation === undefined) return await this.#responder.tell(act, NONE_OF_OURS);
      const { row } = situation;
      if (row.status !== 'pending') {
        await this.#show(situation);
        return await this.#responder.tell(act, `It is no longer open: ${outcomeLine(outcomeOf(row))}.`);
      }
      await answer(situation);
    } catch (error) {
      await this.#responder.tell(act, isLeft(error) ? LEFT : `Nothing was decided: ${problemOf(error)}`);
      if (problemOf(error) === UNKNOWN) throw error;
    }
  }

  /**
   * The request of a click, as it stands and as the message has shown it; undefined where it hasn't.
   *
   * @throws RequestNotFound, SlackMessageUnknown
   */
  async #situationOf(act: SlackAct, person: string): Promise<Situation | undefined> {
    const { approvals } = this.#setting.options.client;
    const { subject } = act;
    const { requestId } = subject;
    const { found, isBeingPosted } = await this.#setting.background.retryWhileUnavailable(() =>
      this.#noteOf(subject),
    );
    if (found !== undefined && found.requestId !== requestId) return undefined;
    const row = await this.#setting.background.retryWhileUnavailable(() => approvals.get({ requestId }));
    if (row === undefined) throw new RequestNotFound('there is no such request');
    // It may be the only one of its request, whose place the notifier looks for yet. Another message with such buttons doesn't decide.
    if (found === undefined && isBeingPosted) {
      // The person may not see it any more.
      if (row.status !== 'pending') await this.#replace(subject);
      throw new SlackMessageUnknown(row);
    }
    // Sessions that are deleted and made again repeat the ids of their requests.
    if (found === undefined || found.session !== row.session) {
      await this.#replace(subject);
      return undefined;
    }
    const note = readNote(found.value);
    if (note === undefined || note.shown !== shownDigest(row)) return undefined;
    const shown = { session: found.session, argsDigest: row.argsDigest };
    return { ...act, person, note, row, shown };
  }

  async #decide(situation: Situation, options: Omit<ConfirmOptions, 'attestation' | 'shown'>): Promise<void> {
    const { person, row, shown } = situation;
    const { requestId } = row;
    const { attester } = this.#setting;
    try {
      const decided = await this.#setting.background.retryWhileUnavailable(() =>
        attester.confirm({ person, channel: 'slack' }, { requestId }, options, shown),
      );
      await this.#responder.tell(situation, answerTo(decided, options));
    } finally {
      // A decision that came too late shows what came before it.
      await this.#show(situation);
    }
  }

  async #withdraw(situation: Situation): Promise<void> {
    const { row, person } = situation;
    const vote = row.votes.find(({ by }) => by.verified && by.principal === person);
    if (vote === undefined) {
      return await this.#responder.tell(situation, 'There is no vote of yours to take back.');
    }
    await this.#decide(situation, { confirmed: vote.confirmed, withdraw: true });
  }

  async #open(act: SlackAct, triggerId: string, modal: Parameters<SlackApp['api']['openModal']>[1]) {
    try {
      await this.#app.api.openModal(triggerId, modal);
    } catch (error) {
      if (!(error instanceof SlackFailed)) throw error;
      await this.#responder.tell(act, 'Nothing was decided: Slack did not open the form. Click again.');
    }
  }

  async #link(situation: Situation): Promise<void> {
    const { publicUrl, credentialKeys } = this.#setting.options;
    if (publicUrl === undefined || credentialKeys === undefined) {
      return await this.#responder.tell(
        situation,
        'This gateway can’t make a link: it has no public URL, or no credential keys.',
      );
    }
    const { row, person } = situation;
    const { session, requestId, until } = row;
    const terms = { session, requestId, approver: person, expiresAt: until };
    const url = linkUrl(
      publicUrl,
      signApprovalLink(credentialKeysOf(credentialKeys), terms, await this.#records.now()),
    );
    await this.#responder.link(
      situation,
      url,
      `For ${slackText(person, LONGEST_NAME)} alone: open it, decide there`,
    );
  }

  /** Has the message show how the request stands, also where that changes meanwhile. */
  async #show({ note, row }: Situation): Promise<void> {
    const { approvals } = this.#setting.options.client;
    const { requestId } = row;
    let drawnState: string | undefined;
    try {
      for (let times = 0; times < 3; times++) {
        // Its end doesn't change any more.
        const now = row.status === 'pending' ? ((await approvals.get({ requestId })) ?? row) : row;
        const state = JSON.stringify([now.status, now.votes]);
        if (state === drawnState) return;
        drawnState = state;
        const drawn = { ...now, hint: note.hint };
        await this.#app.api.update(
          note,
          now.status === 'pending' ? pendingMessage(drawn, note) : endedMessage(drawn, outcomeOf(now)),
        );
      }
    } catch (error) {
      if (!(error instanceof SlackFailed) && !isPassing(error)) throw error;
      this.#responder.note('a message in Slack does not show what was decided', error);
    }
  }

  async #replace({ channel, ts }: ModalSubject): Promise<void> {
    try {
      await this.#app.api.update({ channel, ts }, replacedMessage());
    } catch (error) {
      if (!(error instanceof SlackFailed)) throw error;
      this.#responder.note('a message in Slack does not show that its request is gone', error);
    }
  }

  /** Only what the notifier has posted counts: the bot's token alone can post buttons, too. */
  async #noteOf({ requestId, channel, ts }: ModalSubject) {
    const { name: notifier } = this.#app;
    // Its name is when it was posted, in seconds.
    const deadline = Math.min(Number(ts) * 1_000, Date.now()) + NOTE_TIME;
    for (let pause = 100; ; pause = Math.min(pause * 2, 2_000)) {
      const isBeingPosted =
        readPosting(await this.#records.notices.noteOf({ notifier, requestId })) !== undefined;
      const found = await this.#records.notices.findNote(notifier, placeOf({ channel, ts }));
      if (found !== undefined || !isBeingPosted || !(Date.now() < deadline)) return { found, isBeingPosted };
      await this.#setting.background.pause(pause);
    }
  }
}

/** The place where the request was posted is not noted yet. */
class SlackMessageUnknown extends codedError('HOLDFAST_SLACK_MESSAGE_UNKNOWN') {
  readonly row: ApprovalRow;

  constructor(row: ApprovalRow) {
    super('it isn’t noted yet where the request was posted');
    this.row = row;
  }
}

const LEFT = 'The result isn’t known: the gateway closes. Look at the message, and click again.';
const PERSON_LATE = 'it takes too long to find out who you are. Try again later.';
const UNKNOWN = 'something went wrong. Try again later.';

function problemOf(error: unknown): string {
  if (error instanceof DecisionRefused || error instanceof InvalidTurn) return `${reasonOf(error)}.`;
  if (error instanceof RequestNotPending) {
    const { request } = error;
    if (request === undefined) return 'the request is no longer open.';
    const { status, at } = request;
    return `it is no longer open: ${outcomeLine(at === undefined ? { status } : { status, at })}.`;
  }
  if (error instanceof SlackMessageUnknown) {
    return error.row.status === 'pending'
      ? 'Holdfast hasn’t recorded this message yet. Click again in a moment.'
      : `it is no longer open: ${outcomeLine(outcomeOf(error.row))}.`;
  }
  if (hasCode(error, 'HOLDFAST_SLACK_PERSON_LATE')) return PERSON_LATE;
  if (error instanceof RequestNotFound) return 'there is no such request any more.';
  return isPassing(error) ? 'Holdfast can’t be reached now. Try again later.' : UNKNOWN;
}

/** Without the names of methods and requests, which say nothing to people. */
function reasonOf({ message }: Error): string {
  return message.replace(/^approvals\.\w+: /, '').replace(/^rq-\S+: /, '');
}

function answerTo(
  decided: Decided,
  { confirmed, withdraw, args }: Pick<ConfirmOptions, 'confirmed' | 'withdraw' | 'args'>,
): string {
  const what = withdraw === true ? 'Taking your vote back' : confirmed ? 'Your approval' : 'Your rejection';
  if (!decided.confirmed) return `${what} is saved. It counts as soon as a worker runs.`;
  switch (decided.status) {
    case 'approved':
      return args === undefined ? 'You have approved it.' : 'You have approved it, as you have edited it.';
    case 'rejected':
      return 'You have rejected it.';
    case 'counted': {
      const { approvals, quorum } = decided;
      const votes =
        approvals === undefined || quorum === undefined ? '' : `: ${approvals} of ${quorum} approvals`;
      return `${what} counts${votes}.`;
    }
    case 'withdrawn':
      return 'Your vote is taken back.';
    case 'duplicate':
      return 'You have already decided this.';
    default:
      return `${what} is saved, but not counted yet.`;
  }
}

function outcomeOf({ status, decidedAt, votes, reason, editedArgs }: ApprovalRow) {
  const isDecision = status === 'approved' || status === 'rejected';
  const by = isDecision ? votes.filter(({ confirmed }) => confirmed === (status === 'approved')) : [];
  return {
    status,
    by: [...new Set(by.map((vote) => vote.by.principal))],
    ...(decidedAt === undefined ? {} : { at: decidedAt }),
    ...(reason === undefined ? {} : { reason }),
    ...(editedArgs === undefined ? {} : { editedArgs }),
  };
}
