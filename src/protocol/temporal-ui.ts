/** Address of Temporal's UI, and the namespace that its pages show. */
export interface TemporalUi {
  uiUrl: string;
  namespace: string;
}

/** Page of a workflow's runs in Temporal's UI: of one run, or of the newest where none is given. */
export function workflowPage(ui: TemporalUi, workflowId: string, runId?: string): string {
  const page = `${workflowsPage(ui)}/${encodeURIComponent(workflowId)}`;
  return runId === undefined ? page : `${page}/${encodeURIComponent(runId)}/history`;
}

/** Page that lists workflows: all runs of one id, where one is given. */
export function workflowsPage({ uiUrl, namespace }: TemporalUi, workflowId?: string): string {
  const page = `${uiUrl}/namespaces/${encodeURIComponent(namespace)}/workflows`;
  if (workflowId === undefined) return page;
  return `${page}?query=${encodeURIComponent(`WorkflowId=${JSON.stringify(workflowId)}`)}`;
}
