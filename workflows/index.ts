export { agentTurn } from './agent-turn.ts';
export { retainSessions } from './retain-sessions.ts';
export { toolJob } from './tool-job.ts';
