import type { ApprovalRow } from '../store/store.ts';

const MASK = '(sensitive)';

/** A request as people and programs may see it: what is sensitive is shown to nobody. */
export function shownRequest(row: ApprovalRow): ApprovalRow {
  const { args, editedArgs, sensitive } = row;
  if (sensitive === false || (Array.isArray(sensitive) && sensitive.length === 0)) return row;
  const isHidden = (name: string) => sensitive === true || (sensitive as readonly string[]).includes(name);
  const masked = (values: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, isHidden(name) ? MASK : value]));
  return {
    ...row,
    args: masked(args),
    ...(editedArgs === undefined ? {} : { editedArgs: masked(editedArgs) }),
    // The answer to a question that the tool asks is its result.
    ...(row.response === undefined || !isHidden('result') ? {} : { response: MASK }),
  };
}
