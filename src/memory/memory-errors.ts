import { codedError, HoldfastError } from '../contract/error.ts';

/** A failure of the memory. */
export class MemoryError extends HoldfastError {}

/** `addMemory` was given something that is no memory. The message names the field. */
export class InvalidMemory extends codedError('HOLDFAST_INVALID_MEMORY', MemoryError) {}

/** The app's own memory service threw, or its answer is of another type. */
export class MemoryServiceFailed extends codedError('HOLDFAST_MEMORY_SERVICE_FAILED', MemoryError) {}

/** `embed()` threw, or did not answer with one vector for each text. */
export class EmbeddingsFailed extends codedError('HOLDFAST_EMBEDDINGS_FAILED', MemoryError) {}
