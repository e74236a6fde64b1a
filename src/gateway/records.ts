import type { PageStore } from '../store/page-store.ts';

/** What a gateway keeps in the store itself, beside what its client does there. */
export interface GatewayRecords extends PageStore {}
