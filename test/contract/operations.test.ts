import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { storedApprovals } from '../../src/client/approvals/stored-approvals.ts';
import { storedArtifacts } from '../../src/client/artifacts/stored-artifacts.ts';
import { storedCorpora } from '../../src/client/corpora/stored-corpora.ts';
import { GatewayClient, HoldfastClient } from '../../src/client/index.ts';
import { storedJobs } from '../../src/client/jobs/stored-jobs.ts';
import { storedMemories } from '../../src/client/memories/stored-memories.ts';
import { storedSessions } from '../../src/client/sessions/stored-sessions.ts';
import { APPROVALS } from '../../src/contract/approvals.ts';
import { ARTIFACTS } from '../../src/contract/artifacts.ts';
import { CORPORA } from '../../src/contract/corpora.ts';
import { CREDENTIALS } from '../../src/contract/credentials.ts';
import { ERROR_CODES, type ErrorEntry } from '../../src/contract/error-codes.ts';
import { JOBS } from '../../src/contract/jobs.ts';
import { MEMORIES } from '../../src/contract/memories.ts';
import { type Noun, OPERATOR, type Operation, requestOf } from '../../src/contract/operation.ts';
import { SESSIONS } from '../../src/contract/sessions.ts';
import { STEERING, TURNS } from '../../src/contract/turns.ts';
import { holdfastHere } from '../cli/command-here.ts';
import { checkedFetch } from '../gateway/document-check.ts';
import { clientOf, stubGateway } from '../gateway/gateway-stub.ts';
import { APPROVAL_ROWS } from './approval-rows.ts';
import { type ContractScene, openContractScene } from './contract-scene.ts';
import { CORPUS_ROWS } from './corpus-rows.ts';
import { JOB_ROWS } from './job-rows.ts';
import { ARTIFACT_ROWS, CREDENTIAL_ROWS, MEMORY_ROWS } from './kept-rows.ts';
import { type Api, comparable, fieldsOf, type OperationRow, pathOf, type Refusal } from './operation-row.ts';
import { SESSION_ROWS, STEERING_ROWS, TURN_ROWS } from './turn-rows.ts';

const ROWS: Readonly<Record<string, OperationRow<Operation>>> = {
  ...{ ...APPROVAL_ROWS, ...ARTIFACT_ROWS, ...CREDENTIAL_ROWS, ...JOB_ROWS },
  ...{ ...CORPUS_ROWS, ...MEMORY_ROWS, ...SESSION_ROWS, ...STEERING_ROWS, ...TURN_ROWS },
} as never;
const NOUNS: readonly Noun[] = [
  APPROVALS,
  ARTIFACTS,
  CORPORA,
  CREDENTIALS,
  JOBS,
  MEMORIES,
  SESSIONS,
  STEERING,
  TURNS,
];
const OPERATIONS = NOUNS.flatMap((noun) => Object.values(noun).flat() as Operation[]);
const CASES = OPERATIONS.map((operation) => [operation.id, operation] as const);
/** Names of the operations that need no Temporal. */
const STORED = Object.keys({
  ...{
    ...storedApprovals,
    ...storedArtifacts,
    ...storedJobs,
    ...storedCorpora,
    ...storedMemories,
    ...storedSessions,
  },
  ...{ 'artifacts.get': true, 'artifacts.put': true },
});

type Input = Record<string, unknown>;

let scene: ContractScene;
beforeAll(async () => {
  scene = await openContractScene();
});
afterAll(() => scene.close());

/** Undefined is an answer, too: what JSON would leave out. */
const ask = async (operation: Operation, api: Api, input: Input, token?: string) => {
  const speaker = token === undefined ? {} : { token };
  const given = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
  return await rowOf(operation).ask(api, given as never, speaker);
};

function rowOf({ id }: Operation): OperationRow<Operation> {
  const row = ROWS[id];
  if (row === undefined) throw new Error(`the operation ${id} has no row`);
  return row;
}

