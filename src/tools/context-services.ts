import type { Content } from '../events/content.ts';
import { ToolError } from './tool-error.ts';

/** A memory of an earlier session. Fields: `MemoryEntry` of `@google/adk` 2.0.0. */
export interface MemoryEntry {
  content: Content;
  /** `user`, `model`, or the name of an agent. */
  author?: string;
  /** When it was said, ISO 8601. */
  timestamp?: string;
}

/** The result of a search of the memory. Fields: `SearchMemoryResponse` of `@google/adk` 2.0.0. */
export interface SearchMemoryResponse {
  memories: MemoryEntry[];
}

/** A context was asked for something that a service keeps, and there is none. Messages: those of `@google/adk` 2.0.0. */
export class ServiceMissing extends ToolError {
  override readonly name = 'ServiceMissing';

  constructor(service: 'Artifact' | 'Memory') {
    super(`${service} service is not initialized.`, { code: 'HOLDFAST_SERVICE_MISSING', retryable: false });
  }
}
