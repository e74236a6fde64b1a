import type { Rows } from './row.ts';

/** The workspace of a session, and tools for its files. */
export const WORKSPACE: Rows = {
  'workspace.turns': [
    'holdfast',
    'Turns on any worker have the files that the last successful call has left; a failed call changes none.',
  ],
  'workspace.restore': ['holdfast', 'Files, modes and links are restored on another worker.'],
  'workspace.failed': ['holdfast', 'A use of the workspace that throws changes nothing.'],
  'workspace.kills': [
    'holdfast',
    'A worker that dies at any moment leaves no half-restored folder, and no call has its effect on files twice.',
  ],
  'workspace.model': ['holdfast', 'Random writes, edits and restores are those of a model in memory.'],
  'workspace.bounds': ['holdfast', 'More bytes, levels or odd names than a workspace takes are an error.'],
  'workspace.queue': ['holdfast', 'Uses of one session’s workspace on a machine wait for one another.'],
  'workspace.parallel': ['holdfast', 'A change that another worker has made meanwhile is never overwritten.'],
  'workspace.lost': [
    'holdfast',
    'Without snapshots the model is told once which files were lost with a worker.',
  ],
  'workspace.hostile': ['holdfast', 'A snapshot of somebody else writes nothing outside of the workspace.'],
  'workspace.paths': ['holdfast', 'No path, link or special file leads a file tool out of the workspace.'],
  'workspace.races': ['holdfast', 'Links that are swapped while file tools work lead them nowhere.'],
  'workspace.search': ['holdfast', 'Searches are bounded in results and time, and their patterns are data.'],
  'workspace.files': ['holdfast', 'Files are read by lines, and errors of an edit say where it may belong.'],
  'workspace.approval': ['holdfast', 'Writes wait for a person where the app says so.'],
};
