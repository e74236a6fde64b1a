import { isTooDeep } from '../../contract/message-limits.ts';
import { getLogger } from '../../logger.ts';
import { REMOVED } from '../../net/removed-secrets.ts';
import { isRecord } from '../../protocol/json.ts';
import { visibleExcerpt } from '../../protocol/visible-text.ts';
import { loadMcpClient } from './mcp-transport.ts';

/** Tools or resources that are taken of one server. */
const MOST_LISTED = 1_000;
/** Characters of a server's name of a tool in a warning. */
const LONGEST_NAME = 100;

type Kind = 'tools' | 'resources';

/**
 * The lists of a connection, checked item by item as their pages come: the package of MCP refuses a whole list for one bad item. A list
 * ends with its thousandth item, and after so many bytes.
 */
export class CheckedLists {
  readonly #server: string;
  readonly #maxBytes: number;
  readonly #taken = { tools: { items: 0, bytes: 0 }, resources: { items: 0, bytes: 0 } };
  readonly #told = new Set<string>();

  constructor(server: string, maxBytes: number) {
    this.#server = server;
    this.#maxBytes = maxBytes;
  }

  /** A list is asked for from its start. */
  begin(kind: Kind): void {
    this.#taken[kind] = { items: 0, bytes: 0 };
  }

  /** @returns what makes of a message one without bad items. `isLegacy`: the server speaks a revision of 2025. */
  async checker(): Promise<<Message>(message: Message, isLegacy: boolean) => Message> {
    const { isSpecType } = await loadMcpClient();
    return (message, isLegacy) => {
      const { result } = message as { result?: unknown };
      if (!isRecord(result) || result.content !== undefined) return message;
      if (Array.isArray(result.tools)) {
        const isTool = (item: unknown) => isSpecType.Tool(item) && !(isLegacy && hasOddOutput(item));
        return { ...message, result: this.#cut('tools', result, isTool) };
      }
      if (!Array.isArray(result.resources)) return message;
      return { ...message, result: this.#cut('resources', result, isSpecType.Resource) };
    };
  }

  #cut(kind: Kind, result: Record<string, unknown>, isGood: (item: unknown) => boolean): object {
    const taken = this.#taken[kind];
    const good: unknown[] = [];
    for (const item of result[kind] as unknown[]) {
      const isBad = isTooDeep(item) || !isGood(item);
      if (isBad || isNamedBySecret(item)) {
        const why = isBad
          ? 'it is not as MCP describes it, or too deep'
          : 'its name has a secret of the connection';
        this.#warn(kind, item, why);
        continue;
      }
      taken.items += 1;
      taken.bytes += Buffer.byteLength(JSON.stringify(item));
      if (taken.items > MOST_LISTED || taken.bytes > this.#maxBytes) {
        const { nextCursor, ...rest } = result;
        return { ...rest, [kind]: good };
      }
      good.push(item);
    }
    return { ...result, [kind]: good };
  }

  #warn(kind: Kind, item: unknown, why: string): void {
    const name = isRecord(item) && typeof item.name === 'string' ? item.name : '';
    const shown = JSON.stringify(visibleExcerpt(name, LONGEST_NAME));
    // A server of many bad items is told of a few times.
    if (this.#told.has(shown) || this.#told.size >= 20) return;
    this.#told.add(shown);
    const what = kind === 'tools' ? 'tool' : 'resource';
    getLogger().warn(`the ${what} ${shown} of the MCP server ${this.#server} is left out: ${why}`);
  }
}

/** The server would not know it by the name that is left of it. */
function isNamedBySecret(item: unknown): boolean {
  const { name, uri } = isRecord(item) ? item : {};
  return [name, uri].some((each) => typeof each === 'string' && each.includes(REMOVED));
}

/** In revisions of 2025 an `outputSchema` is one of an object. */
function hasOddOutput(item: unknown): boolean {
  const output = isRecord(item) ? item.outputSchema : undefined;
  return output !== undefined && !(isRecord(output) && output.type === 'object');
}

/** A list that a server is asked for once, until it tells of a change or the list's time is over. */
export class KeptList<T> {
  readonly kind: Kind;
  #kept: { items: Promise<readonly T[]>; until: number } | undefined;

  constructor(kind: Kind) {
    this.kind = kind;
  }

  forget(): void {
    this.#kept = undefined;
  }

  /** @param lasts milliseconds for which a new list counts. */
  async items(lasts: number, ask: () => Promise<readonly T[]>): Promise<readonly T[]> {
    if (this.#kept !== undefined && Date.now() < this.#kept.until) return await this.#kept.items;
    const kept = { items: ask(), until: Date.now() + lasts };
    this.#kept = kept;
    kept.items.catch(() => {
      if (this.#kept === kept) this.#kept = undefined;
    });
    return await kept.items;
  }
}
