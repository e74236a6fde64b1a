/** Length and code: SSLRequest, CancelRequest, and the startup message that begins like them, have no type. */
const UNTYPED_HEADER = 8;
const TYPED_HEADER = 5;
/** A message's length counts its own four bytes. */
const SHORTEST_LENGTH = 4;
const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;
const CANCEL_REQUEST = 80877102;

const SYNC = 'S'.charCodeAt(0);
const QUERY = 'Q'.charCodeAt(0);
const FLUSH = 'H'.charCodeAt(0);
const PASSWORD = 'p'.charCodeAt(0);
const TERMINATE = 'X'.charCodeAt(0);
const PARSE = 'P'.charCodeAt(0);
const APPLICATION_NAME = 'application_name';

/** ReadyForQuery outside of a transaction, which ends an answer. */
const READY = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** ReadyForQuery without the status of the transaction, which follows. */
const READY_HEAD = [0x5a, 0, 0, 0, 5];
const LAST_ERROR = /\0V(?:PANIC|FATAL)\0C(\w{5})\0M([^\0]*)\0/;

export const SYNC_MESSAGE = new Uint8Array([SYNC, 0, 0, 0, 4]);

export type ClientMessage =
  | { type: 'ssl request' }
  | { type: 'terminate' }
  /** One or more whole messages that the backend answers together. */
  | { type: 'work'; bytes: Uint8Array };

/** Cuts what a client of PostgreSQL sends into what its backend answers in one go. */
export class MessageBuffer {
  #chunks: Buffer[] = [];
  #length = 0;
  /** Bytes that have to be there before there is anything to do. */
  #needed = UNTYPED_HEADER;
  #started = false;
  /** Length of the whole messages at the start that wait for their Sync. */
  #whole = 0;

  add(chunk: Buffer): ClientMessage[] {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
    const found: ClientMessage[] = [];
    while (this.#length >= this.#needed) {
      const message = this.#started ? this.#typed() : this.#untyped();
      if (message) found.push(message);
    }
    return found;
  }

  #untyped(): ClientMessage | undefined {
    const bytes = this.#bytes();
    const length = bytes.readInt32BE(0);
    const code = bytes.readInt32BE(4);
    if (length < UNTYPED_HEADER) return this.#giveUp();
    if (this.#length < length) {
      this.#needed = length;
      return undefined;
    }
    const message = this.#take(length);
    this.#needed = UNTYPED_HEADER;
    if (code === SSL_REQUEST || code === GSS_REQUEST) return { type: 'ssl request' };
    if (code === CANCEL_REQUEST) return { type: 'terminate' };
    this.#started = true;
    this.#needed = TYPED_HEADER;
    return { type: 'work', bytes: message };
  }

  #typed(): ClientMessage | undefined {
    const bytes = this.#bytes();
    const type = bytes[this.#whole];
    const length = bytes.readInt32BE(this.#whole + 1);
    if (length < SHORTEST_LENGTH) return this.#giveUp();
    const end = this.#whole + 1 + length;
    if (this.#length < end) {
      this.#needed = end;
      return undefined;
    }
    if (type === SYNC || type === QUERY || type === FLUSH || type === PASSWORD || type === TERMINATE) {
      this.#whole = 0;
      this.#needed = TYPED_HEADER;
      const message = this.#take(end);
      return type === TERMINATE ? { type: 'terminate' } : { type: 'work', bytes: message };
    }
    this.#whole = end;
    this.#needed = end + TYPED_HEADER;
    return undefined;
  }

  /** Where the next message begins nobody knows. PostgreSQL ends such a connection, too. */
  #giveUp(): ClientMessage {
    this.#needed = Number.POSITIVE_INFINITY;
    return { type: 'terminate' };
  }

  #bytes(): Buffer {
    const [first] = this.#chunks;
    if (this.#chunks.length === 1 && first) return first;
    const joined = Buffer.concat(this.#chunks);
    this.#chunks = [joined];
    return joined;
  }

  #take(length: number): Uint8Array {
    const bytes = this.#bytes();
    this.#chunks = [bytes.subarray(length)];
    this.#length -= length;
    return new Uint8Array(bytes.subarray(0, length));
  }
}

/** The `application_name` of a client's startup message; empty without one. */
export function applicationNameIn(startup: Uint8Array): string {
  const parameters = Buffer.from(startup).toString('utf8', UNTYPED_HEADER).split('\0');
  const place = parameters.findIndex((text, index) => index % 2 === 0 && text === APPLICATION_NAME);
  return place < 0 ? '' : (parameters[place + 1] ?? '');
}

/** Whether whole messages make a statement that outlives them. */
export function preparesByName(messages: Uint8Array): boolean {
  const bytes = Buffer.from(messages.buffer, messages.byteOffset, messages.byteLength);
  for (let start = 0; start + TYPED_HEADER < bytes.length; start += 1 + bytes.readInt32BE(start + 1)) {
    if (bytes[start] === 0) return false;
    if (bytes[start] === PARSE && bytes[start + TYPED_HEADER] !== 0) return true;
  }
  return false;
}

/** Whether the backend that sent these last bytes of an answer has nothing open. */
export function isOutsideTransaction(answer: Uint8Array): boolean {
  return READY.equals(answer.subarray(-READY.length));
}

/**
 * The error after which a backend is no more, where its answer ends with one. PostgreSQL's own process would end;
 * PGlite goes on in a loop that no message ends.
 *
 * @param answer the last bytes that it sent to a statement.
 */
export function breakdownIn(answer: Uint8Array): Error | undefined {
  if (READY_HEAD.every((byte, index) => answer.at(index - READY_HEAD.length - 1) === byte)) return undefined;
  const [, code, message] = LAST_ERROR.exec(Buffer.from(answer).toString('utf8')) ?? [];
  return message === undefined ? undefined : Object.assign(new Error(message), { code });
}
