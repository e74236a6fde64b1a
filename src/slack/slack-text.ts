import { visibleText } from '../protocol/visible-text.ts';

/** With these alone Slack's markup begins: links, mentions, dates, entities. */
const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

interface SlackExcerpt {
  text: string;
  isCut: boolean;
}

/**
 * Text that others wrote, as Slack may draw it: nothing in it is markup, nothing can't be seen, and what would be too long says how
 * long it is.
 *
 * @param longest characters of what is sent, escapes included; at least 40.
 */
export function slackText(text: string, longest: number): string {
  return slackExcerpt(text, longest).text;
}

/** As {@link slackText}. */
export function slackExcerpt(text: string, longest: number): SlackExcerpt {
  return excerpt(text, longest, (character) => escaped(visibleText(character)));
}

/** As {@link slackText}, with the line ends that the text has: of an answer, which nobody decides by. */
export function slackLines(text: string, longest: number): SlackExcerpt {
  return excerpt(text.replaceAll('\r\n', '\n'), longest, (character) =>
    character === '\n' || character === '\t' ? character : escaped(visibleText(character)),
  );
}

function excerpt(text: string, longest: number, draw: (character: string) => string): SlackExcerpt {
  const tail = `… ${text.length} characters`;
  let shown = '';
  let fitting = 0;
  for (const character of text) {
    const piece = draw(character);
    if (shown.length + piece.length > longest) {
      return { text: `${shown.slice(0, fitting)}${tail}`, isCut: true };
    }
    shown += piece;
    if (shown.length + tail.length <= longest) fitting = shown.length;
  }
  return { text: shown, isCut: false };
}

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (found) => ESCAPES[found] ?? found);
}

/**
 * Typed text as Slack sends it, as plain text: its entities are characters again, and its links and mentions what they say.
 */
export function plainMessage(text: string): string {
  return text
    .replace(/<([@#!])([^<>|]*)(?:\|([^<>]*))?>/g, (_, sign: string, id: string, label?: string) =>
      sign === '#' ? `#${label || id}` : `@${label || id}`,
    )
    .replace(/<([^<>|]+)\|([^<>]*)>/g, (_, url: string, label: string) => linkText(url, label))
    .replace(/<([^<>|]+)>/g, '$1')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');
}

function linkText(url: string, label: string): string {
  return label === '' || url === label || url.endsWith(`://${label}`) || url === `mailto:${label}`
    ? url.replace(/^mailto:/, '')
    : `${label} (${url})`;
}
