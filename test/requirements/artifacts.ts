import type { Rows } from './row.ts';

/** Artifacts: files that agents and users save under names, in versions. */
export const ARTIFACTS: Rows = {
  'artifact.service': ['adk-go: Context', 'Artifacts are saved, versioned, loaded and listed.'],
  'artifact.load': [
    'adk-go: loadartifactstool',
    'The model asks for artifacts and gets them with the next request.',
  ],
  'artifact.inputs': ['adk-js: saveInputBlobsAsArtifacts', 'Files of a message are kept as artifacts.'],
  'artifact.content': [
    'adk-js: BaseArtifactService',
    'Bytes, text and addresses are loaded as they were saved.',
  ],
  'artifact.scope': [
    'adk-js: AgentTool',
    'A name belongs to its session, or with `user:` to its user; agents that tools call share them.',
  ],
  'artifact.durable': ['holdfast', 'A retried call makes no second version, and a failed one none.'],
  'artifact.concurrent': ['adk-js: FileArtifactService', 'Concurrent saves of one name lose none.'],
  'artifact.kills': [
    'holdfast',
    'A worker that dies around a save loses no version, leaves no row without bytes, and no bytes for ever.',
  ],
  'artifact.stream': ['holdfast', 'Artifacts of many GiB go in and out without being in memory.', 'deep'],
  'artifact.delete': [
    'adk-js: deleteArtifact',
    'Deletion takes all versions along, and a deleted session its artifacts.',
  ],
  'artifact.fork': ['holdfast', 'A fork has the artifacts that its parent had at that place.'],
  'artifact.rewind': ['adk-python: rewind', 'After a rewind artifacts are what they were.'],
  'artifact.bytes': ['hector', 'Bytes are read as they were saved, whole or in ranges, a block at a time.'],
  'artifact.failures': [
    'holdfast',
    'A bucket that refuses, fails or is full is named, and leaves nothing half-written.',
  ],
  'artifact.checksum': ['hector', 'Bytes that have changed are an error with both checksums.'],
  'artifact.garbage': ['holdfast', 'Bytes that no version uses are removed.'],
  'artifact.clients': [
    'holdfast',
    'Artifacts are listed, read, saved and deleted through clients, HTTP and commands.',
  ],
  'artifact.own': [
    'adk-js: BaseArtifactService',
    'A service of the user’s own keeps the artifacts of an app.',
  ],
  'artifact.bucket': [
    'holdfast',
    'Large artifacts are kept in a bucket: a folder, S3 or Google Cloud Storage.',
  ],
  'spool.handle': [
    'adk tools page: artifact handles',
    'A large result is an artifact, of which the model gets a handle and a preview.',
  ],
  'spool.tools': [
    'adk tools page: SpooledArtifact.forgeTools',
    'Tools that query large results are there for the turn that has them.',
  ],
  'spool.types': ['adk tools page: artifacts', 'Large results are text, JSON, CSV, bytes or media.'],
  'spool.query': ['adk tools page: artifacts', 'Queries of large results answer in bounded time and size.'],
  'spool.jsonpath': ['holdfast', 'A JSONPath finds places of a large result, in bounded time.'],
  'spool.schema': ['holdfast', 'The shape of a large result is told.'],
  'spool.faults': ['holdfast', 'A result that can’t be kept is an error, and its tool is not run again.'],
  'spool.definition': [
    'adk tools page: artifactConstructor cycles',
    'Query tools whose own results are spooled are refused when the tool is made.',
  ],
  'trust.envelope': [
    'adk tools page: Trust on the tool',
    'Results of untrusted tools reach the model in an envelope that they can’t close.',
  ],
  'compaction.tokens': [
    'adk-js: contextCompactors',
    'Old events are summarised: requests of long turns stay small, and summaries are counted.',
  ],
  'compaction.flat': [
    'holdfast',
    'A session of 2,000 steps stays inside of a window, at a flat cost of a step.',
    'deep',
  ],
  'compaction.whole': ['holdfast', 'A compacted session keeps all its events.'],
  'compaction.once': ['holdfast', 'A step whose model fails has its summary made once.', 'deep'],
  'compaction.truncate': [
    'adk-js: TruncatingContextCompactor',
    'The oldest events are left out of requests.',
  ],
  'compaction.thoughts': [
    'adk-js: TrajectoryThoughtPruningCompactor',
    'Thoughts of older events are left out, and signatures of calls stay.',
  ],
  'compaction.agent': ['adk-js: ConsolidateContextTool', 'The model asks for a summary of what came before.'],
  'compaction.contents': [
    'holdfast',
    'A summary stands for the events up to one, and a rewind takes it back.',
  ],
  'compaction.pairs': [
    'holdfast',
    'A compaction parts no call from its response, and keeps calls that wait.',
  ],
  'state.schema': [
    'adk-js: stateSchema',
    'Tools, callbacks and events write only what the agent’s state schema declares.',
  ],
  'trust.media': ['adk tools page: Media.trustTier', 'Media are trusted by their tier alone.'],
};
