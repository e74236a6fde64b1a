/** An edit of a turn's tools, as the invocation's ledger keeps it. */
export type ToolEdit = { add: string; args: Record<string, unknown> } | { remove: string };
