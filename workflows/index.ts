export { agentTurn } from './agent-turn.ts';
export { retainSessions } from './retain-sessions.ts';
