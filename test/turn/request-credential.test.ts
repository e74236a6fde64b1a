import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { LlmAgent } from '../../src/agents/llm-agent.ts';
import { parseCredentialKeys } from '../../src/credentials/credential-keys.ts';
import { CredentialVault } from '../../src/credentials/credential-vault.ts';
import type { Event } from '../../src/events/event.ts';
import { getFunctionCalls } from '../../src/events/event.ts';
import type { AuthConfig } from '../../src/events/event-actions.ts';
import type { Context } from '../../src/tools/context.ts';
import { tool } from '../../src/tools/function-tool.ts';
import { AskingTurn } from '../setup/asking-turn.ts';
import { stepCalls } from '../setup/scripts.ts';
import { openTurnEnvironment, type TurnEnvironment } from '../setup/turn-environment.ts';

const SECRET = `sk-${randomBytes(12).toString('hex')}`;
const authConfig: AuthConfig = {
  authScheme: { type: 'apiKey', in: 'header', name: 'X-Api-Key' },
  credentialKey: 'shop',
  rawAuthCredential: { authType: 'apiKey', apiKey: 'a secret of the definition' },
};
let execute: (context: Context) => unknown;
const run = (_args: unknown, context: Context) => execute(context);
const options = { description: 'd', execute: run } as const;
const warnings: string[] = [];
const agent = new LlmAgent({
  name: 'buyer',
  model: 'gemini-2.5-flash',
  tools: [
    tool({ ...options, name: 'buy', authConfig }),
    tool({ ...options, name: 'buy_gated', authConfig, requireConfirmation: true }),
    tool({ ...options, name: 'buy_asking' }),
  ],
});
const credentialKeys = `k1:${randomBytes(32).toString('base64')}`;

let environment: TurnEnvironment;
let vault: CredentialVault;
beforeAll(async () => {
  environment = await openTurnEnvironment({
    agents: [agent],
    logger: { warn: (message: string) => warnings.push(message) },
    workerOptions: { credentialKeys },
  });
  vault = new CredentialVault(environment.store.credentials, parseCredentialKeys(credentialKeys));
});
beforeEach(() => {
  execute = ({ authCredential }) => ({ bought: authCredential?.apiKey === SECRET });
});
afterAll(() => environment.close());

let users = 0;
async function asked(name: string): Promise<AskingTurn> {
  environment.gemini.reset(stepCalls([[{ name, args: {} }]]));
  users += 1;
  return await AskingTurn.start(environment, { userId: `user-${users}` });
}
const put = ({ names: { app, userId } }: AskingTurn, credentialKey = 'shop') =>
  vault.put({ app, userId, credentialKey, credential: { authType: 'apiKey', apiKey: SECRET } });

describe('a tool that needs a credential', () => {
  test('waits for it, and runs with it; the secret is in no history and no event [credential.request] [credential.secret]', async () => {
    const turn = await asked('buy');
    const [request] = await turn.pending();
    const asks = { authScheme: authConfig.authScheme, credentialKey: 'shop' };
    expect(request).toMatchObject({ kind: 'credential', authConfig: asks });
    const event = (await turn.events()).find(({ kind }) => kind === 'request')?.event as Event;
    expect(getFunctionCalls(event)).toEqual([
      {
        id: request?.requestId,
        name: 'adk_request_credential',
        args: { function_call_id: request?.callId, auth_config: asks },
      },
    ]);
    expect(event.actions.requestedAuthConfigs).toEqual({ [request?.callId ?? '']: asks });
    const { credentialRef } = await put(turn);
    expect(await turn.credential(credentialRef)).toMatchObject({ status: 'answered' });
    expect(await turn.responses()).toEqual([{ bought: true }]);
    const told = `${await turn.history()}${JSON.stringify(await turn.events())}${warnings.join()}`;
    const decoded = told.replaceAll(/"data":"([^"]*)"/g, (_all, data: string) =>
      Buffer.from(data, 'base64').toString(),
    );
    expect(decoded).toContain(credentialRef);
    expect(decoded).not.toContain(SECRET);
    expect(decoded).not.toContain('a secret of the definition');
  });

  test("doesn't wait where the user has one; another user's doesn't count [credential.request]", async () => {
    const turn = await asked('buy');
    await turn.pending();
    const { credentialRef } = await put(turn);
    await turn.credential(credentialRef);
    await turn.result();
    await turn.send({ messageId: 'again' });
    expect((await turn.result()).status).toBe('completed');
    expect(await turn.requests()).toHaveLength(1);

    const other = await asked('buy');
    const [request] = await other.pending();
    expect(await other.credential(credentialRef)).toMatchObject({ status: 'refused' });
    expect(request?.status).toBe('pending');
    await other.credential((await put(other)).credentialRef);
    expect(await other.responses()).toEqual([{ bought: true }]);
  });

  test('and an approval: first the one, then the other [credential.request] [confirm.many]', async () => {
    let runs = 0;
    execute = ({ authCredential }) => {
      runs += 1;
      return { bought: authCredential?.apiKey === SECRET };
    };
    const turn = await asked('buy_gated');
    const [gate] = await turn.pending();
    expect(gate?.kind).toBe('confirmation');
    await turn.confirm({ confirmed: true });
    await expect.poll(async () => (await turn.pending())[0]?.kind).toBe('credential');
    expect(runs).toBe(0);
    await turn.credential((await put(turn)).credentialRef);
    expect(await turn.responses()).toEqual([{ bought: true }]);
    expect(runs).toBe(1);
  });

  test('and asks for it while it runs: where it is there already it runs again at once [credential.request]', async () => {
    const key = { ...authConfig, credentialKey: 'other' };
    let runs = 0;
    execute = (context) => {
      runs += 1;
      const credential = context.getAuthResponse(key) as { apiKey?: string } | undefined;
      if (credential === undefined) context.requestCredential(key);
      return { bought: credential?.apiKey === SECRET };
    };
    const turn = await asked('buy_asking');
    const [request] = await turn.pending();
    expect(request).toMatchObject({ kind: 'credential', authConfig: { credentialKey: 'other' } });
    await turn.credential((await put(turn, 'other')).credentialRef);
    expect(await turn.responses()).toEqual([{ bought: true }]);
    expect(runs).toBe(2);

    await turn.send({ messageId: 'again' });
    expect((await turn.result()).status).toBe('completed');
    expect(runs).toBe(4);
    expect(await turn.requests()).toHaveLength(1);
  });
});
