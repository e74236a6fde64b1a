import { describe, expect, test } from 'vitest';
import { showAudit, verifyAudit } from '../../src/cli/approvals/audit-commands.ts';
import { connected, connectSessions } from '../../src/cli/connect-folder.ts';
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

  describe('takes what the contract takes', () => {
    test.each([5_000, -1, 1.5])('no limit of %s [session.list]', async (limit) => {
      const refused = expect.objectContaining({
        code: 'HOLDFAST_INVALID_TURN',
        message: expect.stringContaining('limit'),
      });
      await connected(connectSessions, place, capturedOutput(), async ({ api }) => {
        await expect(api.sessions.list({ app: 'desk', limit })).rejects.toEqual(refused);
        await expect(api.approvals.list({ limit })).rejects.toEqual(refused);
        await expect(api.jobs.list({ limit })).rejects.toEqual(refused);
      });
    });

    test('no token that is not of the job [job.token]', async () => {
      const asking = connected(connectSessions, place, capturedOutput(), ({ api }) =>
        api.jobs.get('job-4fXkq0o8m1RrT2bVnZ7yLw', { token: 'ey.ey.ey' }),
      );
      await expect(asking).rejects.toMatchObject({ code: 'HOLDFAST_JOB_TOKEN_REFUSED' });
    });
  });
});
