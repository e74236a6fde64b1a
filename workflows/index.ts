export { agentTurn } from './agent-turn.ts';
