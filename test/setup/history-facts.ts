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

/** Sizes in bytes of the payloads that workflow commands and activity results put into a history. */
export function payloadSizes(history: History): number[] {
  return (history.events ?? []).flatMap((event) => payloadsOf(event).map((data) => data.length));
}

/** For each workflow task: the bytes of the events that its commands made. */
export function workflowTaskSizes(history: History): number[] {
  const sizes = new Map<string, number>();
  for (const event of history.events ?? []) {
    const task = String(event.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId ?? '');
    if (task === '') continue;
    const bytes = payloadsOf(event).reduce((sum, data) => sum + data.length, 0);
    sizes.set(task, (sizes.get(task) ?? 0) + bytes);
  }
  return [...sizes.values()];
}

/** Everything that a history says, as text, to be searched. */
export function textOf(history: History): string {
  return (history.events ?? [])
    .flatMap((event) => [
      ...payloadsOf(event).map((data) => Buffer.from(data).toString()),
      event.activityTaskFailedEventAttributes?.failure?.message ?? '',
      event.activityTaskStartedEventAttributes?.lastFailure?.message ?? '',
      event.activityTaskStartedEventAttributes?.lastFailure?.stackTrace ?? '',
      event.workflowExecutionFailedEventAttributes?.failure?.message ?? '',
    ])
    .join('\n');
}

function payloadsOf(event: Event): Uint8Array[] {
  const payloads = [
    ...(event.workflowExecutionStartedEventAttributes?.input?.payloads ?? []),
    ...(event.activityTaskScheduledEventAttributes?.input?.payloads ?? []),
    ...(event.activityTaskCompletedEventAttributes?.result?.payloads ?? []),
    ...(event.workflowExecutionCompletedEventAttributes?.result?.payloads ?? []),
    ...(event.workflowExecutionFailedEventAttributes?.failure?.applicationFailureInfo?.details?.payloads ??
      []),
    ...(event.userMetadata?.summary ? [event.userMetadata.summary] : []),
  ];
  return payloads.flatMap(({ data }) => (data ? [data] : []));
}
