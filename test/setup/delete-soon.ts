/**
 * Configuration of a Temporal server. It deletes a closed run once its queues have noted that its end was dealt with, which
 * they do twice a minute by default.
 */
export const DELETE_SOON: readonly string[] = ['transfer', 'visibility'].map(
  (queue) => `history.${queue}ProcessorUpdateAckInterval="100ms"`,
);
