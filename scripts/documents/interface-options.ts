import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

/** A member of an options interface, as its source and its JSDoc say it. */
export interface DocumentedOption {
  name: string;
  isRequired: boolean;
  type: string;
  /** The first sentence of its JSDoc: the editor and the pages of the nouns tell more. */
  meaning: string;
  /** `@default`, or the sentence `Defaults to …`. */
  byDefault: string;
}

/**
 * The members of an interface, in the form in which this project's formatter writes it: one member begins on each line that is
 * indented by two spaces.
 *
 * @throws Error where the file has no such interface, or a member is not understood.
 */
export function optionsOf(path: string, name: string): DocumentedOption[] {
  const source = readFileSync(root + path, 'utf8');
  const declaration = new RegExp(`^export interface ${name}\\b[^{]*\\{\\n(.*?)^\\}`, 'ms').exec(source);
  if (declaration === null) throw new Error(`${path} has no interface ${name}`);
  const options = membersOf(declaration[1] ?? '').map(({ comment, text }) => optionOf(path, comment, text));
  if (options.length === 0) throw new Error(`${path}: ${name} has no members of its own`);
  return options;
}

function membersOf(body: string): { comment: string; text: string }[] {
  const members: { comment: string; text: string }[] = [];
  let comment: string[] = [];
  let text: string[] = [];
  for (const line of body.split('\n')) {
    const isComment = text.length === 0 && /^ {2}(\/\*\*| \*)/.test(line);
    if (isComment) comment.push(line);
    else if (line.trim() !== '') text.push(line);
    const member = text.map((each) => each.trim()).join(' ');
    if (!member.endsWith(';') || isOpen(member)) continue;
    members.push({ comment: comment.join('\n'), text: member });
    comment = [];
    text = [];
  }
  if (text.length > 0) throw new Error(`a member without an end: ${text.join(' ')}`);
  return members;
}

/** Whether an object's type within it has no end yet. */
function isOpen(member: string): boolean {
  return member.split('{').length > member.split('}').length;
}

function optionOf(path: string, comment: string, text: string): DocumentedOption {
  const [, name, mark, type] = /^(?:readonly )?(\w+)(\??): (.*);$/.exec(text) ?? method(text) ?? [];
  if (name === undefined || type === undefined) throw new Error(`${path}: not understood: ${text}`);
  const words = comment
    .replace(/^\s*\/\*\*|\*\/\s*$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .join(' ')
    .replace(/\{@link (\S+?)\}/g, '$1')
    .trim();
  const [prose = '', ...tags] = words.split(/ ?@(?=(?:default|format|example|throws)\b)/);
  const tag = (wanted: string) =>
    tags
      .find((each) => each.startsWith(wanted))
      ?.slice(wanted.length)
      .trim();
  const sentence = /(?:\bD|; d)efaults?(?: to|:) ((?:[^.`]|\.(?=\S)|`[^`]*`)*)\.(?= |$)/.exec(prose);
  const [said = ''] = prose
    .replace(sentence?.[0] ?? '', '')
    .trim()
    .split(/(?<=[a-z0-9)`'”]\.) (?=[A-Z`{])/);
  return {
    name,
    isRequired: mark !== '?',
    type: type
      .replaceAll(/\/\*\*.*?\*\/ /g, '')
      .replace(/^\| /, '')
      .replace(/<\s+/g, '<')
      .replace(/,?\s+>/g, '>'),
    meaning: said.replace(/\s+/g, ' ').trim().replace(/\w$/, '$&.'),
    byDefault: tag('default') ?? sentence?.[1] ?? '',
  };
}

/** `close(): Promise<void>` as a member of a function's type. */
function method(text: string): string[] | undefined {
  const [, name, mark = '', parameters, result] = /^(\w+)(\??)(\(.*\)): (.*);$/.exec(text) ?? [];
  return name === undefined ? undefined : ['', name, mark, `${parameters} => ${result}`];
}
