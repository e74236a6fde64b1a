import { appendFileSync, existsSync, readFileSync } from 'node:fs';

/** Something that user code was asked or did, noted outside of its process. */
export interface Visit {
  session: string;
  what: string;
  callKey?: string;
  /** The code has not come back from it. */
  held?: true;
}

/**
 * Notes what user code does in a file, where it outlives its process, and holds the code of some sessions where they are
 * to be killed.
 */
export class Witness {
  readonly #file: string;
  /** By session: what it is held at; `event 2` is the second `event` that this process sees of it. */
  readonly #holds: Readonly<Record<string, string>>;
  readonly #counts = new Map<string, number>();
  readonly #held = new Set<string>();

  constructor(file: string, holds: Readonly<Record<string, string>> = {}) {
    this.#file = file;
    this.#holds = holds;
  }

  async saw(session: string, what: string, callKey?: string): Promise<void> {
    // Nothing of the session goes on in this process, another attempt neither.
    if (this.#held.has(session)) await never();
    const key = `${session}/${what}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    const isHeld = this.#holds[session] === (count === 1 ? what : `${what} ${count}`);
    const visit: Visit = {
      session,
      what,
      ...(callKey === undefined ? {} : { callKey }),
      ...(isHeld ? { held: true } : {}),
    };
    appendFileSync(this.#file, `${JSON.stringify(visit)}\n`);
    if (!isHeld) return;
    this.#held.add(session);
    await never();
  }

  visits(): Visit[] {
    if (!existsSync(this.#file)) return [];
    return readFileSync(this.#file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
