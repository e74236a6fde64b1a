import type { Content, Part } from '../../src/events/content.ts';
import type { LlmRequest } from '../../src/tools/base-tool.ts';
import type { Seen, Shown } from './interpreter.ts';

/** A request in the words of the interpreter. */
export interface ShownToModel extends Omit<Shown, 'sees'> {
  sees: readonly string[];
}

export function shownToModel(
  agent: string,
  { contents, config }: Pick<LlmRequest, 'contents' | 'config'>,
): ShownToModel {
  const told = String(config?.systemInstruction ?? '');
  return {
    agent,
    sees: contents.flatMap(partsOf),
    instruction: /KNOWN<.*>/.exec(told)?.[0] ?? '',
    targets: [...told.matchAll(/^Agent name: (.*)$/gm)].map(([, name]) => name ?? ''),
  };
}

function partsOf({ role, parts = [] }: Content): string[] {
  return parts.flatMap((part) => partOf(part, role === 'user'));
}

function partOf({ text, functionCall, functionResponse }: Part, isUser: boolean): string[] {
  if (functionCall !== undefined) {
    return [`own call: ${functionCall.name} ${JSON.stringify(functionCall.args)}`];
  }
  if (functionResponse !== undefined) {
    const response = JSON.stringify(functionResponse.response);
    return [`own response: ${functionResponse.name} ${withoutReason(response)}`];
  }
  if (text === undefined || text === 'For context:') return [];
  if (!isUser) return [`own: ${text}`];
  return [text.startsWith('[') ? withoutReason(text) : `user: ${text}`];
}

/** Why a turn isn't handed on to somebody is told in words that other tests look at. */
function withoutReason(text: string): string {
  return text.replace(/"error":"unknown agent .*"/, '"error":""');
}

/** What was seen and what is expected, as far as they differ by more than the order of what went on at the same time. */
export function inOneOrder(
  given: readonly string[],
  expected: readonly Seen[],
): { seen: string[]; expected: string[] } {
  const seen: string[] = [];
  const wanted: string[] = [];
  for (const each of expected) {
    const rest = given.slice(seen.length);
    if (typeof each === 'string') {
      seen.push(...rest.slice(0, 1));
      wanted.push(each);
    } else if ('endOf' in each) {
      const behind = expected.slice(expected.indexOf(each) + 1).reduce((sum, one) => sum + sizeOf(one), 0);
      const end = rest.slice(0, rest.length - behind);
      for (const author of new Set(end.map(authorOf))) {
        const own = end.filter((part) => authorOf(part) === author);
        seen.push(...own);
        wanted.push(...each.endOf.filter((part) => authorOf(part) === author).slice(-own.length));
      }
    } else {
      const span = rest.slice(0, sizeOf(each));
      for (const lane of each.lanes) {
        const authors = new Set(lane.flatMap(authorsOf));
        const own = span.filter((part) => authors.has(authorOf(part)));
        const ordered = inOneOrder(own, lane);
        seen.push(...ordered.seen);
        wanted.push(...ordered.expected);
      }
    }
  }
  return { seen: [...seen, ...given.slice(seen.length)], expected: wanted };
}

function sizeOf(seen: Seen): number {
  if (typeof seen === 'string') return 1;
  if ('endOf' in seen) return 1;
  return seen.lanes.flat().reduce((sum, each) => sum + sizeOf(each), 0);
}

function authorsOf(seen: Seen): string[] {
  if (typeof seen === 'string') return [authorOf(seen)];
  return 'lanes' in seen ? seen.lanes.flat().flatMap(authorsOf) : seen.endOf.map(authorOf);
}

function authorOf(part: string): string {
  return /^\[(\w+)\]/.exec(part)?.[1] ?? 'own';
}

/** What the models of an agent were shown, beside what they are expected to be, in the same order. */
export function sideBySide(
  actual: readonly ShownToModel[],
  expected: readonly Shown[],
): { shown: unknown[]; expected: unknown[] } {
  const pairs = expected.map(({ sees, ...rest }, at) => {
    const { sees: seen = [], ...given } = actual[at] ?? {};
    const both = inOneOrder(seen, sees);
    return {
      shown: { ...given, sees: both.seen },
      expected: { ...rest, sees: both.expected },
    };
  });
  return {
    shown: [...pairs.map(({ shown }) => shown), ...actual.slice(expected.length)],
    expected: pairs.map((pair) => pair.expected),
  };
}
