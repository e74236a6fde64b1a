import type { History } from './turn-environment.ts';

type Event = NonNullable<History['events']>[number];

/** Types and ids of the activities that a history scheduled, in order. */
export function scheduledActivities(
  history: History,
): { type: string; id: string; summary: string | undefined }[] {
  return (history.events ?? []).flatMap((event) => {
    const scheduled = event.activityTaskScheduledEventAttributes;
    if (!scheduled) return [];
    const data = event.userMetadata?.summary?.data;
    return [
      {
        type: scheduled.activityType?.name ?? '',
        id: scheduled.activityId ?? '',
        summary: data ? String(JSON.parse(Buffer.from(data).toString())) : undefined,
      },
    ];
  });
}

/** Sizes in bytes of all payloads of a history, wherever in its events they are. */
export function payloadSizes(history: History): number[] {
  return (history.events ?? []).flatMap((event) => payloadsOf(event).map((data) => data.length));
}

/** For each workflow task: the bytes of the events that its commands made, markers of local activities too. */
export function workflowTaskSizes(history: History): number[] {
  const sizes = new Map<string, number>();
  for (const event of history.events ?? []) {
    const task = taskOf(event);
    if (task === undefined) continue;
    const bytes = payloadsOf(event).reduce((sum, data) => sum + data.length, 0);
    sizes.set(task, (sizes.get(task) ?? 0) + bytes);
  }
  return [...sizes.values()];
}

/** Everything that a history says, as text, to be searched: payloads, failures with their causes, names, identities. */
export function textOf(history: History): string {
  return (history.events ?? [])
    .flatMap((event) => [...valuesOf(event)])
    .map((value) => (typeof value === 'string' ? value : Buffer.from(value).toString()))
    .join('\n');
}

/** The workflow task whose commands made the event. */
function taskOf(event: Event): string | undefined {
  for (const [field, attributes] of Object.entries(event)) {
    if (!field.endsWith('EventAttributes') || typeof attributes !== 'object' || attributes === null) continue;
    const { workflowTaskCompletedEventId } = attributes as { workflowTaskCompletedEventId?: unknown };
    if (workflowTaskCompletedEventId) return String(workflowTaskCompletedEventId);
  }
  return undefined;
}

function payloadsOf(event: Event): Uint8Array[] {
  return [...valuesOf(event)].filter((value) => typeof value !== 'string');
}

/** The texts and the payloads' data below a message, whatever its fields are called; metadata is no content. */
function* valuesOf(value: unknown): Generator<string | Uint8Array> {
  if (typeof value === 'string') yield value;
  if (typeof value !== 'object' || value === null) return;
  if (isPayload(value)) {
    yield value.data;
  } else {
    for (const member of Object.values(value)) yield* valuesOf(member);
  }
}

function isPayload(value: object): value is { data: Uint8Array } {
  return 'metadata' in value && 'data' in value && value.data instanceof Uint8Array;
}
