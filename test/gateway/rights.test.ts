import { beforeAll, describe, expect, test } from 'vitest';
import { type Document, readDocument } from './document-check.ts';
import { HEADERS, HOST, type Stub, stubGateway } from './gateway-stub.ts';

/** The right that each operation takes, and the mebibytes that its body may have. */
const RIGHTS = {
  getAbout: 'read',
  createSession: 'run, 16 MiB',
  listUserSessions: 'read',
  listAppSessions: 'read',
  getSession: 'read',
  deleteSession: 'operate, 4 MiB',
  forkSession: 'operate, 4 MiB',
  rewindSession: 'operate, 4 MiB',
  listArtifacts: 'read',
  listArtifactVersions: 'read',
  getArtifact: 'read',
  putArtifact: 'run, bytes',
  deleteArtifact: 'operate, 4 MiB',
  listMemories: 'read',
  addMemory: 'operate, 4 MiB',
  deleteMemory: 'operate, 4 MiB',
  deleteMemories: 'operate, 4 MiB',
  listCorpora: 'read',
  listDocuments: 'read',
  putDocument: 'operate, 4 MiB',
  searchCorpus: 'read',
  removeCorpus: 'operate, 4 MiB',
  sendMessage: 'run, 16 MiB',
  listTurns: 'read',
  getTurn: 'read',
  getReceipt: 'read',
  getEvents: 'read',
  followTurn: 'read',
  getStatus: 'read',
  interruptTurn: 'operate, 4 MiB',
  cancelCall: 'operate, 4 MiB',
  retryTurn: 'operate, 4 MiB',
  listApprovals: 'read or approve',
  getApproval: 'read or approve',
  getSessionApproval: 'read or approve',
  confirmRequest: 'approve, 4 MiB',
  provideInput: 'approve, 4 MiB',
  provideCredential: 'approve, 4 MiB',
  getAudit: 'read',
  getAuditById: 'read',
  verifyAudit: 'read',
  verifyAuditById: 'read',
  putCredential: 'operate, 4 MiB',
  listUserCredentials: 'read',
  listAppCredentials: 'read',
  removeCredential: 'operate, 4 MiB',
  connectCredential: 'operate, 4 MiB',
  resealCredentials: 'operate, 4 MiB',
  listJobs: 'read',
  getJob: 'read or jobToken',
  completeJob: 'operate or jobToken, 10 MiB',
  failJob: 'operate or jobToken, 10 MiB',
  progressJob: 'operate or jobToken, 10 MiB',
  cancelJob: 'operate, 4 MiB',
};

const MIB = 1024 * 1024;
const CHUNK = 64 * 1024;

const done: string[] = [];
const row = { requestId: 'x', jobId: 'x', app: 'shop', userId: 'ada', sessionId: 's1', status: 'running' };
/** Whose something is may be asked; whatever else it is asked for, is done. */
const asked = new Proxy<Stub>(
  {},
  { get: (_none, name) => (String(name).endsWith('.get') ? () => row : () => void done.push(String(name))) },
);
const { gateway } = stubGateway(asked);

let document: Document;
beforeAll(async () => {
  document = await readDocument(gateway, HOST);
});

describe('the right to an operation', () => {
  test('is what this table says, and no more of a body is read than that [auth.roles] [auth.limits]', async () => {
    const rights: Record<string, string> = {};
    for (const [path, methods] of Object.entries(document.paths)) {
      for (const [method, operation] of Object.entries(methods)) {
        const { operationId, security = [], 'x-holdfast-permission': permission } = operation;
        if (security.length === 0) continue;
        const own = security.flatMap(Object.keys).filter((scheme) => scheme !== 'token');
        const body = method === 'get' ? [] : [await mostOf(method, path)];
        rights[operationId] = [[permission, ...own].join(' or '), ...body].join(', ');
      }
    }
    expect(rights).toEqual(RIGHTS);
    expect(done.filter((name) => name !== 'artifacts.put')).toEqual([]);
  });
});

/** The size of a body that a route reads before it answers that it is too large. */
async function mostOf(method: string, path: string): Promise<string> {
  let taken = 0;
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (taken > 20 * MIB) return controller.close();
        taken += CHUNK;
        // Spaces: JSON may begin with any number of them.
        controller.enqueue(new Uint8Array(CHUNK).fill(0x20));
      },
    },
    { highWaterMark: 0 },
  );
  const headers = { ...HEADERS, 'content-type': 'application/json' };
  const url = `http://${HOST}${path.replaceAll(/\{\w+\}/g, 'x')}`;
  const init = { method: method.toUpperCase(), headers, body, duplex: 'half' };
  const { status } = await gateway.request(url, init as RequestInit);
  return status === 413 ? `${Math.floor(taken / MIB)} MiB` : 'bytes';
}
