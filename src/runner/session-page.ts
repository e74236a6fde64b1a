import type { ListSessionsRequest, ListSessionsResponse } from './base-session-service.ts';

type Paging = Pick<ListSessionsRequest, 'limit' | 'offset' | 'page'>;

/** Where a page begins. Semantics: `listSessions` of `@google/adk` 2.0.0. */
export function pageOffset({ limit, offset = 0, page }: Paging): number {
  return page === undefined || limit === undefined ? offset : (page - 1) * limit;
}

/** What a page says of itself. */
export function pageNumbers(paging: Paging, totalItems: number): Omit<ListSessionsResponse, 'sessions'> {
  const { limit, page } = paging;
  if (limit === undefined) {
    return { page: 1, limit: totalItems, totalItems, totalPages: totalItems === 0 ? 0 : 1 };
  }
  return {
    page: page ?? (limit === 0 ? 1 : Math.floor(pageOffset(paging) / limit) + 1),
    limit,
    totalItems,
    totalPages: limit === 0 ? 0 : Math.ceil(totalItems / limit),
  };
}
