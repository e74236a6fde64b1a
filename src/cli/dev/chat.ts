import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import type { Decided } from '../../client/approvals/approvals.ts';
import { FollowerTooSlow, TemporalUnreachable } from '../../client/client-errors.ts';
import type { HoldfastClient } from '../../client/holdfast-client.ts';
import type { StreamItem } from '../../client/stream/stream-item.ts';
import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import type { MessagePolicy } from '../../contract/messages.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';
import { describeError } from '../cli-error.ts';
import type { Person } from '../gates/ask-person.ts';
import { GateDesk } from '../gates/gate-desk.ts';
import type { DevView } from './dev-view.ts';
import { type LateTurn, LateTurns } from './late-turns.ts';

export interface ChatOptions {
  client: HoldfastClient;
  view: DevView;
  names: SessionNames;
  /** Answers in place of the session's last agent. */
  agent: string | undefined;
  /** Names of the agents that the worker serves now. */
  agents: () => readonly string[];
  /** As the command line names it, for commands that are told. */
  folder: string;
  /** Whether a person types, who is asked what calls ask people; else it is told how they are answered. */
  isTyped: boolean;
  /** Page of a session's run in the Temporal UI. */
  linkOf: (names: SessionNames, runId?: string) => string | undefined;
  onBusy: (isBusy: boolean) => void;
  onQuit: () => void;
  /** Starts a new worker. */
  onReload: () => void;
}

interface Sent {
  turn: TurnHandle;
  names: SessionNames;
  text: string;
  waited: boolean;
  shown: PromiseWithResolvers<boolean>;
  /** Behind this place it was not shown yet; undefined from its beginning on. */
  after?: number | string | undefined;
}

/** Before Temporal, which was away, is asked again, milliseconds. */
const OUTAGE_PAUSE = 500;

/** Calls that commands may name by the ends of their keys, and complete. */
const MOST_CALLS = 200;

/** One conversation: messages become turns, which are shown one after another. */
export class Chat {
  readonly client: HoldfastClient;
  readonly view: DevView;
  readonly agents: ChatOptions['agents'];
  readonly linkOf: ChatOptions['linkOf'];
  readonly folder: string;
  /** Requests that the next line may answer. */
  readonly question: ChatQuestion;
  readonly quit: () => void;
  readonly reload: () => void;
  /** Turns of the session that nobody has sent a message for. */
  readonly late: LateTurns;
  /** The session that messages go to. */
  names: SessionNames;
  agent: string | undefined;
  /** Ids of sessions that were listed, for completion. */
  listed: string[] = [];
  readonly #isTyped: boolean;
  readonly #onBusy: (isBusy: boolean) => void;
  readonly #calls: string[] = [];
  readonly #waiting: Sent[] = [];
  #current: Sent | undefined;
  /** Of the turn that is shown. */
  #desk: GateDesk | undefined;
  #following = new AbortController();
  /** Turns that wait, and messages queued after them, while the chat is in another session. */
  #left: Sent[] = [];
  #lastInvocation: string | undefined;
  /** Messages reach the session in the order in which they were typed. */
  #sending: Promise<unknown> = Promise.resolve();
  #pending = 0;

  constructor(options: ChatOptions) {
    this.client = options.client;
    this.view = options.view;
    this.agents = options.agents;
    this.linkOf = options.linkOf;
    this.folder = options.folder;
    this.question = new ChatQuestion((line) => options.view.note(line));
    this.#isTyped = options.isTyped;
    this.names = options.names;
    this.agent = options.agent;
    this.quit = options.onQuit;
    this.reload = options.onReload;
    this.#onBusy = options.onBusy;
    this.late = new LateTurns({
      client: options.client,
      began: (late) => this.#showLate(late),
      failed: (error) => options.view.problem(describeError(error)),
    });
  }

  /** Whether a turn runs, or a message is on its way. */
  get isBusy(): boolean {
    return this.#pending > 0;
  }

  /** Call keys that were heard of, the newest last. */
  get calls(): readonly string[] {
    return this.#calls;
  }

  /** The invocation that is shown now, or was shown last. */
  get invocationId(): string | undefined {
    return this.#lastInvocation;
  }

