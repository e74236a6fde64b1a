import type { ContextArtifacts } from '../artifacts/context-artifacts.ts';
import type { BaseMemoryService } from '../memory/base-memory-service.ts';
import type { ContextCorpora } from '../memory/corpus-search.ts';
import type { ContextMemory } from '../memory/user-memory.ts';
import type { OAuthProvider } from '../oauth/oauth-provider.ts';
import type { OpenCredentials } from './call-questions.ts';
import { ToolError } from './tool-error.ts';

/** Services of a context. One that is left out is not there. */
export interface ContextServices {
  artifacts?: ContextArtifacts;
  memory?: ContextMemory;
  /** The same memory, by the methods of ADK's service. */
  memoryService?: BaseMemoryService;
  corpora?: ContextCorpora;
  /** The user's credentials, for toolsets of ours that list with one. */
  credentials?: OpenCredentials & {
    /** Keeps where people consent. @throws CredentialKeyMissing */
    keep(credentialKey: string, provider: OAuthProvider): Promise<void>;
  };
}

/** A context was asked for something that a service keeps, and there is none. Messages: those of `@google/adk` 2.0.0. */
export class ServiceMissing extends ToolError {
  override readonly name = 'ServiceMissing';

  constructor(service: 'Artifact' | 'Memory' | 'Corpus') {
    super(`${service} service is not initialized.`, { code: 'HOLDFAST_SERVICE_MISSING', retryable: false });
  }
}

/** @throws ServiceMissing */
export function serviceOf<T>(service: T | undefined, name: 'Artifact' | 'Memory' | 'Corpus'): T {
  if (service === undefined) throw new ServiceMissing(name);
  return service;
}
