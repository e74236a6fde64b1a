/** Events that no rewind hides. */
export function visibleEvents<E extends { seq: number; hidesAfter?: number }>(events: readonly E[]): E[] {
  return events.filter(
    ({ seq }) =>
      !events.some(
        (marker) => marker.hidesAfter !== undefined && marker.hidesAfter < seq && seq <= marker.seq,
      ),
  );
}
