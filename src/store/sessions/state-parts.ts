type Values = Record<string, unknown>;
type Entries = [key: string, value: unknown][];

/** State as the store's statements return it: what each scope holds, keys with their prefixes. */
export type StateParts = [session: Values, app: Entries, user: Entries, temporary: Values | null];

export function stateOf([session, app, user, temporary]: StateParts): Values {
  const shared = app.length + user.length === 0 ? {} : Object.fromEntries([...app, ...user]);
  return { ...session, ...shared, ...temporary };
}
