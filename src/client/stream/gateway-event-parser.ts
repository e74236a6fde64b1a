/** One server-sent event. */
export interface ServerSentEvent {
  /** `message` where the stream names none. */
  event: string;
  data: string;
  /** The last one that the stream has given so far; empty before the first. */
  id: string;
}

/**
 * Reads server-sent events out of a stream of bytes, however it is cut into pieces. An event that its stream doesn't finish is
 * none. Semantics: "Interpreting an event stream" of the HTML standard; `retry` is left to
 * the caller, who has its own back-off.
 */
export async function* serverSentEvents(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  let isAfterReturn = false;
  let event = '';
  let id = '';
  const data: string[] = [];
  for await (const chunk of bytes) {
    let text = decoder.decode(chunk, { stream: true });
    if (text === '') continue;
    // A line break may be cut in two.
    if (isAfterReturn && text.startsWith('\n')) text = text.slice(1);
    isAfterReturn = text === '' ? false : text.endsWith('\r');
    // Only what is new is searched: a long line comes in many pieces.
    const lines = text.split(/\r\n|\n|\r/);
    lines[0] = rest + lines[0];
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { event: event || 'message', data: data.join('\n'), id };
        data.length = 0;
        event = '';
        continue;
      }
      const colon = line.indexOf(':');
      const field = colon === -1 ? line : line.slice(0, colon);
      const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'data') data.push(value);
      else if (field === 'event') event = value;
      else if (field === 'id' && !value.includes('\0')) id = value;
    }
  }
}
