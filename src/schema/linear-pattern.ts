import { RE2JS } from 're2js';

/** A regular expression whose time grows with the text, never with the ways in which it could match. */
export interface LinearPattern {
  test(text: string): boolean;
  /** Steps for each character of a text, at most. */
  readonly size: number;
  /** The pattern's source. */
  toString(): string;
}

/** Characters of a pattern, at most. */
const LONGEST = 1_000;

/** Characters, classes and quantifiers of a pattern with its repetitions written out, at most. */
const LARGEST = 2_000;

/** The engine looks at each character of a range for its case, up to the last that has one, and takes about 40 ns. */
const FOLDED = { most: 1_000_000, last: 0x1e943 };

/** The work of two engines that read a part, beside its steps: 6 µs for each 1, at most. */
const READ = { character: 0.2, space: 3, property: 60 };

/** Bytes of the states that the engine keeps: to make one takes 100 ns for each step, and to search on without takes 30 ns. */
const MOST_KEPT = 64 * 1024;

/**
 * A pattern as JSON Schema and JavaScript write it, in an engine without backtracking. A character is a code point.
 *
 * @returns undefined for features that such an engine doesn't have (look-around, references back to a group), for a pattern of more
 * than 1,000 characters or 2,000 (or `mostSteps`) repetitions written out, for long ranges without case, and for a text that is no pattern.
 * @example linearPattern('^[A-Z]{2}-\\d+$')?.test('FH-12511'); // true
 */
