export { toolJob } from './jobs/tool-job.ts';
export { deliverNotice } from './notices/notices.ts';
export { rememberSession } from './remember-session.ts';
export { retainSessions } from './retain-sessions.ts';
export { agentTurn } from './turn/agent-turn.ts';
