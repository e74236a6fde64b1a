/** A table; empty columns are left out. */
export function table(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const shown = titles.map((_, index) => index).filter((index) => rows.some((row) => row[index]));
  const line = (cells: readonly string[]) =>
    `| ${shown.map((index) => cell(cells[index] ?? '')).join(' | ')} |`;
  return [line(titles), `|${shown.map(() => ' --- ').join('|')}|`, ...rows.map(line)].join('\n');
}

export function code(text: string): string {
  return text === '' ? '' : `\`${text}\``;
}

/** A bar ends a cell, also within code. */
function cell(text: string): string {
  return prose(text.replaceAll('|', '\\|').replace(/\s+/g, ' ').trim());
}

/** Outside of code, text that looks like a tag is one. */
export function prose(text: string): string {
  return text.replace(/(`[^`]*`)|</g, (_found, inCode: string | undefined) => inCode ?? '&lt;');
}
