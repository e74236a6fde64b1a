import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const binary = fileURLToPath(new URL('../../bin/holdfast.js', import.meta.url));

export interface CommandOptions {
  /** The path of a program that is run in place of `holdfast`. */
  program?: string;
  env?: Record<string, string>;
  /** Begins each line of what it prints. */
  margin?: string;
  /** Prints nothing: neither the command nor its output. */
  quiet?: boolean;
  /** Lines are typed into it. */
  typed?: boolean;
}

/** A `holdfast` command, or a program, in a process of its own, as somebody at a terminal would have typed it. */
export class Command implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #lines = new EventEmitter();
  readonly #out: string[] = [];
  readonly #all: string[] = [];

  constructor(
    words: readonly string[],
    { program, env = {}, margin = '  ', quiet = false, typed = false }: CommandOptions = {},
  ) {
    const typedAs = program === undefined ? ['npx', 'holdfast'] : ['node', program];
    if (!quiet) console.log(`$ ${[...typedAs, ...words].map(quoted).join(' ')}`);
    this.#child = spawn(process.execPath, [program ?? binary, ...words], {
      env: { ...process.env, ...env },
      stdio: [typed ? 'pipe' : 'ignore', 'pipe', 'pipe'],
    });
    const read = (stream: Readable | null, to: string[]) => {
      if (stream === null) return;
      createInterface({ input: stream }).on('line', (line) => {
        to.push(line);
        this.#all.push(line);
        if (!quiet) console.log(margin + line);
        this.#lines.emit('line');
      });
    };
    read(this.#child.stdout, this.#out);
    read(this.#child.stderr, []);
    this.#ended = once(this.#child, 'close');
  }

  /** What it has printed on standard output. */
  get output(): string {
    return this.#out.join('\n');
  }

  type(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Waits until so many of its lines match, and returns the match of the last one. */
  async prints(expected: RegExp, count = 1): Promise<RegExpExecArray> {
    for (;;) {
      const matches = this.#all.map((line) => expected.exec(line)).filter((match) => match !== null);
      const last = matches.at(count - 1);
      if (last !== undefined) return last;
      if (this.#child.exitCode !== null || this.#child.signalCode !== null) {
        throw new Error(`the command ended before it printed ${expected} ${count} times`);
      }
      await Promise.race([this.#ended, once(this.#lines, 'line')]);
    }
  }

  /** Ends it, where it would go on. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#ended;
  }

  /** @throws Error where its exit code is another one. */
  async ends(expected = 0): Promise<void> {
    await this.#ended;
    const { exitCode } = this.#child;
    if (exitCode !== expected)
      throw new Error(`the command ended with ${exitCode}:\n${this.#all.join('\n')}`);
  }
}

function quoted(word: string): string {
  return /^[\w./@%+=:,-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
