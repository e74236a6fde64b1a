import type { Rows } from './row.ts';

/** Tools of other parties, and ours for them: servers and clients of MCP. */
export const OUTSIDE_TOOLS: Rows = {
  'web.page': [
    'adk-js: loadWebPage',
    'A page is the text that a person reads; a failure says its reason and whether it may pass.',
  ],
  'web.guard': ['adk-js: loadWebPage', 'Private addresses, and those without TLS, are not asked for pages.'],
  'web.hostile': [
    'holdfast',
    'A page that would take minutes to read is given up after seconds, and holds up nothing but other pages.',
  ],
  'web.search': [
    'holdfast',
    'A search asks any engine; Brave is one, whose answers are bounded and whose key is in no error.',
  ],
  'mcp.tools': [
    'adk-go: mcptoolset',
    'Tools of MCP servers are a toolset, connected when needed, gated by name and arguments.',
  ],
  'mcp.official': ['holdfast', 'The official servers work over standard input and output and over HTTP.'],
  'mcp.input': [
    'holdfast',
    'A server asks a person, and any worker goes on with the answer; wrong options are named.',
  ],
  'mcp.held': [
    'holdfast',
    'A question that a server of 2025 asks on the open connection is one of ours, and the answer of a person goes out on it.',
  ],
  'mcp.held.limit': [
    'holdfast',
    'Such a question is declined with the reason once its time is over, and takes no answer then.',
  ],
  'mcp.held.ends': ['holdfast', 'A call that ends takes its open question with it, and the server hears so.'],
  'mcp.held.forged': [
    'holdfast',
    'A signal opens no question for another call, and none that the store does not have.',
  ],
  'mcp.held.slots': [
    'holdfast',
    'A worker whose slots all hold questions declines them at their limit, and goes on.',
    'deep',
  ],
  'mcp.held.kill': [
    'holdfast',
    'A worker that is killed while such a question stands open leaves it to the next attempt: nobody is asked twice.',
  ],
  'mcp.tasks': [
    'holdfast',
    'A call that an MCP server makes a task is a job: called once, polled by any worker, answered by people, cancelled with its call.',
  ],
  'mcp.tasks.kill': [
    'holdfast',
    'A call of an MCP server that asks or is a task, begun by a worker that is killed, is finished by another one, and sent once.',
  ],
  'mcp.progress': [
    'holdfast',
    'Progress of a server is live text, and a call that is cancelled is cancelled at its server.',
  ],
  'mcp.gate': [
    'adk-go: mcptoolset',
    'A function of the tool’s name and arguments says which calls wait for an approval.',
  ],
  'mcp.pinned': ['holdfast', 'An approval is for the tool as its server described it then.'],
  'mcp.changes': ['holdfast', 'Tools appear and vanish while turns run.'],
  'mcp.hints': ['holdfast', 'Hints of a server tighten a policy, and loosen it only where they are trusted.'],
  'mcp.pool': ['holdfast', 'No two principals share a connection, and no connection stays.'],
  'mcp.processes': ['holdfast', 'No process of a server outlives its toolset.'],
  'mcp.leaks': [
    'holdfast',
    '100 connections to programs, and 100 over HTTP, leave no process, no pipe, no request and no socket.',
    'deep',
  ],
  'mcp.own': [
    'holdfast',
    'An agent calls agents and tools of another Holdfast by MCP: at once, as a task, and with its questions to people.',
    'deep',
  ],
  'mcp.kill': [
    'holdfast',
    'A server or a worker that is killed before, in or after a call costs its turn time: no effect happens twice, and a call that may have run says so.',
  ],
  'mcp.restart': ['holdfast', 'A server that was away is connected to again.'],
  'mcp.names': ['holdfast', 'Each tool of a server has a name that models take.'],
  'mcp.failures': ['holdfast', 'A call that may have run is repeated only where that does no harm.'],
  'mcp.conformance': [
    'holdfast',
    'The client passes the conformance suite of MCP, but for skills; its page names each scenario.',
    'deep',
  ],
  'mcp.hostile': ['holdfast', 'A server that hangs, floods or lies loses its own tools, and nothing else.'],
  'mcp.secrets': [
    'holdfast',
    'A known secret of a connection, in plain, as JSON or in an address, is in no answer, error, question, progress, task, list or log.',
  ],
  'mcp.oauth.connect': [
    'holdfast',
    'An MCP server that wants OAuth is connected by one tool: its user consents, a client is registered, and its tools are there.',
  ],
  'mcp.oauth.refused': [
    'holdfast',
    'Tokens that an MCP server takes no longer are renewed once; where they can’t be, the person is asked, and the call goes on.',
  ],
  'mcp.oauth.scopes': [
    'holdfast',
    'A call that an MCP server wants more scopes for has the person asked for them.',
  ],
  'mcp.oauth.lies': [
    'holdfast',
    'Metadata of an MCP server lead nobody into a private network, and are of no other resource.',
  ],
  'mcp.serve': ['holdfast', 'Agents and tools are tools of an MCP server; a repeated call is one turn.'],
  'mcp.resources': ['holdfast', 'Sessions and artifacts of a caller are resources.'],
  'mcp.people': ['holdfast', 'A gate asks the person of the MCP client, or names where it is decided.'],
  'mcp.task': ['holdfast', 'A long turn is a task, which is asked for, answered and cancelled.'],
  'mcp.access': ['holdfast', 'A caller by MCP may do what its key may do, for its own user.'],
  'mcp.stdio': ['holdfast', 'holdfast mcp serves a file of agents over standard input and output.'],
  'mcp.server.conformance': [
    'holdfast',
    'The server passes the conformance suite of MCP, for what it offers.',
    'deep',
  ],
  'toolagent.calls': ['holdfast', 'An agent without a model runs the call that its message names.'],
  'example.tickets': [
    'holdfast',
    'By one command an agent with an MCP server and an API asks before it pays back, and before it closes a ticket.',
    'deep',
  ],
};
