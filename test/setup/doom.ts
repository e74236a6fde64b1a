import { closeSync, existsSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Where a process may die on the way of a gated call. `ask`: its step's commit, which writes the request. `suspend`: that of a
 * request which the call makes while it runs. `vote`: the record of a decision that is checked. `begin`: the record of the answer
 * and of the start. `effect`: the tool has had its effect, and has not returned. `settle`: the record of the outcome.
 */
export const MOMENTS = [
  'before ask',
  'after ask',
  'before suspend',
  'after suspend',
  'before vote',
  'after vote',
  'before begin',
  'after begin',
  'effect',
  'before settle',
  'after settle',
] as const;

export type Moment = (typeof MOMENTS)[number];

/** By call key: where the process that comes there first dies. */
export type Dooms<Where extends string = Moment> = Readonly<Record<string, Where>>;

/** Ends the process by SIGKILL at one moment of a call, once for all processes that share the folder. */
export class Doom<Where extends string = Moment> {
  readonly #folder: string;
  readonly #dooms: Dooms<Where>;

  constructor(folder: string, dooms: Dooms<Where>) {
    this.#folder = join(folder, 'doomed');
    this.#dooms = dooms;
    mkdirSync(this.#folder, { recursive: true });
  }

  async reached(moment: Where, callKey: string): Promise<void> {
    if (this.#dooms[callKey] !== moment || !this.#claim(`${callKey} ${moment}`)) return;
    process.kill(process.pid, 'SIGKILL');
    await new Promise<never>(() => undefined);
  }

  /** Whether a process has died there. */
  hasCome(callKey: string): boolean {
    return existsSync(join(this.#folder, encodeURIComponent(`${callKey} ${this.#dooms[callKey]}`)));
  }

  #claim(name: string): boolean {
    try {
      closeSync(openSync(join(this.#folder, encodeURIComponent(name)), 'wx'));
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    }
  }
}
