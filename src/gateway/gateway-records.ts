import type { PageStore } from '../store/keys/page-store.ts';
import type { SlackStore } from '../store/messages/slack-store.ts';
import type { WebhookStore } from '../store/messages/webhook-store.ts';
import type { Store } from '../store/store.ts';

/** Of those that people give. */
type CredentialWays =
  | 'putCredential'
  | 'swapCredential'
  | 'findCredential'
  | 'listCredentials'
  | 'removeCredential';

/** What of the store the gateway itself needs; a store has all of it. */
export type GatewayRecords = Pick<
  Store,
  | 'now'
  | 'findApiKeys'
  | 'findClientCalls'
  | 'touchApiKey'
  | 'noteDenials'
  | keyof PageStore
  | 'findNote'
  | 'noteOf'
  | CredentialWays
  | keyof SlackStore
  | keyof WebhookStore
>;
