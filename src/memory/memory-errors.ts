import { codedError, HoldfastError } from '../contract/error.ts';

/** A failure of the memory. */
export class MemoryError extends HoldfastError {}

/** The value can't be kept as a memory: it has no text, or too much. */
export class InvalidMemory extends codedError('HOLDFAST_INVALID_MEMORY', MemoryError) {}

/** The app's own memory service threw, or its answer is of another type. */
export class MemoryServiceFailed extends codedError('HOLDFAST_MEMORY_SERVICE_FAILED', MemoryError) {}

/** The embedding function threw, or its answer has another shape. */
export class EmbeddingsFailed extends codedError('HOLDFAST_EMBEDDINGS_FAILED', MemoryError) {}
