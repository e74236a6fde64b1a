import type { ApprovalRow } from '../../store/approvals/approval-store.ts';
import type { AuditRow } from '../../store/sessions/session-store.ts';
import type { Store } from '../../store/store.ts';

const MASK = '(sensitive)';

/** A request as people and programs may see it: what is sensitive is shown to nobody. */
export function shownRequest(row: ApprovalRow): ApprovalRow {
  const { args, editedArgs, sensitive } = row;
  if (sensitive === false || (Array.isArray(sensitive) && sensitive.length === 0)) return row;
  const isHidden = (name: string) => isSensitive(row, name);
  const masked = (values: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, isHidden(name) ? MASK : value]));
  return {
    ...row,
    args: masked(args),
    ...(editedArgs === undefined ? {} : { editedArgs: masked(editedArgs) }),
    ...(row.response === undefined || !isConcealed(row) ? {} : { response: MASK }),
  };
}

/** Whether what answers it is sensitive: the answer to a question that a tool asks is its result. */
export function isConcealed(row: Pick<ApprovalRow, 'sensitive'>): boolean {
  return isSensitive(row, 'result');
}

/** The audit of a session, by the store's id of it, as {@link shownRequest} shows its requests; the store masks arguments itself. */
export async function shownAudit(
  store: Pick<Store, 'sessions' | 'approvals'>,
  session: string,
): Promise<AuditRow[]> {
  const rows = await store.sessions.readAudit(session);
  return await Promise.all(
    rows.map(async (row) => {
      const { requestId } = row.facts;
      if (row.content === undefined || !('response' in row.content)) return row;
      const request =
        typeof requestId === 'string' ? await store.approvals.findRequest(session, requestId) : undefined;
      return shownAuditRow(row, request);
    }),
  );
}

function shownAuditRow(row: AuditRow, request: ApprovalRow | undefined): AuditRow {
  const { content } = row;
  if (content === undefined || !('response' in content)) return row;
  return request !== undefined && !isConcealed(request)
    ? row
    : { ...row, content: { ...content, response: MASK } };
}

function isSensitive({ sensitive }: Pick<ApprovalRow, 'sensitive'>, name: string): boolean {
  return typeof sensitive === 'boolean' ? sensitive : sensitive.includes(name);
}