function apisOf({ name }: Operation): [string, Api][] {
  const stored: [string, Api][] = STORED.includes(name) ? [['the store alone', scene.stored]] : [];
  return [['directly', scene.direct], ['over HTTP', scene.overHttp], ...stored];
}

/** The answer as JSON, or the error. */
async function outcomeOf(asked: Promise<unknown>): Promise<unknown> {
  return await asked.then(
    (answer) => ({ answer: comparable(answer) }),
    ({ code, name }: { code?: string; name: string }) => ({ code, name }),
  );
}

/** An input with the fields that are required. */
function leastOf(operation: Operation): Input {
  const names = { app: 'test', userId: 'ada', sessionId: 's1', name: 'a', id: '1', session: '1', text: 'x' };
  const ids = { jobId: `job-${'x'.repeat(22)}`, requestId: 'rq-e-none.1.0.1', beforeInvocationId: 'e' };
  const given = { confirmed: true, response: 1, result: 1, error: 'x', credentialKey: 'k' };
  const credential = { authType: 'apiKey', apiKey: 'x' };
  const corpus = { corpus: 'c', path: 'a', digest: 'd', first: 0, passages: [], query: 'x' };
  const all: Input = {
    ...names,
    ...ids,
    ...given,
    ...corpus,
    credential,
    credentialRef: `cr-${'x'.repeat(22)}`,
  };
  return Object.fromEntries(fieldsOf(operation).required.map((field) => [field, all[field]]));
}

async function byCommand({ id }: Operation, words: readonly string[]) {
  const { code, stdout, stderr } = await holdfastHere([...words, '--json', '--folder', scene.folder]);
  return { code, json: JSON.parse(stdout.trim().split('\n').at(-1) || 'null'), stderr: `${id}: ${stderr}` };
}

