import type { CredentialStore } from '../store/credentials/credential-store.ts';
import type { KeyStore } from '../store/keys/key-store.ts';
import type { MessageStore } from '../store/messages/message-store.ts';
import type { NoticeStore } from '../store/notices/notice-store.ts';
import type { Store } from '../store/store.ts';
import type { TurnStore } from '../store/turns/turn-store.ts';

type ChannelOperations = 'keepThread' | 'findThread' | 'takeDelivery' | 'answerDelivery' | 'releaseDelivery';

/** The facets of the store that the gateway uses itself. */
export interface GatewayRecords extends Pick<Store, 'now'> {
  readonly credentials: CredentialStore;
  readonly keys: Omit<KeyStore, 'create' | 'list' | 'rotate' | 'revoke' | 'listDenials'>;
  readonly messages: Pick<MessageStore, ChannelOperations>;
  readonly notices: Pick<NoticeStore, 'findNote' | 'noteOf'>;
  readonly turns: Pick<TurnStore, 'findClientCalls'>;
}
