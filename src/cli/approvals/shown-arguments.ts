import { amountOf } from '../../approvals/amount.ts';
import { isAnySensitive, isSensitive, MASK, type Sensitive } from '../../approvals/sensitive.ts';
import { canonicalJson } from '../../protocol/canonical-json.ts';
import { visibleText } from '../../protocol/visible-text.ts';

const LONGEST_LINE = 400;
const MOST_LINES = 60;

/**
 * Arguments as they are bound to a request: sorted, one below the other, as JSON. A value that is too long is cut, and its full size
 * said. No argument can look like a line of ours: none begins or ends a line.
 */
export function argumentLines(args: Readonly<Record<string, unknown>>, sensitive: Sensitive): string[] {
  return capped(
    args,
    sensitive,
    Object.keys(args)
      .sort()
      .flatMap((name) => named('', name, args[name], sensitive)),
  );
}

/** Before and after of edited arguments; those that stay the same are left out. */
export function changeLines(
  before: Readonly<Record<string, unknown>>,
  after: Readonly<Record<string, unknown>>,
  sensitive: Sensitive,
): string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const lines = names.flatMap((name) => {
    const [had, has] = [Object.hasOwn(before, name), Object.hasOwn(after, name)];
    if (had && has && canonicalJson(before[name]) === canonicalJson(after[name])) return [];
    return [
      ...(had ? named('- ', name, before[name], sensitive) : []),
      ...(has ? named('+ ', name, after[name], sensitive) : []),
    ];
  });
  if (lines.length === 0) return ['(nothing changes)'];
  return capped(after, sensitive, lines);
}

/** JSON of any value in the same form. */
export function valueLines(value: unknown): string[] {
  return capped(value, false, prettyLines(value));
}

function named(mark: string, name: string, value: unknown, sensitive: Sensitive): string[] {
  const label = `${mark}${/^[\w.-]+$/.test(name) ? name : visibleText(JSON.stringify(name))}: `;
  if (isSensitive(sensitive, name)) return [`${label}${MASK}`];
  const indent = ' '.repeat(mark.length);
  const amount = amountOf(name, value);
  if (amount !== undefined) return [`${label}${value} = ${amount}`];
  return prettyLines(value).map((line, index) => (index === 0 ? `${label}${line}` : `${indent}${line}`));
}

function prettyLines(value: unknown): string[] {
  const json = JSON.stringify(JSON.parse(canonicalJson(value ?? null)), undefined, 2);
  return json.split('\n').map(cutLine);
}

/** A string that is cut has no closing quote, so that none can pretend to be. */
function cutLine(line: string): string {
  if (line.length <= LONGEST_LINE) return visibleText(line);
  return `${visibleText(line.slice(0, LONGEST_LINE).toWellFormed())}  … cut: ${line.length} characters`;
}

function capped(value: unknown, sensitive: Sensitive, lines: string[]): string[] {
  const isCut = lines.length > MOST_LINES || lines.some((line) => /… cut: \d+ characters$/.test(line));
  if (!isCut) return lines;
  const more = lines.length - MOST_LINES;
  const size = !isAnySensitive(sensitive)
    ? `, ${Buffer.byteLength(canonicalJson(value))} bytes of JSON in all`
    : '';
  return [
    ...lines.slice(0, MOST_LINES),
    `… ${more > 0 ? `${more} more lines` : 'lines are cut'}${size}; --json shows them whole`,
  ];
}