describe.each(CASES)('%s', (_id, operation) => {
  const isRead = operation.method === 'get';

  test('has one answer by all ways, which its contract takes, and looks at all that it is given [contract.ways]', async () => {
    const row = rowOf(operation);
    const given = (await row.given(scene)) as Input;
    const { required, optional } = fieldsOf(operation);
    const left = optional.filter((field) => !(field in given));
    expect(left).toEqual(optional.filter((field) => field in (row.without ?? {})));
    const answers: unknown[] = [];
    for (const [index, [way, api]] of apisOf(operation).entries()) {
      const input = isRead || index === 0 ? given : ((await row.given(scene)) as Input);
      const answer = await ask(operation, api, input);
      expect({ way, answer }).toMatchObject({ way, answer: row.answer });
      if (operation.bytes !== 'answer') operation.output.parse(JSON.parse(JSON.stringify(answer)));
      if (way === 'directly') expect([...scene.unread]).toEqual([]);
      answers.push(isRead ? answer : comparable(answer));
      await row.done?.(scene, input as never, false);
    }
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    if (row.command !== undefined) {
      const input = isRead ? given : ((await row.given(scene)) as Input);
      const { code, json, stderr } = await byCommand(operation, row.command(input as never));
      expect({ code, stderr }).toEqual({ code: 0, stderr });
      const printed = row.printed === undefined ? json : row.printed(json as never, input as never);
      expect(answers[0]).toMatchObject((isRead ? printed : comparable(printed)) as object);
      await row.done?.(scene, input as never, true);
    }
    if (!isRead) return;
    // A field that changes no answer is one that was lost on its way.
    const least = Object.fromEntries(required.map((field) => [field, given[field]]));
    const whole = await outcomeOf(ask(operation, scene.direct, least));
    for (const field of optional.filter((name) => name in given && !row.unseen?.includes(name as never))) {
      const narrowed = await outcomeOf(ask(operation, scene.direct, { ...least, [field]: given[field] }));
      expect({ field, narrowed }).not.toEqual({ field, narrowed: whole });
    }
  });

  test('is refused alike by all ways [contract.ways]', async () => {
    const row = rowOf(operation);
    const input = (await row.given(scene)) as Input;
    const shown = [...Object.values(row.without ?? {}), ...Object.values(row.errors)];
    expect(shown.filter((file) => typeof file === 'string' && !existsSync(testFile(file)))).toEqual([]);
    for (const [code, refusal] of Object.entries(row.errors)) {
      if (typeof refusal === 'string') continue;
      const { given, exit } = refusal as Refusal<Operation>;
      const wrong = { ...input, ...(await given(scene, input as never)) };
      const { absent, refused } = operation;
      for (const [way, api] of apisOf(operation)) {
        const outcome = await outcomeOf(ask(operation, api, wrong));
        if (code === absent) expect({ way, outcome }).toEqual({ way, outcome: { answer: undefined } });
        else if (code === refused?.error)
          expect({ way, outcome }).toMatchObject({ outcome: { answer: { status: 'refused' } } });
        else
          expect({ way, outcome }).toEqual({
            way,
            outcome: { code, name: (ERROR_CODES as Readonly<Record<string, ErrorEntry>>)[code]?.name },
          });
      }
      if (operation.bytes === undefined)
        expect([code, 'HOLDFAST_GATEWAY_BAD_REQUEST']).toContain(await rawCode(wrong));
      if (exit === undefined || row.command === undefined) continue;
      const told = await byCommand(operation, row.command(wrong as never));
      expect({ code, exit: told.code, stderr: told.stderr }).toEqual({ code, exit, stderr: told.stderr });
    }
  });

  /** The code that any program gets over HTTP. */
  async function rawCode(input: Input): Promise<unknown> {
    const { method, path, body } = requestOf(operation, input);
    const headers = {
      authorization: `Bearer ${scene.env.gateway.token}`,
      'content-type': 'application/json',
    };
    const init = body === undefined ? { method, headers } : { method, headers, body: JSON.stringify(body) };
    const answer = await checkedFetch(scene.check)(scene.env.gateway.url + path, init);
    return ((await answer.json()) as { error?: { code: string } }).error?.code;
  }

  if (operation.may.own !== true) return;

  test('takes its own job’s token, and no other one [contract.ways] [job.token]', async () => {
    const other = await scene.parked();
    for (const [way, api] of apisOf(operation)) {
      const { jobId, token } = await scene.parked();
      const [head = '', claims = '', signature = ''] = token.split('.');
      const input = { ...leastOf(operation), jobId };
      for (const wrong of [other.token, `${head}.${claims}.${signature.slice(0, -4)}AAAA`]) {
        const outcome = await outcomeOf(ask(operation, api, input, wrong));
        expect({ way, outcome }).toMatchObject({ way, outcome: { code: 'HOLDFAST_JOB_TOKEN_REFUSED' } });
      }
      const { jobs } = scene.env.client;
      expect(await jobs.get(jobId)).toMatchObject({ status: 'running' });
      const own = (await ask(operation, api, input, token)) as object;
      expect({ way, own }).toMatchObject({ way, own: { jobId } });
      if (isRead) expect(Object.keys(own)).toEqual(['jobId', 'status']);
      const job = await jobs.get(jobId);
      if (job?.status !== 'running') expect(job).toMatchObject({ endedBy: 'callback' });
    }
  });
});

test('each other route takes no job’s token [contract.ways] [job.token]', async () => {
  const { url } = scene.env.gateway;
  const { jobId, token } = await scene.parked();
  const own = OPERATIONS.filter(({ may }) => may.own).map(({ id }) => id);
  for (const [path, methods] of Object.entries(scene.check.document.paths)) {
    for (const [method, { operationId, security }] of Object.entries(methods)) {
      if (security?.length === 0 || own.includes(operationId)) continue;
      const filled = path.replace('{jobId}', jobId).replaceAll(/\{\w+\}/g, 'test');
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const init = { method: method.toUpperCase(), headers, ...(method === 'post' ? { body: '{}' } : {}) };
      const { status } = await fetch(url + filled, init);
      expect({ operationId, status }).toEqual({ operationId, status: 401 });
    }
  }
  expect(await scene.env.client.jobs.get(jobId)).toMatchObject({ status: 'running' });
});

