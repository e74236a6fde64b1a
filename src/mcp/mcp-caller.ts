import type { HoldfastApi } from '../client/holdfast-api.ts';
import type { ApprovalRow } from '../contract/requests.ts';

/** Who calls an MCP server: one user of one app. */
export interface McpCaller {
  /** With the caller's own rights. */
  api: HoldfastApi;
  app: string;
  userId: string;
  /** Whether the caller may answer this request, as far as that is known before. */
  decides(request: ApprovalRow): boolean;
  /** Ends all waiting: the server closes, and turns go on. */
  ending?: AbortSignal;
  /** The page that shows a request in a browser; undefined without one. */
  pageOf(requestId: string): string | undefined;
  /** The folder that commands name, which answer requests without a page. */
  folder?: string;
}
