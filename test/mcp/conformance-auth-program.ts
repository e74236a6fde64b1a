import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CallCredentials } from '../../activities/tool/call-context.ts';
import { credentialKeysOf } from '../../src/credentials/credential-keys.ts';
import { Connections } from '../../src/oauth/connections.ts';
import { beginConsent, finishConsent, flowOf } from '../../src/oauth/consent.ts';
import { scopesOf } from '../../src/oauth/oauth-provider.ts';
import { openStore } from '../../src/store/open-store.ts';
import type { BaseTool } from '../../src/tools/base-tool.ts';
import { CallQuestions, type WantedCredential } from '../../src/tools/call-questions.ts';
import { MCPTool } from '../../src/tools/mcp/mcp-tool.ts';
import { MCPToolset } from '../../src/tools/mcp/mcp-toolset.ts';
import { callOf, contextWith, INIT } from '../definitions/tool-context.ts';
import { putStore } from '../setup/made-store.ts';

/**
 * The client of the scenarios of authorization: lists the server's tools and calls each, as a model would. A question for consent is
 * answered as by a person at the gateway, after which the call begins anew.
 */
const MOST_CONSENTS = 5;
const REDIRECT_URI = 'http://localhost:9999/callback';
const owner = { app: INIT.appName, userId: INIT.userId };
const folder = mkdtempSync(join(tmpdir(), 'holdfast-conformance-'));
putStore(folder);
const store = await openStore({ folder });
const keys = credentialKeysOf({ k1: randomBytes(32).toString('base64') });
const connections = new Connections(store.credentials, keys);
const toolset = new MCPToolset(
  { type: 'StreamableHTTPConnectionParams', url: process.argv.at(-1) ?? '' },
  [],
  undefined,
  // The suite's authorization servers are at ports that it tells by metadata alone.
  { auth: { allow: Array.from({ length: 65_535 }, (_, index) => `localhost:${index + 1}`) } },
);
try {
  for (let isConnected = false; !isConnected; ) {
    const tools = await toolset.getTools(contextWith({ credentials: credentialsOfCall() }));
    const offered = tools.filter((tool) => tool._getDeclaration() !== undefined);
    isConnected = offered.some((tool) => tool instanceof MCPTool);
    for (const tool of offered) await called(tool);
  }
} finally {
  await toolset.close();
  await store.close();
  rmSync(folder, { recursive: true });
}

function credentialsOfCall(): CallCredentials {
  return new CallCredentials({ credentials: connections, deployment: { apps: new Map() } } as never, owner);
}

async function called(tool: BaseTool): Promise<void> {
  const wanted = tool.gate?.credential;
  if (wanted === undefined) throw new Error('the tool has no gate');
  for (let consents = 0; consents < MOST_CONSENTS; consents += 1) {
    const credentials = credentialsOfCall();
    if (!(await credentials.open(wanted))) {
      await consent(wanted);
      continue;
    }
    const questions = new CallQuestions({ credentials, wanted });
    try {
      await tool.runAsync({
        args: {},
        toolContext: contextWith({ credentials, call: callOf({ questions }) }),
      });
      return;
    } catch (error) {
      const { asked } = questions;
      if (asked?.kind !== 'credential') throw error;
      await consent(asked);
    }
  }
}

async function consent(wanted: WantedCredential): Promise<void> {
  const { authConfig } = wanted;
  const { credentialKey } = authConfig;
  await credentialsOfCall().asks(wanted);
  const { url, state } = await beginConsent(
    connections,
    { ...owner, credentialKey, needs: scopesOf(authConfig) },
    { redirectUri: REDIRECT_URI },
  );
  const { headers } = await fetch(url, { redirect: 'manual' });
  const flow = flowOf(connections, state);
  if (flow === undefined) throw new Error('the state is none');
  const back = new URL(headers.get('location') ?? '').searchParams;
  await finishConsent(connections, flow, back, { now: Date.now() });
}
