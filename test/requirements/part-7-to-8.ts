import type { Rows } from './row.ts';

/** Many agents: child workflows, workflow agents, transfer. */
export const PART_7: Rows = {
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
  'flow.workflow': ['holdfast', 'Own workflows run agents, ask people and start jobs.'],
  'flow.workflow.busy': [
    'holdfast',
    'A message of an own workflow waits for its turn in a busy session, and is withdrawn with its scope.',
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

/** Channels: gateway with authentication, links, inbox, webhooks, Slack. */
export const PART_8: Rows = {
  'auth.keys': ['holdfast', 'API keys with scopes are hashed, shown once and rotated.'],
  'auth.oidc': ['holdfast', 'Tokens of issuers are verified; the user comes from the principal.'],
  'auth.roles': ['holdfast', 'Run, read, approve and operate are granted per app; others see nothing.'],
  'auth.network': [
    'holdfast',
    'A gateway is reached by its own names only, and by no page of another origin; beyond loopback each caller authenticates.',
  ],
  'auth.limits': ['holdfast', 'Callers have limits of their own, and strangers lock nobody out.'],
  'auth.denials': ['holdfast', 'Refusals are noted for 30 days, and a storm of them writes little.'],
  'auth.config': [
    'holdfast',
    'The export `gateway` of a file configures the gateway, wherever it is served.',
  ],
  'gateway.answers': [
    'holdfast',
    'A message decides only if its sender may approve, and ends jobs only if its sender may operate.',
  ],
  'gateway.shown': ['holdfast', 'A decision is about the request that was shown, or refused.'],
  'gateway.approvals': ['holdfast', 'Approvals, inputs and jobs are listed and decided over HTTP.'],
  'link.once': ['holdfast', 'A signed link decides once, by POST, for one approver.'],
  'link.signed': ['holdfast', 'A link names one request and one person, and lives a week at most.'],
  'link.forged': [
    'holdfast',
    'Forged, expired, foreign and truncated links are one page, which tells nothing.',
  ],
  'link.page': ['holdfast', 'A page shows all that somebody decides by, and nothing of it acts or deceives.'],
  'link.edit': [
    'holdfast',
    'Arguments are edited field by field, and the change is shown before it is sent.',
  ],
  'link.csrf': ['holdfast', 'Only the page itself, in the browser that it was shown in, decides.'],
  'link.amount': ['holdfast', 'Arguments are shown as they run; a number of cents has its amount beside it.'],
  'inbox.reach': ['holdfast', 'On a phone Approve and Reject stay in view, and cover nothing.'],
  'inbox.session': ['holdfast', 'Somebody is signed in for 12 hours, or an hour after the last request.'],
  'inbox.access': [
    'holdfast',
    'The inbox shows what its key may see, and lets it decide what it may decide.',
  ],
  'inbox.shown': ['holdfast', 'An answer is to what its page has shown, and to nothing that has come since.'],
  'inbox.credential': ['holdfast', 'A credential whose answer is refused leaves what the user had before.'],
  'inbox.guessed': ['holdfast', 'Made-up cookies cost the store little; a key has 20 sign-ins at most.'],
  'inbox.denials': ['holdfast', 'Refusals of pages are in the audit of denials, without tokens and keys.'],
  'inbox.jobs': ['holdfast', 'The inbox has jobs that run, and those that have ended.'],
  'inbox.temporal': ['holdfast', 'Links of the inbox lead to the run in Temporal’s UI that they are about.'],
  'inbox.pages': ['holdfast', 'A person sees what waits for them, without script, by keyboard and phone.'],
  'notice.ended': [
    'holdfast',
    'A receiver that was told of a request is told of its end, never before, and keeps notes to know it again.',
  ],
  'notice.outlives': [
    'holdfast',
    'A notice that a notifier could not take is tried again beside its turn, which waits ten seconds at most.',
  ],
  'notice.dead': [
    'holdfast',
    'A notice that could not be told in time is listed as a dead letter, and can be sent again.',
  ],
  'notice.forged': [
    'holdfast',
    'A made-up workflow of notices tells people of no other app’s requests, and of nothing that has not happened.',
  ],
  'webhook.out': ['holdfast', 'Events are delivered as Standard Webhooks, with back-off and dead letters.'],
  'webhook.in': ['holdfast', 'Verified webhooks confirm, complete jobs or start turns.'],
  'webhook.signatures': [
    'holdfast',
    'Signatures are those of Standard Webhooks and of Slack; forged, stale and doubled ones count for nothing.',
  ],
  'webhook.ssrf': ['holdfast', 'No delivery reaches an inner address.'],
  'process.uncaught': [
    'holdfast',
    'No error of a socket, server, child process, file, listener or timer of ours ends the process.',
  ],
  'slack.approve': ['holdfast', 'People approve, reject and edit in Slack, and see the outcome.'],
  'slack.verify': ['holdfast', 'Only Slack, and only mapped people, decide in Slack.'],
  'slack.message': [
    'holdfast',
    'A message shows what somebody decides by within Slack’s limits, and nothing of a model’s in it is markup or hidden.',
  ],
  'slack.quorum': [
    'holdfast',
    'Several of Slack’s users make a quorum, and one of them no more than one vote.',
  ],
  'slack.ended': ['holdfast', 'A message shows its request’s end, decided in any channel.'],
  'slack.shown': ['holdfast', 'A click in Slack is about what its message has shown, and nothing else.'],
  'slack.replay': ['holdfast', 'A request of Slack counts once, however often it comes.'],
  'slack.once': ['holdfast', 'A message is posted once, also where Slack is slow, or its answer is lost.'],
  'slack.outage': [
    'holdfast',
    'Slack is answered in time also during outages, and missed work of Slack or a worker is done later.',
  ],
  'slack.closing': [
    'holdfast',
    'A gateway that closes finishes the work that it has acknowledged to Slack; other requests are told to come again.',
  ],
  'slack.thread': [
    'holdfast',
    'A thread is a session for questions, answers and decisions, and no client can forge one.',
  ],
  'slack.secret': ['holdfast', 'No secret is in what is posted and logged.'],
  'slack.options': ['holdfast', 'Wrong options of Slack are named, and their values are not.'],
  'channel.attested': [
    'holdfast',
    'Workers trust the gateway with their keys about deciders and senders, and no other issuer unless it is listed.',
  ],
  'channel.race': ['holdfast', 'A decision that races over two channels counts once.'],
};

export const LATER: Rows = {
  'artifact.service': ['adk-go: Context', 'Artifacts are saved, versioned, loaded and listed.'],
  'artifact.load': [
    'adk-go: loadartifactstool',
    'The model asks for artifacts and gets them with the next request.',
  ],
  'artifact.inputs': ['adk-js: saveInputBlobsAsArtifacts', 'Files of a message are kept as artifacts.'],
  'memory.service': ['adk-go: SearchMemory', 'Sessions are remembered and searched.'],
  'memory.load': ['adk-go: loadmemorytool', '`load_memory` searches on the demand of the model.'],
  'memory.preload': ['adk-go: preloadmemorytool', 'Memory of the question is put into the request.'],
  'mcp.tools': [
    'adk-go: mcptoolset',
    'Tools of MCP servers are a toolset, connected when needed, gated by name and arguments.',
  ],
  'openapi.tools': ['adk-rs: Where tools come from', 'Each operation of an OpenAPI document is a tool.'],
  'tools.search': ['hector: searchtool', 'A tool searches documents.'],
  'tools.command': ['hector: commandtool', 'Commands run within a policy, streamed and cancellable.'],
  'skills.toolset': ['adk-js: SkillToolset', 'Skills are listed and loaded by tools.'],
  'agent.modes': ['adk-python: task mode', 'A sub-agent runs a task or a single turn and reports its end.'],
  'session.compaction': [
    'adk-python: #4740',
    'Old events are summarised in the request, pending calls never.',
  ],
  'credential.oauth': ['adk-rs: Auth', 'A credential is fetched by OAuth.'],
  'server.adk': ['adk-js: REST server', "ADK's own clients and web UI are served."],
  'server.a2a': ['hector: A2A', 'Agents are spoken to, and speak, by A2A.'],
  'evaluation.sets': ['adk-python: evaluation', 'Agents are evaluated by sets and metrics.'],
};
