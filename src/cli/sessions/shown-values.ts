import type { TurnUsage } from '../../contract/sessions.ts';
import type { Content, FunctionResponse, Part } from '../../events/content.ts';

const LONGEST_VALUE = 160;

const UNITS: [name: string, ms: number][] = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
];

/** `3 min ago`. */
export function ago(time: number, now = Date.now()): string {
  const ms = Math.max(0, now - time);
  const [name, size] = UNITS.find(([, size]) => ms >= size) ?? ['s', 1_000];
  return `${Math.floor(ms / size)} ${name} ago`;
}

/** A time span in its two largest units: `2 d 3 h`, `5 min`, `12 s`. */
export function spanText(ms: number): string {
  let left = Math.max(0, ms);
  const words: string[] = [];
  for (const [name, size] of UNITS) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) words.push(`${count} ${name}`);
    else if (words.length > 0) break;
    if (words.length === 2) break;
  }
  return words.join(' ') || '0 s';
}

/** `2026-11-20 11:10:08`, of this machine's clock. */
export function clockTime(time: number): string {
  const date = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return date.toISOString().slice(0, 19).replace('T', ' ');
}

export function tokensText({ totalTokens, unknownCalls }: TurnUsage): string {
  return `${unknownCalls === undefined ? '' : '>= '}${totalTokens}`;
}

/** A cost with its unit, which is the currency of the app's prices; nothing if the app has none. */
export function costWords({ cost, unknownCalls }: Pick<TurnUsage, 'cost' | 'unknownCalls'>): string[] {
  if (cost === undefined) return [];
  const atLeast = unknownCalls === undefined ? '' : 'at least ';
  return [`cost ${atLeast}${Number(cost.toPrecision(3))} (currency of the app’s prices)`];
}

/** Model calls, tokens and cost of a turn. */
export function usageWords({ modelCalls, totalTokens, ...usage }: TurnUsage): string[] {
  const atLeast = usage.unknownCalls === undefined ? '' : 'at least ';
  const calls = modelCalls === 1 ? '1 model call' : `${modelCalls} model calls`;
  return [calls, `${atLeast}${totalTokens} tokens`, ...costWords(usage)];
}

export function costText({ cost, unknownCalls }: TurnUsage): string {
  if (cost === undefined) return '';
  return `${unknownCalls === undefined ? '' : '>= '}${Number(cost.toPrecision(3))}`;
}

/** JSON, cut where it is long. */
export function cutJson(value: unknown, longest = LONGEST_VALUE): string {
  const json = JSON.stringify(value) ?? 'undefined';
  return json.length <= longest ? json : `${json.slice(0, longest)}… ${json.length} characters`;
}

/** `← report {…}`; a response that others follow says so. */
export function responseLine(
  { name, response, willContinue }: FunctionResponse,
  shown: (value: unknown) => string = cutJson,
): string {
  return `← ${name}${willContinue ? ' (goes on)' : ''} ${shown(response ?? {})}`;
}

/** The sender of a message, for people: a message of responses without words tells outcomes of calls. */
export function messageAuthor(content: Content | undefined): 'you' | 'later' {
  const parts = content?.parts ?? [];
  const answers = parts.some(({ functionResponse }) => functionResponse !== undefined);
  return answers && parts.every(({ text }) => text === undefined) ? 'later' : 'you';
}

/** Code that a model has written, or its result; nothing for other parts. */
export function codeLines({ executableCode, codeExecutionResult }: Part): string[] {
  if (executableCode !== undefined) {
    return [`→ ${executableCode.language ?? 'code'} ${cutJson(executableCode.code ?? '')}`];
  }
  if (codeExecutionResult === undefined) return [];
  return [`← ${codeExecutionResult.outcome ?? 'result'} ${cutJson(codeExecutionResult.output ?? '')}`];
}

/** Rows with their columns one under another; numbers to the right. Empty columns are left out. */
export function tableLines(
  columns: readonly (string | { right: string })[],
  rows: readonly (readonly string[])[],
): string[] {
  const shown = columns
    .map((column, index) => {
      const [title, isRight] = typeof column === 'string' ? [column, false] : [column.right, true];
      const width = Math.max(title.length, ...rows.map((row) => row[index]?.length ?? 0));
      const padded = (cell: string) => (isRight ? cell.padStart(width) : cell.padEnd(width));
      return { title, index, padded };
    })
    .filter(({ index }) => rows.some((row) => row[index]));
  const line = (cellOf: (column: (typeof shown)[number]) => string) =>
    shown
      .map((column) => column.padded(cellOf(column)))
      .join('  ')
      .trimEnd();
  return [line(({ title }) => title), ...rows.map((row) => line(({ index }) => row[index] ?? ''))];
}
