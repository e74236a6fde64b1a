import { shortDigest } from '../../protocol/identity.ts';

/** Names that all providers take. OpenAI's rule, which is the narrowest. */
const FITS = /^[A-Za-z0-9_-]{1,64}$/;
const LONGEST = 64;
const DIGEST = 22;

/**
 * Names of tools as a provider takes them, and back. A name that fits stays; another one gets its wrong characters replaced and
 * a digest of the whole name at its end, so that it is the same one in every request.
 */
export class ToolNames {
  readonly #wire = new Map<string, string>();
  readonly #own = new Map<string, string>();

  /** @param offered the tools of the request. */
  constructor(offered: readonly string[]) {
    // Those that stay as they are have the right to their names.
    for (const name of offered) if (FITS.test(name)) this.#take(name, name);
    for (const name of offered) this.wireOf(name);
  }

  wireOf(name: string): string {
    const known = this.#wire.get(name);
    if (known !== undefined) return known;
    if (FITS.test(name) && !this.#own.has(name)) return this.#take(name, name);
    let wire = changed(name, name);
    for (let other = 1; this.#own.has(wire); other += 1) wire = changed(name, `${name}\0${other}`);
    return this.#take(name, wire);
  }

  /** A name that no tool has is the model's own invention, and stays. */
  ownOf(wire: string): string {
    return this.#own.get(wire) ?? wire;
  }

  #take(name: string, wire: string): string {
    this.#wire.set(name, wire);
    this.#own.set(wire, name);
    return wire;
  }
}

function changed(name: string, digested: string): string {
  const readable = name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, LONGEST - DIGEST - 1);
  return `${readable}_${shortDigest(digested)}`.slice(0, LONGEST);
}
