/** The message of a thrown error; of anything else that was thrown its text. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
