import { relative } from 'node:path';
import type { StreamItem } from '../../client/stream/stream-item.ts';
import { ownVersion } from '../../own-files.ts';
import type { TurnResult } from '../../protocol/turn.ts';
import { visibleLines } from '../../protocol/visible-text.ts';
import { usageWords } from '../sessions/shown-values.ts';
import { ESCAPE } from '../terminal-text.ts';
import type { LoadedAgents } from './child-messages.ts';
import type { DevFacts, DevView, ShownTurn } from './dev-view.ts';
import type { Screen } from './screen.ts';
import { durationText, TurnText } from './turn-text.ts';

/** Longer than this the end of an old worker is worth a line, milliseconds. */
const LONG_DRAIN = 2_000;

/** Of the user's own code, which may write them to no terminal, too. */
const COLOURS = new RegExp(`${ESCAPE}\\[[\\d;]*m`, 'g');

/** For people. */
export class TerminalView implements DevView {
  readonly #screen: Screen;
  /** Whether a person has typed the messages, and sees them. */
  readonly #isTyped: boolean;
  #turn: TurnText;
  #link: string | undefined;

  constructor(screen: Screen, isTyped: boolean) {
    this.#screen = screen;
    this.#isTyped = isTyped;
    this.#turn = new TurnText(screen);
  }

  note(line: string): void {
    this.#screen.note(visibleLines(line));
  }

  problem(text: string): void {
    this.#screen.note(visibleLines(text), 'red');
  }

  answer(lines: readonly string[]): void {
    this.#screen.line(lines.join('\n'));
  }

  ready(facts: DevFacts): void {
    this.#screen.note(panel(facts, this.#screen).join('\n'), []);
  }

  reloading(): void {}

  reloaded(loaded: LoadedAgents): void {
    this.#screen.note(`↻ reloaded: ${agentsText(loaded)}`, 'green');
  }

  refused(reason: string, keeps: boolean): void {
    this.problem(reason);
    this.note(
      keeps
        ? 'the worker before goes on; save the file again once it is mended'
        : 'waiting for a change of the file',
    );
  }

  drained(_pid: number | undefined, ms: number): void {
    if (ms > LONG_DRAIN) this.note(`the worker before has finished its tools, after ${durationText(ms)}`);
  }

  died(reason: string, pause: number): void {
    this.problem(`the worker has ended: ${reason}`);
    this.note(`another one starts in ${durationText(pause)}; its turns go on then`);
  }

  printed(line: string): void {
    this.#screen.note(`│ ${visibleLines(line.replace(COLOURS, ''))}`);
  }

  queued({ ahead }: { ahead: number }): void {
    this.note(ahead === 1 ? '  queued behind the message before' : `  queued behind ${ahead} messages`);
  }

  turnBegins({ text, link, waited }: ShownTurn): void {
    this.#turn = new TurnText(this.#screen);
    this.#link = link;
    if (text !== '' && (!this.#isTyped || waited))
      this.#screen.line(`${this.#screen.paint('bold', 'you')}  ${visibleLines(text)}`);
  }

  item(item: StreamItem): void {
    this.#turn.item(item);
  }

  turnEnded({ status, error, usage }: TurnResult, ms: number): void {
    this.#screen.endLine();
    if (status === 'interrupted') this.#screen.note('  interrupted', 'yellow');
    // An error of the turn's own was shown as its last event.
    else if (error !== undefined) this.problem(`  ${status}: ${error.code}`);
    const words = [...usageWords(usage), durationText(ms), ...(this.#link === undefined ? [] : [this.#link])];
    this.note(`  ${words.join(' · ')}`);
  }

  turnFailed(problem: string): void {
    this.#screen.endLine();
    this.problem(problem);
    if (this.#link !== undefined) this.note(`  ${this.#link}`);
  }
}

function panel(facts: DevFacts, screen: Screen): string[] {
  const { file, folder, loaded, address, namespace, uiUrl, gateway, store, taskQueue, session } = facts;
  const bold = (text: string) => screen.paint('bold', text);
  const dim = (text: string) => screen.paint('dim', text);
  const url = (text: string) => screen.paint('cyan', text);
  const here = (path: string) => {
    const way = relative(process.cwd(), path);
    return way.startsWith('..') ? path : way;
  };
  const rows: [string, string][] = [
    ['agents', `${agentsText(loaded)}  ${dim(here(file))}`],
    ['model', modelText(loaded)],
    [
      'Temporal',
      `${uiUrl === undefined ? dim('its UI is not known: set TEMPORAL_UI_URL') : url(uiUrl)}  ${dim(`at ${address}, namespace ${namespace}`)}`,
    ],
    ['gateway', `${url(gateway.url)}  ${dim(`API ${gateway.url}/openapi.json`)}`],
    ['inbox', url(`${gateway.url}/inbox`)],
    ['token', session === undefined ? gateway.token : dim(`in ${here(`${folder}/dev.json`)}`)],
    ['store', store === 'postgres' ? 'HOLDFAST_STORE' : here(`${folder}/store`)],
    ['queue', dim(taskQueue)],
    ...(session === undefined
      ? []
      : [['session', `${session.app}/${session.userId}/${bold(session.sessionId)}`] as [string, string]]),
  ];
  return [
    '',
    `  ${bold('holdfast dev')} ${dim(ownVersion())}`,
    '',
    ...rows.map(([name, text]) => `  ${dim(name.padEnd(10))}${text}`),
    '',
    `  ${dim(session === undefined ? 'Ctrl-C ends it.' : '/help shows what there is. Ctrl-C interrupts a turn, twice it ends.')}`,
    '',
  ];
}

function agentsText({ agents, rootAgent }: LoadedAgents): string {
  const named = agents.map(({ name, model }) => (model === undefined ? name : `${name} (${model})`));
  return agents.length === 1 ? (named[0] ?? '') : `${named.join(', ')}; ${rootAgent} answers`;
}

function modelText({ mockModel, agents }: LoadedAgents): string {
  if (mockModel) return 'a local mock Gemini server, scripted: GEMINI_API_KEY is not set';
  return [...new Set(agents.flatMap(({ model }) => model ?? []))].join(', ') || 'none of their own';
}
