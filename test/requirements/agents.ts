import type { Rows } from './row.ts';

/** Many agents: child workflows, workflow agents, transfer. */
export const AGENTS: Rows = {
  'agentTool.run': [
    'agent_tool.go: Run',
    'An agent is a tool: a child workflow whose last text is the result.',
  ],
  'agentTool.schema': [
    'agent_tool.go: Declaration',
    'Input and output schemas are checked; without one the input is `request`.',
  ],
  'agentTool.state': [
    'agent_tool.go: Session Management',
    "The parent's state is copied without reserved keys, and the child's delta comes back.",
  ],
  'agentTool.skip': ['agent_tool.go: skipSummarization', 'An agent tool can skip the summary.'],
  'agentTool.errors': ['adk-go: agenttool', "An error of the child is told with ADK's text."],
  'agentTool.gates': ['adk-python: #7245', 'A request inside an agent tool waits and is not swallowed.'],
  'mode.tool': [
    'adk-python: mode',
    'A sub-agent with a mode is a tool of its parent; no turn is transferred to it, nor by it.',
  ],
  'mode.singleTurn': ['adk-python: mode', 'An agent of a single turn is told so, and answers once.'],
  'mode.task': [
    'adk-python: mode',
    'A task ends by `finish_task` alone, whose checked arguments are its result.',
  ],
  'mode.task.asks': [
    'adk-python: mode',
    'A task that speaks without `finish_task` asks a person by a request, and goes on with the answer.',
  ],
  'mode.finishTask': [
    'adk-js: FinishTaskTool',
    '`finish_task` takes what its schema asks for, and is the name of no other tool of a task.',
  ],
  'plan.state': ['holdfast', 'A plan is in the state under its agent, bounded.'],
  'plan.shown': [
    'holdfast',
    'Terminals show a plan when it changes, and the page of a request shows it to who may read the session.',
  ],
  'agent.routed': [
    'adk-js: RoutedAgent',
    'A routed agent falls back where an agent failed before it said anything; each choice is recorded first.',
  ],
  'agent.routed.definition': ['adk-js: RoutedAgent', 'Routes are named by their keys, checked, and cloned.'],
  'flow.sequential': [
    'adk-js: SequentialAgent',
    'Agents run one after another and see the state of those before.',
  ],
  'flow.parallel': ['adk-js: ParallelAgent', 'Agents run at once on branches of their own.'],
  'flow.parallel.state': ['adk-python: #1153', 'Deltas of parallel agents are not lost.'],
  'flow.loop': ['adk-js: LoopAgent', 'Agents repeat until one escalates or the iterations are used up.'],
  'flow.resume': [
    'adk-python: #3184',
    'A request in a step pauses that step only, and the next agent is reached.',
  ],
  'flow.temp': ['adk-python: #4564', '`temp:` state crosses the steps of an invocation.'],
  'flow.custom': ['adk-js: BaseAgent', 'Own agents decide what runs next, durably.'],
  'flow.empty': ['adk-js', 'Agents that have nobody to run end at once.'],
  'agent.change': ['adk-js', 'An agent can be changed until a worker takes it, and is checked then.'],
  'flow.ownRequest': ['adk-js', 'A response to a request of own code goes to the agent that has yielded it.'],
  'flow.partial': ['adk-js: Event.partial', 'Partial events of own agents are told and not stored.'],
  'flow.workflow': ['holdfast', 'Own workflows run agents, ask people and start jobs.'],
  'flow.workflow.busy': [
    'holdfast',
    'A message of an own workflow waits for its turn in a busy session, and is withdrawn with its scope.',
    'deep',
  ],
  'flow.workflow.cancel': [
    'holdfast',
    'A turn, a question and a job end with the scope that waits for them.',
  ],
  'flow.workflow.bundle': [
    'holdfast',
    'Imports of own workflows bundle for the sandbox, stay small, and replay.',
    'deep',
  ],
  'transfer.to': [
    'adk-go: transfer_to_agent',
    'The acting agent changes to children, parent or peers as allowed.',
  ],
  'transfer.unknown': ['adk-rs: dispatch loop', 'An unknown target is an answer.'],
  'transfer.next': [
    'adk-js: agent chosen on resume',
    'The next message goes to the agent that answered, or that asked.',
  ],
  'tree.requests': [
    'adk-python: #3649',
    'Requests of any depth are listed under the root and answered at their owner.',
  ],
  'tree.cancel': ['temporal: child workflows', 'Cancel and interrupt go down the tree.'],
  'tree.budget': ['holdfast', 'Usage adds up; a child gets at most what is left.'],
  'tree.events': ['holdfast', 'Followers of the root see the events of its agent tools.'],
  'example.research': [
    'holdfast',
    'Offline, by one command, a tree of agents researches, criticises, asks and publishes.',
    'deep',
  ],
};
