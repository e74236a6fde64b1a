/** The part of a project that is its template's own. */
export interface TemplateAgent {
  /** Sources and documents, by path; `agents.ts` and `agents.test.ts` are among them. */
  files: Record<string, string>;
  /** Packages beside those of every project. */
  dependencies: Record<string, string>;
  /** Told in the README: the agents' files, and a question that the scripted words answer. */
  about: string;
}
