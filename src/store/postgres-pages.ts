import type { Database } from './engine/database.ts';
import type { PageStore, SignIn, UsedLink } from './keys/page-store.ts';
import {
  endSignIn,
  findSignIns,
  findUsedLink,
  giveLinkBack,
  openSignIn,
  takeLink,
  useLink,
} from './keys/pages.ts';
import type { Notices } from './live/notices.ts';
import { PostgresChildren } from './postgres-children.ts';

/** What the store knows of pages for people. */
export class PostgresPages extends PostgresChildren implements PageStore {
  readonly #database: Database;

  constructor(database: Database, notices: Notices) {
    super(database, notices);
    this.#database = database;
  }

  takeLink(take: Parameters<PageStore['takeLink']>[0]): Promise<UsedLink | undefined> {
    return takeLink(this.#database, take);
  }

  useLink(use: Parameters<PageStore['useLink']>[0]): Promise<void> {
    return useLink(this.#database, use);
  }

  giveLinkBack(give: Parameters<PageStore['giveLinkBack']>[0]): Promise<void> {
    return giveLinkBack(this.#database, give);
  }

  findUsedLink(id: string): Promise<UsedLink | undefined> {
    return findUsedLink(this.#database, id);
  }

  openSignIn(signIn: Parameters<PageStore['openSignIn']>[0]): Promise<void> {
    return openSignIn(this.#database, signIn);
  }

  findSignIns(tokenHashes: readonly Uint8Array[]): Promise<SignIn[]> {
    return findSignIns(this.#database, tokenHashes);
  }

  endSignIn(tokenHash: Uint8Array): Promise<void> {
    return endSignIn(this.#database, tokenHash);
  }
}
