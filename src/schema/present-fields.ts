/** A record without its fields that are null: that is how others write what isn't there. The record itself where it has none. */
export function presentFields<T extends object>(record: T): T {
  const fields = Object.entries(record);
  const present = fields.filter(([, value]) => value !== null);
  return present.length === fields.length ? record : (Object.fromEntries(present) as T);
}