export function linearPattern(
  source: string,
  { ignoreCase = false, mostSteps = Number.POSITIVE_INFINITY } = {},
): LinearPattern | undefined {
  const { text } = translatedPattern(source);
  if (text === undefined || (ignoreCase && charactersOfRanges(text) > FOLDED.most)) return undefined;
  try {
    const program = RE2JS.compile(text, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    const size = program.programSize();
    if (size > mostSteps) return undefined;
    const engine = program.re2();
    const test = (text: string) => {
      // One that never needs more than one state at a time keeps none.
      if (engine.lazyDFA === null && engine.onepass === null)
        engine.dfa.stateBudget = engine.dfa.memBudget = MOST_KEPT;
      return program.test(text);
    };
    return { test, size, toString: () => source };
  } catch {
    // The engine knows fewer names of Unicode properties, and repeats 1,000 times at most.
    return undefined;
  }
}

/** A pattern before it is compiled, which takes time that grows with its `size`. Without a `text` no engine gets it. */
export function translatedPattern(source: string): { size: number; text?: string } {
  const times = (part: RegExp) => source.split(part).length - 1;
  const read = READ.character * source.length + READ.space * times(/\\s/i) + READ.property * times(/\\p/i);
  const refused = { size: Math.ceil(read) };
  if (source.length > LONGEST || read > LARGEST) return refused;
  // With the flag, as JSON Schema has it, or without: patterns of other engines escape what the flag doesn't let them.
  const flags = ['u', ''].find((each) => isPattern(source, each));
  if (flags === undefined) return refused;
  const translation = new Translation(source, flags === 'u');
  const text = translation.text();
  return text === undefined ? refused : { size: refused.size + translation.size, text };
}

function charactersOfRanges(translated: string): number {
  const code = (sign = '') =>
    sign[0] === '\\' ? Number.parseInt(sign.slice(3), 16) : (sign.codePointAt(0) ?? 0);
  let characters = 0;
  for (const [, first, last] of translated.matchAll(RANGE))
    characters += Math.max(Math.min(code(last), FOLDED.last) - code(first), 0);
  return characters;
}

function isPattern(source: string, flags: string): boolean {
  try {
    new RegExp(source, flags);
    return true;
  } catch {
    return false;
  }
}

const SPACE = String.raw`\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}`;
const NO_SPACE = String.raw`\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{fefe}\x{ff00}-\x{10ffff}`;
const NO_LINE_END = String.raw`[^\n\r\x{2028}\x{2029}]`;

const RANGE = /(\\x\{\w+\}|(?<!\\)[\p{L}\p{N}-])-(\\x\{\w+\}|[\p{L}\p{N}-])/gu;
const COUNTED = /\{(\d{1,6})(?:,(\d{0,6}))?\}\??/y;
const ESCAPED =
  /\\(?:([dDwWbBsS])|([fnrtv0])(?!\d)|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|([pP]\{[\w=]{1,60}\})|([^\w\s]|_))/uy;
const CONTROLS: Record<string, string> = { f: 'c', n: 'a', r: 'd', t: '9', v: 'b', '0': '0' };

/** Writes a pattern of JavaScript as one of RE2: they differ in spaces, ends of lines, escapes and what stands in a class. */
class Translation {
  readonly #source: string;
  readonly #isUnicode: boolean;
  #at = 0;
  /** Sizes of the groups that are open, the innermost last. */
  readonly #groups = [0];
  /** Size of the part that a quantifier would repeat. */
  #last = 0;

  constructor(source: string, isUnicode: boolean) {
    this.#source = source;
    this.#isUnicode = isUnicode;
  }

  get size(): number {
    return this.#groups.reduce((sum, size) => sum + size, 0);
  }

  text(): string | undefined {
    let text = '';
    while (this.#at < this.#source.length) {
      const next = this.#next();
      if (next === undefined || (this.#groups.at(-1) ?? 0) > LARGEST) return undefined;
      text += next;
    }
    return text;
  }

  #next(): string | undefined {
    const sign = this.#source.charAt(this.#at);
    switch (sign) {
      case '(':
        return this.#open();
      case ')':
        this.#at += 1;
        this.#add(this.#groups.pop() ?? 0);
        return sign;
      case '[':
        this.#at += 1;
        this.#add(1);
        return this.#class();
      case '{':
        return this.#counted();
      case '|':
      case '^':
      case '$':
      case '*':
      case '+':
      case '?':
        this.#at += 1;
        this.#add(1);
        return sign;
      case '.':
        this.#at += 1;
        this.#add(1);
        return NO_LINE_END;
      case '\\':
        this.#add(1);
        return this.#escaped(false);
      default:
        this.#add(1);
        return this.#plain();
    }
  }

  #add(size: number): void {
    this.#last = size;
    this.#groups.push((this.#groups.pop() ?? 0) + size);
  }

  #open(): string | undefined {
    const isPlain = this.#source.charAt(this.#at + 1) !== '?';
    const opened = isPlain ? '(' : /\(\?(?::|<[A-Za-z_$][\w$]{0,60}>)/y;
    this.#groups.push(0);
    if (typeof opened === 'string') {
      this.#at += 1;
      return '(?:';
    }
    return this.#taken(opened) === undefined ? undefined : '(?:';
  }

  #counted(): string | undefined {
    const found = this.#taken(COUNTED);
    if (found === undefined) {
      this.#at += 1;
      this.#add(1);
      return '\\{';
    }
    const times = Math.max(Number(found[1]), Number(found[2] ?? 0));
    this.#groups.push((this.#groups.pop() ?? 0) + this.#last * Math.max(times - 1, 0));
    return found[0];
  }

  #class(): string | undefined {
    let text = '[';
    if (this.#source.charAt(this.#at) === '^') {
      text += '^';
      this.#at += 1;
    }
    // RE2 has no empty class, and takes a bracket here for a character.
    if (this.#source.charAt(this.#at) === ']') return undefined;
    while (this.#source.charAt(this.#at) !== ']') {
      const sign = this.#source.charAt(this.#at);
      const isDash = sign === '-';
      const next = sign === '\\' ? this.#escaped(true) : isDash ? '-' : this.#plain();
      if (next === undefined) return undefined;
      if (isDash) this.#at += 1;
      text += next;
    }
    this.#at += 1;
    return `${text}]`;
  }

  #escaped(isInClass: boolean): string | undefined {
    const found = this.#taken(ESCAPED);
    if (found === undefined) return undefined;
    const [, shorthand, control, byte, unit, point, property, itself] = found;
    // Without the flag `u` these are other patterns: a `p` and braces, a `u` and its repetition.
    if (!this.#isUnicode && (property ?? point) !== undefined) return undefined;
    if (property !== undefined) return `\\${property}`;
    if (itself !== undefined) return quoted(itself);
    const code = byte ?? unit ?? point ?? (control === undefined ? undefined : CONTROLS[control]);
    if (code !== undefined) return this.#codePoint(code);
    if (shorthand === 's' || shorthand === 'S') {
      if (!isInClass) return shorthand === 's' ? `[${SPACE}]` : `[^${SPACE}]`;
      return shorthand === 's' ? SPACE : NO_SPACE;
    }
    if (isInClass && shorthand === 'b') return String.raw`\x{8}`;
    return isInClass && shorthand === 'B' ? undefined : `\\${shorthand}`;
  }

  /** Two escapes of surrogates are one character. */
  #codePoint(code: string): string | undefined {
    const value = Number.parseInt(code, 16);
    if (value < 0xd800 || value > 0xdfff) return `\\x{${value.toString(16)}}`;
    const second = this.#taken(/\\u(d[c-f][0-9a-f]{2})/iy)?.[1];
    if (!this.#isUnicode || value > 0xdbff || second === undefined) return undefined;
    const whole = String.fromCharCode(value, Number.parseInt(second, 16)).codePointAt(0) ?? 0;
    return `\\x{${whole.toString(16)}}`;
  }

  #plain(): string | undefined {
    const sign = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0);
    this.#at += sign.length;
    return this.#isUnicode || sign.length === 1 ? quoted(sign) : undefined;
  }

  #taken(expected: RegExp): RegExpExecArray | undefined {
    expected.lastIndex = this.#at;
    const found = expected.exec(this.#source) ?? undefined;
    if (found !== undefined) this.#at = expected.lastIndex;
    return found;
  }
}

function quoted(sign: string): string {
  return /^[\p{L}\p{N}]$/u.test(sign) ? sign : `\\x{${(sign.codePointAt(0) ?? 0).toString(16)}}`;
}
