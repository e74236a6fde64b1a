/** What a session is called: unique in a store. */
export interface SessionNames {
  app: string;
  userId: string;
  sessionId: string;
}
