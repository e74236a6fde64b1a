/** ReadyForQuery: its type and its length; the status of the transaction follows. */
const READY = [0x5a, 0, 0, 0, 5];
const LAST_ERROR = /\0V(?:PANIC|FATAL)\0C(\w{5})\0M([^\0]*)\0/;

/**
 * The error after which a backend is no more, where its answer ends with one. PostgreSQL's own process would end;
 * PGlite goes on in a loop that no message ends.
 *
 * @param answer the last bytes that it sent to a statement.
 */
export function breakdownIn(answer: Uint8Array): Error | undefined {
  if (READY.every((byte, index) => answer.at(index - READY.length - 1) === byte)) return undefined;
  const [, code, message] = LAST_ERROR.exec(Buffer.from(answer).toString('utf8')) ?? [];
  return message === undefined ? undefined : Object.assign(new Error(message), { code });
}
