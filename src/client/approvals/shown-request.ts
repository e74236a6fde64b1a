import { isAnySensitive, isResultSensitive, MASK, maskedArguments } from '../../approvals/sensitive.ts';
import type { AuditRow } from '../../contract/audit.ts';
import type { ApprovalRow } from '../../contract/requests.ts';
import type { Store } from '../../store/store.ts';

/** A request as people and programs may see it: what is sensitive is shown to nobody. */
export function shownRequest(row: ApprovalRow): ApprovalRow {
  const { args, editedArgs, response, sensitive } = row;
  if (!isAnySensitive(sensitive)) return row;
  return {
    ...row,
    args: maskedArguments(args, sensitive),
    ...(editedArgs === undefined ? {} : { editedArgs: maskedArguments(editedArgs, sensitive) }),
    ...(response === undefined || !isResultSensitive(sensitive) ? {} : { response: MASK }),
  };
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
  return request !== undefined && !isResultSensitive(request.sensitive)
    ? row
    : { ...row, content: { ...content, response: MASK } };
}