  /** Resolves when the turn that answers is shown; false where it did not come to a good end. */
  async send(text: string, policy: MessagePolicy = 'enqueue'): Promise<boolean> {
    const { names, agent } = this;
    const messageId = randomUUID();
    return await this.#show(policy === 'interrupt', async (ahead) => {
      const turn = await this.#whenBack(() =>
        this.client.sendMessage({
          ...names,
          messageId,
          message: text,
          policy,
          ...(agent === undefined ? {} : { agent }),
          runConfig: { streamingMode: 'sse' },
        }),
      );
      if (ahead > 0 && policy === 'enqueue') this.view.queued({ messageId, text, ahead });
      else if (turn.disposition === 'sent' && policy === 'enqueue')
        this.view.note('  the session is answering another message; this one comes after it');
      return { turn, names, text };
    });
  }

  /** Runs the session's last turn anew, from a call on. */
  async retry(callKey: string): Promise<boolean> {
    const { names } = this;
    return await this.#show(false, async () => ({
      turn: await this.client.sessions.retry({ ...names, callKey }),
      names,
      text: `(again from ${callKey})`,
    }));
  }

  /** Ends the turn that is shown, politely; false where there is none. */
  async interrupt(reason?: string): Promise<boolean> {
    // Lines that were typed before are on their way.
    await this.#sending;
    const current = this.#current;
    if (current === undefined) return false;
    const receipt = await this.client.interrupt(current.names, {
      invocationId: current.turn.invocationId,
      ...(reason === undefined ? {} : { reason }),
    });
    if (!receipt.confirmed) this.view.note(`  ${receipt.reason}`);
    return true;
  }

  /** The one who types answers a request by a command. */
  async answeredBy<Receipt extends Decided>(requestId: string, sent: Promise<Receipt>): Promise<Receipt> {
    return this.#desk === undefined ? await sent : await this.#desk.answeredBy(requestId, sent);
  }

  /**
   * Shows the session's turns no more, which wait for people or jobs and go on waiting; `goOn` shows the rest of them. False where the turn
   * does something.
   */
  async leave(): Promise<boolean> {
    await this.#sending;
    const current = this.#current;
    if (current === undefined) return !this.isBusy;
    const status = await this.client.status(current.names);
    if (this.#current !== current || !status?.status.startsWith('waiting_')) return false;
    const behind = this.#waiting.splice(0);
    this.#left.push(current, ...behind);
    this.#following.abort();
    for (const { shown } of behind) shown.resolve(true);
    await current.shown.promise;
    this.view.note(
      `  session ${current.names.sessionId} waits on; /session ${current.names.sessionId} goes back`,
    );
    return true;
  }

  /** Shows the rest of the turns of the session that were left; without any, the turn that runs there, whoever has sent its message. */
  async goOn(): Promise<void> {
    const isHere = ({ names }: Sent) => names.sessionId === this.names.sessionId;
    const left = this.#left.filter(isHere);
    this.#left = this.#left.filter((sent) => !isHere(sent));
    for (const { turn, names, text, after } of left) {
      const isBegun = after !== undefined;
      void this.#show(false, async () => ({ turn, names, text: isBegun ? '' : text, after }));
    }
    const { names } = this;
    const turn = this.isBusy ? undefined : await this.#whenBack(() => this.client.runningTurn(names));
    // A message that was sent meanwhile shows its own turn.
    if (turn === undefined || this.isBusy) return;
    this.view.note(`  session ${names.sessionId} is answering a message: here is its turn`);
    void this.#show(false, async () => ({ turn, names, text: '' }));
  }

  async #show(
    next: boolean,
    begin: (ahead: number) => Promise<Pick<Sent, 'turn' | 'names' | 'text' | 'after'>>,
  ): Promise<boolean> {
    const ahead = this.#pending;
    this.#pending += 1;
    if (ahead === 0) this.#onBusy(true);
    try {
      const sending = this.#sending.then(async () => {
        const sent: Sent = { ...(await begin(ahead)), waited: ahead > 0, shown: Promise.withResolvers() };
        if (next) this.#waiting.unshift(sent);
        else this.#waiting.push(sent);
        if (this.#current === undefined) void this.#showAll();
        return sent;
      });
      this.#sending = sending.catch(() => undefined);
      const { shown } = await sending;
      return await shown.promise;
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0) this.#onBusy(false);
    }
  }

  async #showAll(): Promise<void> {
    for (;;) {
      const sent = this.#waiting.shift();
      this.#current = sent;
      if (sent === undefined) return;
      sent.shown.resolve(await this.#showTurn(sent));
    }
  }

  async #showTurn(sent: Sent): Promise<boolean> {
    const { turn, names, text, waited } = sent;
    const { invocationId, messageId, runId } = turn;
    const began = Date.now();
    this.#lastInvocation = invocationId;
    this.view.turnBegins({
      ...names,
      invocationId,
      messageId,
      text,
      waited,
      link: this.linkOf(names, runId),
    });
    const desk = this.#deskOf(names);
    const following = new AbortController();
    this.#desk = desk;
    this.#following = following;
    try {
      const { signal } = following;
      const result = await this.#whenBack(async () => {
        for await (const item of itemsOf(turn, sent, signal)) {
          this.#remember(item);
          this.late.heard(names, item);
          this.view.item(item);
          desk.heard(item);
        }
        return signal.aborted ? undefined : await turn.result();
      });
      if (result === undefined) return true;
      this.view.turnEnded(result, Date.now() - began);
      return result.status === 'completed';
    } catch (error) {
      this.view.turnFailed(describeError(error));
      return false;
    } finally {
      desk.close();
      this.#desk = undefined;
    }
  }

  /** A server that was away comes back: nothing is lost meanwhile. */
  async #whenBack<T>(work: () => Promise<T>): Promise<T> {
    for (let tried = 0; ; tried += 1) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof TemporalUnreachable)) throw error;
        if (tried === 0) this.view.note('  Temporal can’t be reached now: this goes on when it is back');
        await setTimeout(OUTAGE_PAUSE);
      }
    }
  }

  #showLate({ turn, names, job }: LateTurn): void {
    if (names.sessionId !== this.names.sessionId) {
      this.view.note(`  ${job.jobId} has come to session ${names.sessionId}; /session goes there`);
      return;
    }
    this.view.note(`  ${job.tool}: its job ${job.jobId} has ended, and the model is told`);
    void this.#show(false, async () => ({ turn, names, text: '' }));
  }

  #deskOf(names: SessionNames): GateDesk {
    const desk = new GateDesk({
      names,
      note: (line) => this.view.note(`  ${line}`),
      folder: this.folder,
      ...(this.#isTyped ? { person: (signal: AbortSignal) => this.question.person(signal) } : {}),
    });
    desk.serve(this.client);
    return desk;
  }

  #remember(item: StreamItem): void {
    if (item.type !== 'call started' || this.#calls.includes(item.callKey)) return;
    this.#calls.push(item.callKey);
    if (this.#calls.length > MOST_CALLS) this.#calls.shift();
  }
}

