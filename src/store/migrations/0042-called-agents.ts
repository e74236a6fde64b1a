/** Agents of one call are found without a look at all that were ever below the root. */
export const calledAgents = `
create index sessions_called on holdfast.sessions (caller_session, call_key) where caller_session is not null;
`;
