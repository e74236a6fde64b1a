import type { Rows } from './row.ts';

/** What later releases bring: no test shows it yet. */
export const PLANNED: Rows = {
  'tools.search': ['hector: searchtool', 'A tool searches documents.'],
  'skills.toolset': ['adk-js: SkillToolset', 'Skills are listed and loaded by tools.'],
  'agent.modes': ['adk-python: task mode', 'A sub-agent runs a task or a single turn and reports its end.'],
  'server.adk': ['adk-js: REST server', "ADK's own clients and web UI are served."],
  'server.a2a': ['hector: A2A', 'Agents are spoken to, and speak, by A2A.'],
  'evaluation.sets': ['adk-python: evaluation', 'Agents are evaluated by sets and metrics.'],
};
