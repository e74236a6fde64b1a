import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Embeddings } from '../../src/memory/embeddings.ts';
import { UserMemory } from '../../src/memory/user-memory.ts';
import type { Store } from '../../src/store/store.ts';
import { openEmptyStore } from '../setup/own-database.ts';
import { characterEmbeddings } from './character-embeddings.ts';
import { LABELLED, type LabelledMemories } from './labelled-memories.ts';

let store: Store;
beforeAll(async () => {
  store = await openEmptyStore();
});
afterAll(() => store.close());
