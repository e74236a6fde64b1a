import { Client, type ClientOptions } from '@temporalio/client';
import { ArtifactBytes, type ArtifactBytesOptions } from '../artifacts/artifact-bytes.ts';
import {
  type CredentialKeys,
  credentialKeysOf,
  credentialKeysOfVariables,
  type GivenCredentialKeys,
} from '../credentials/credential-keys.ts';
import { setVariables } from '../environment.ts';
import { DEFAULT_TASK_QUEUE } from '../protocol/names.ts';
import type { Store } from '../store/store.ts';

/** Options of a Temporal `Client`; see `ClientOptions` of `@temporalio/client`. */
export type TemporalOptions = Required<Pick<ClientOptions, 'connection'>> &
  Pick<ClientOptions, 'namespace' | 'dataConverter' | 'interceptors' | 'plugins' | 'identity'>;

/** Options of {@link HoldfastClient}. */
export interface HoldfastClientOptions {
  /**
   * A client of Temporal, or its options: `connection`, and if needed `namespace` (defaults to
   * `default`), `dataConverter`, `interceptors`, `plugins`, `identity` (defaults to `<pid>@<host>`). A data converter must be
   * the workers', too.
   */
  temporal: Client | TemporalOptions;
  /**
   * The workers' store. With it messages may be of any size, events are followed, sessions are managed, requests are decided, and a queued
   * message's result is there as soon as its own turn has ended. Without it messages are sent and results awaited.
   */
  store?: Store;
  /** Defaults to `holdfast`. */
  taskQueue?: string;
  /** Labels turns with Holdfast's search attributes, which the server must know. Defaults to false. */
  searchAttributes?: boolean;
  /**
   * Keys that credentials are encrypted with, the workers': `{ '<id>': '<base64 of 32 bytes>' }`, the first of which encrypts.
   * Defaults to those of the environment variable `HOLDFAST_CREDENTIAL_KEYS`; without any no credential can be stored.
   */
  credentialKeys?: GivenCredentialKeys;
  /** Place of the bytes of artifacts, as the workers have it. @default the bucket of HOLDFAST_ARTIFACTS */
  artifacts?: ArtifactBytesOptions;
}

/** Dependencies that the parts of the client share. */
export interface ClientContext {
  temporal: Client;
  store: Store | undefined;
  taskQueue: string;
  searchAttributes: boolean;
  credentialKeys: CredentialKeys | undefined;
  /** Undefined without a store. */
  artifacts: ArtifactBytes | undefined;
}

export function contextOf(options: HoldfastClientOptions): ClientContext {
  const {
    temporal,
    store,
    taskQueue = DEFAULT_TASK_QUEUE,
    searchAttributes = false,
    credentialKeys,
    artifacts,
  } = options;
  return {
    temporal: isClient(temporal) ? temporal : new Client(temporal),
    store,
    taskQueue,
    searchAttributes,
    credentialKeys:
      credentialKeys === undefined
        ? credentialKeysOfVariables(setVariables())
        : credentialKeysOf(credentialKeys),
    artifacts: store && ArtifactBytes.of(store.blobs, artifacts),
  };
}

/** A program may hold two copies of Temporal's package, whose classes are not each other's. */
function isClient(temporal: Client | TemporalOptions): temporal is Client {
  return temporal instanceof Client || 'workflowService' in temporal;
}
