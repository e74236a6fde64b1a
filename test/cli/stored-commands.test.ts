import { describe, expect, test } from 'vitest';
import { showAudit, verifyAudit } from '../../src/cli/approvals/audit-commands.ts';
import { folderWithStore } from '../store/temporary-folder.ts';
import { capturedOutput } from './captured-output.ts';

describe('a command that reads the store of a folder itself', () => {
  const place = { folder: folderWithStore(), env: {} };

  test('proves nothing of a session that the store does not have [approval.audit]', async () => {
    const notFound = expect.objectContaining({ code: 'HOLDFAST_SESSION_NOT_FOUND' });
    const output = capturedOutput();
    await expect(verifyAudit(undefined, { ...place, storeId: 'nope' }, output)).rejects.toEqual(notFound);
    await expect(showAudit(undefined, { ...place, storeId: 'nope' }, output)).rejects.toEqual(notFound);
    await expect(verifyAudit('desk/ada/nope', place, output)).rejects.toEqual(notFound);
    expect(output.lines).toEqual([]);
  });
});