test('commands say in words how turns stand, and what becomes of them [cli.turns]', async () => {
  const { names, invocationId } = await scene.holding();
  const callKey = `${invocationId}.1.0`;
  const session = pathOf(names);
  const told = async (...words: string[]) => {
    const { stdout, stderr } = await holdfastHere(['turns', ...words, '--folder', scene.folder]);
    return stdout + stderr;
  };
  const list = () => told('list', '--status', 'running', '--session', names.sessionId);
  await expect.poll(list).toMatch(/^SESSION +STATUS +AGENT +SINCE\n.*\n$/);
  expect(await list()).toMatch(new RegExp(`\ntest/${names.userId}/it's .* +running +desk +`));
  expect(await told('status', session)).toMatch(/^running: desk, step 1, .*\nhold \S+ runs since/);
  expect(await told('cancel-call', session, callKey)).toBe(`${callKey} is cancelled\n`);
  await expect.poll(() => told('status', session)).toBe('no turn runs\n');
  expect(await told('interrupt', session)).toBe('no turn runs\n');
});

test('what is safe to send again is, while the gateway can’t be reached, and nothing else [contract.ways]', async () => {
  for (const operation of OPERATIONS.filter(({ bytes }) => bytes === undefined)) {
    const sent: string[] = [];
    const fetch = async (url: unknown) => {
      sent.push(String(url));
      throw new TypeError('nobody is there');
    };
    const client = new GatewayClient({
      url: 'http://gateway.test',
      token: 't'.repeat(43),
      fetch,
      patience: 100,
    });
    const asked = client.call(operation, leastOf(operation) as never, OPERATOR);
    await expect(asked).rejects.toMatchObject({ name: 'GatewayUnreachable' });
    const isSafe = /^jobs\.(complete|fail|progress|cancel)$/.test(operation.name);
    expect({ id: operation.id, again: sent.length > 1 }).toEqual({ id: operation.id, again: isSafe });
  }
});

test('an operation that needs a store says so by all ways [contract.ways]', async () => {
  const none = new HoldfastClient({ temporal: scene.env.temporal });
  const needing = OPERATIONS.filter(({ name }) => name.includes('.'));
  for (const operation of needing) {
    for (const api of [none, clientOf(stubGateway(none))]) {
      const outcome = await outcomeOf(ask(operation, api as unknown as Api, leastOf(operation)));
      expect({ id: operation.id, outcome }).toMatchObject({ outcome: { code: 'HOLDFAST_STORE_NEEDED' } });
    }
  }
});

test('what was answered is what the document says, with all of its fields and no others [gateway.document]', () => {
  const { check } = scene;
  for (const tag of new Set(OPERATIONS.map((operation) => operation.tag)))
    expect({
      tag,
      unseen: check.unseen(tag).filter((id) => OPERATIONS.some((each) => each.id === id)),
    }).toEqual({ tag, unseen: [] });
  // Events and contents are ADK's: the document names what clients need of them.
  expect([...check.undocumented].filter((field) => !/^(Event|Memory\.content)\./.test(field))).toEqual([]);
  const named = ['AuditRow', 'Session', 'SessionSummary', 'Usage', 'StoredEvent', 'Memory', 'Artifact'];
  // They take agents below, a price table, a lost worker, and memories of sessions.
  const left = ['AuditRow.sessionId', 'Usage.cost', 'Usage.unknownCalls', 'Memory.sessionId'];
  expect(named.flatMap((name) => check.unanswered(name))).toEqual(left);
});

function testFile(name: string): string {
  return fileURLToPath(new URL(`../${name}`, import.meta.url));
}
