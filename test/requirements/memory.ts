import type { Rows } from './row.ts';

/** Memory: what is known of users beyond a session. */
export const MEMORY: Rows = {
  'memory.service': ['adk-go: SearchMemory', 'Sessions are remembered and searched.'],
  'memory.load': ['adk-go: loadmemorytool', '`load_memory` searches on the demand of the model.'],
  'memory.preload': ['adk-go: preloadmemorytool', 'Memory of the question is put into the request.'],
  'memory.scope': ['holdfast', 'Nobody finds memories of another user or another app.'],
  'memory.options': ['holdfast', 'An app says whether and which events are remembered.'],
  'memory.add': ['adk-python: add_memory', 'Tools add memories, each once over all attempts of the call.'],
  'memory.lifecycle': [
    'holdfast',
    'Memories go with their session, and with events that a rewind hides; forks repeat none.',
  ],
  'memory.crash': ['holdfast', 'A session is remembered although a worker dies, each event once.'],
  'memory.outage': ['holdfast', 'A store that is away while a request is built is no failure of user code.'],
  'memory.retention': ['holdfast', 'Retention takes memories that were added by themselves along.'],
  'memory.retrieval': ['holdfast', 'Memories that answer a question are found, in five scripts.'],
  'memory.scripts': ['adk-js: InMemoryMemoryService', 'Words of all scripts are found, whatever their form.'],
  'memory.passages': ['holdfast', 'Long texts are remembered in passages, up to about a million characters.'],
  'memory.embeddings': [
    'holdfast',
    'Memories are found by their meaning; embeddings that fail leave the words, and nothing half-written.',
  ],
  'memory.conceal': [
    'holdfast',
    'With concealed texts no message of a provider about memories reaches Temporal.',
  ],
  'memory.gemini': ['gemini: embeddings', 'Gemini embeds documents and queries.'],
  'memory.inMemory': ['adk-js: InMemoryMemoryService', 'A memory service for tests and programs.'],
  'memory.ownService': [
    'adk-js: BaseMemoryService',
    'A memory service of the app’s own works, and its errors are named.',
  ],
  'memory.input': ['holdfast', 'Memories that are none are refused by the name of the field.'],
  'memory.clients': [
    'holdfast',
    'Memories are listed, added and deleted by clients, over HTTP and by commands.',
  ],
};
