export { agentTurn } from './agent-turn.ts';
export { deliverNotice } from './deliver-notice.ts';
export { retainSessions } from './retain-sessions.ts';
export { toolJob } from './tool-job.ts';
