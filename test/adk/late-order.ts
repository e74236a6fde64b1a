import type { Content, Event } from '../../src/index.ts';

type Parts = NonNullable<Content['parts']>;

/**
 * Events in the order in which Holdfast tells them to a model: calls that a later message answers stand where the latest of these
 * messages came, with all their responses. Of events in this order ADK hides nothing, since nothing stands between.
 */
export function inLateOrder(events: readonly Event[]): Event[] {
  const askedBy = new Map<string, number>();
  for (const [index, event] of events.entries()) {
    for (const { functionCall } of partsOf(event)) {
      if (functionCall?.id && !functionCall.name?.startsWith('adk_request'))
        askedBy.set(functionCall.id, index);
    }
  }
  const askedIn = ({ functionResponse }: Parts[number]) => askedBy.get(functionResponse?.id ?? '');
  const latest = new Map<number, number>();
  for (const [index, event] of events.entries()) {
    if (event.author !== 'user') continue;
    for (const asked of partsOf(event).flatMap((part) => askedIn(part) ?? [])) latest.set(asked, index);
  }
  const moved = new Map<number, Event[]>();
  return events.flatMap((event, index) => {
    if (latest.has(index)) {
      moved.set(index, [event]);
      return [];
    }
    const asked = [...new Set(partsOf(event).flatMap((part) => askedIn(part) ?? []))].filter((each) =>
      latest.has(each),
    );
    const [only] = asked;
    if (only === undefined) return [event];
    if (latest.get(only) === index) return [...(moved.get(only) ?? []), event];
    const isWords = ({ text }: Parts[number]) => text !== undefined && event.author === 'user';
    const words = partsOf(event).filter(isWords);
    const answers = partsOf(event).filter((part) => !isWords(part));
    moved.get(only)?.push({ ...event, content: { ...event.content, parts: answers } });
    return words.length === 0 ? [] : [{ ...event, content: { ...event.content, parts: words } }];
  });
}

function partsOf({ content }: Event): Parts {
  return content?.parts ?? [];
}
