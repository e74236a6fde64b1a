/**
 * What somebody has typed, as Slack sends it, as text: its entities are characters again, and its links and mentions what they say.
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
