import type { Rows } from './row.ts';

/** Nothing is lost, nothing counts twice. */
export const DURABILITY: Rows = {
  'store.postgres': [
    'holdfast',
    'A PostgreSQL by URL is a store: the same SQL and the same suite, also with PgBouncer.',
  ],
  'store.migrate': ['holdfast', 'Migrations are forward-only, and made once by workers that start together.'],
  'store.upgrade': [
    'holdfast',
    'The next release upgrades a store while workers of both run; both finish their turns on it.',
  ],
  'store.full': ['holdfast', 'A full disk is a clear error, and nothing is corrupt.', 'deep'],
  'session.create': ['adk-js: SessionService', 'A session is created once; a second of its name is refused.'],
  'session.get': [
    'adk-js: getSession',
    'A session is read whole, by its last events, or after a time; sessions of others never.',
  ],
  'session.list': ['adk-js: listSessions', 'The sessions of a user, or of an app, are listed.'],
  'session.delete': [
    'adk-js: deleteSession',
    'A deleted session leaves audit rows without content; refused while a turn runs.',
  ],
  'session.fork': ['holdfast', 'A fork reads what came before it and copies nothing.'],
  'session.rewind': [
    'adk-python: rewind_async',
    "Rewinding appends ADK's marker and hides what came from that invocation on.",
  ],
  'session.retry': [
    'holdfast',
    'A turn is retried from a call under new call keys; finished siblings keep their outcomes.',
  ],
  'session.retention': ['holdfast', 'Sessions are deleted by age where an app says so.'],
  'message.enqueue': ['holdfast', 'A message while a turn runs is queued, in order, within a bound.'],
  'message.interrupt': ['holdfast', 'A message can interrupt the turn that runs, or be refused.'],
  'message.acknowledged': [
    'holdfast',
    'An acknowledged message is answered once, also if its turn fails, is cancelled or terminated.',
  ],
  'message.offline': ['holdfast', 'A message is taken with no worker up, and says so.'],
  'message.large': [
    'holdfast',
    'A message over 64 KiB goes to the store first; a plain start over the limit is refused.',
  ],
  'message.python': ['temporal: SDKs', 'A turn is started from Python by the plain SDK.'],
  'message.unreadable': [
    'holdfast',
    'A message that no step can read is refused for every sender, and keeps no session busy.',
  ],
  'message.order.first': [
    'holdfast',
    'No update overtakes a message that a signal brought before it, at the begin of a run and of each that follows.',
  ],
  'payload.undecodable': [
    'holdfast',
    'A payload that a worker can’t decode is refused and noted, blocks no session, and stays refused in each replay.',
  ],
  'payload.hostile': [
    'holdfast',
    'Payloads of any encoding and bytes leave a session that answers and goes on.',
  ],
  'garbage.turn': [
    'holdfast',
    'A foreign answer to an activity blocks no turn: it ends with an error that names the activity, and its session goes on.',
  ],
  'garbage.workflow': [
    'holdfast',
    'Answers, decisions and turns that somebody else makes up fail a user’s own workflow with an error that names the activity.',
  ],
  'garbage.genuine': [
    'holdfast',
    'Results of activities of any release pass: only a result at which a workflow would throw is refused.',
  ],
  'garbage.told': ['holdfast', 'A refused result is told by its field and its shape, never by its value.'],
  'time.store': [
    'holdfast',
    'The store’s clock decides deadlines, ages and expiries, not the clocks of workers and gateways.',
  ],
  'tests.expiry': [
    'holdfast',
    'Time passes by an order in test environments alone, and a malformed one expires nothing.',
  ],
  'message.follow': ['adk-python: #4029', 'Events are followed from a seq; a dropped follower ends no turn.'],
  'resume.days': [
    'adk-python: #192',
    'A turn goes on after days, deploys and restarts, without a new message.',
    'deep',
  ],
  'steer.cancelCall': ['hector: CancellableTool', 'One call is cancelled while the turn goes on.'],
  'steer.interrupt': ['holdfast', 'A turn is stopped politely.'],
  'steer.reset': ['temporal: reset', 'A reset re-reads recorded outcomes and repeats no effects.'],
  'app.settings': ['adk-js: App', 'An app brings its agents, plugins and durable settings.'],
  'app.agents': [
    'holdfast',
    'An agent of an App runs in sessions of apps whose root agent it is below, and nowhere else, for every sender.',
  ],
  'budget.limits': [
    'holdfast',
    'A turn or session that has used up calls, tokens, cost or time fails, its events kept.',
  ],
  'turn.continueAsNew': [
    'temporal: continue-as-new',
    'A long turn continues as new between steps and loses nothing.',
  ],
  'store.crash': [
    'holdfast',
    'A crash of the database server loses no record and no first beginning of a call that must not run twice; its turn completes.',
  ],
  'store.restored': ['holdfast', 'A store that was restored from a backup stops its turns visibly.'],
  'upgrade.versions': [
    'temporal: versioning',
    'Everything that crosses Temporal carries its version, and every version since 1.0 is read.',
  ],
  'upgrade.patched': [
    'temporal: patching',
    'A release that guards its changes of workflow code by patched() replays the histories of the release before.',
  ],
  'upgrade.notDeployed': [
    'holdfast',
    'A worker without the agent or tool leaves the task to others for a minute.',
  ],
  'upgrade.changedTool': ['holdfast', 'A pending call whose tool changed is an answer that says so.'],
  'worker.options': [
    'temporal: workers',
    'Data converter, interceptors, plugins, tuner, identity and logger are passed through.',
  ],
  'worker.codec': [
    'temporal: data converter',
    'With a codec no secret is in the database, logs or traces of Temporal.',
  ],
  'worker.shutdown': ['temporal: workers', 'A worker that shuts down lets its activities finish.'],
  'worker.fullDisk': [
    'holdfast',
    'A log file that cannot be written ends nothing that runs: it is said once.',
  ],
  'worker.logs': ['holdfast', 'Logs are structured: app, session, invocation, call key.'],
  'client.invalid': [
    'holdfast',
    'A client refuses what names no session, no call or no message, and says why.',
  ],
  'cli.queued': [
    'holdfast',
    'The command waits for its message where a session answers another one.',
    'deep',
  ],
  'worker.memory': [
    'holdfast',
    'The heap of a worker holds no more after many turns than after few.',
    'deep',
  ],
  'crash.soak': [
    'holdfast',
    '200 kills of worker, server and store over 100 turns: nothing lost, nothing doubled.',
  ],
};