/** A terminal that scrolls slowly goes on where it was cut off. */
async function* itemsOf(
  turn: TurnHandle,
  sent: Pick<Sent, 'after'>,
  signal: AbortSignal,
): AsyncGenerator<StreamItem, void> {
  for (;;) {
    try {
      for await (const item of turn.stream({
        ...(sent.after === undefined ? {} : { after: sent.after }),
        signal,
      })) {
        if (item.type === 'event') sent.after = item.place ?? item.seq;
        yield item;
      }
      return;
    } catch (error) {
      if (!(error instanceof FollowerTooSlow)) throw error;
      sent.after = error.after;
    }
  }
}

/** A question in the chat, which the next line answers. */
class ChatQuestion {
  readonly #tell: (line: string) => void;
  #open: ((line: string) => void) | undefined;

  constructor(tell: (line: string) => void) {
    this.#tell = tell;
  }

  /** Whether the line was an answer. An empty one puts it off. */
  takes(line: string): boolean {
    const open = this.#open;
    this.#open = undefined;
    open?.(line);
    return open !== undefined;
  }

  /** Somebody who types in the chat, where nothing can be hidden. */
  person(signal: AbortSignal): Person {
    return {
      tell: (line) => this.#tell(`  ${line}`),
      ask: async (question, begun = '') => {
        signal.throwIfAborted();
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        const cutOff = () => reject(signal.reason);
        signal.addEventListener('abort', cutOff);
        this.#tell(`  ${question.trim()}`);
        if (begun !== '') this.#tell(`  ${begun}`);
        this.#open = resolve;
        try {
          return await promise;
        } finally {
          signal.removeEventListener('abort', cutOff);
          if (this.#open === resolve) this.#open = undefined;
        }
      },
    };
  }
}
