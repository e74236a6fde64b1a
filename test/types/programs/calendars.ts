import {
  type AuthConfig,
  type AuthCredential,
  AuthCredentialTypes,
  AuthHandler,
  type AuthScheme,
  type Context,
  type Event,
  FunctionTool,
  getFunctionCalls,
  LlmAgent,
  type OpenIdConnectWithConfig,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  type State,
} from '@google/adk';
import { z } from 'zod/v4';

export interface Server {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

const SCOPES = { openid: 'who you are', 'calendar.read': 'your appointments' };

const clientOf = (
  { clientId, clientSecret }: Server,
  authType: AuthCredentialTypes,
  redirectUri?: string,
): AuthCredential => ({
  authType,
  oauth2: { clientId, clientSecret, ...(redirectUri === undefined ? {} : { redirectUri }) },
});

/** Endpoints as OpenAPI names them. */
export function byFlow(server: Server, redirectUri?: string): AuthConfig {
  const authScheme: AuthScheme = {
    type: 'oauth2',
    flows: {
      authorizationCode: {
        authorizationUrl: `${server.issuer}/auth`,
        tokenUrl: `${server.issuer}/token`,
        scopes: SCOPES,
      },
    },
  };
  const rawAuthCredential = clientOf(server, AuthCredentialTypes.OAUTH2, redirectUri);
  return { authScheme, rawAuthCredential, credentialKey: 'calendar' };
}

/** Endpoints of an OpenID provider. */
export function byOpenId(server: Server, redirectUri?: string): AuthConfig {
  const endpoints: Omit<OpenIdConnectWithConfig, 'type' | 'openIdConnectUrl'> = {
    authorizationEndpoint: `${server.issuer}/auth`,
    tokenEndpoint: `${server.issuer}/token`,
    scopes: Object.keys(SCOPES),
  };
  const authScheme: AuthScheme = { type: 'openIdConnect', openIdConnectUrl: server.issuer, ...endpoints };
  return {
    authScheme,
    rawAuthCredential: clientOf(server, AuthCredentialTypes.OPEN_ID_CONNECT, redirectUri),
    credentialKey: 'calendar-openid',
  };
}

/** A tool that looks for its credential, and asks for it. */
function calendarTool(name: string, server: Server, authConfig: AuthConfig): FunctionTool {
  return new FunctionTool({
    name,
    description: 'Says whose calendar it is.',
    parameters: z.object({ day: z.string().optional() }),
    execute: async ({ day }, context?: Context) => {
      const credential = context?.getAuthResponse(authConfig);
      if (credential?.oauth2?.accessToken === undefined) {
        context?.requestCredential(authConfig);
        return { pending: true, message: 'Waiting for consent.' };
      }
      const answer = await fetch(`${server.issuer}/me`, {
        headers: { authorization: `Bearer ${credential.oauth2.accessToken}` },
      });
      const { sub } = Object(await answer.json());
      context?.state.set('calendar_owner', sub);
      return { owner: sub, day: day ?? 'today' };
    },
  });
}

export function calendarAgent(server: Server, more: readonly FunctionTool[] = []): LlmAgent {
  return new LlmAgent({
    name: 'planner',
    model: 'gemini-2.5-flash',
    tools: [
      calendarTool('list_events', server, byFlow(server)),
      calendarTool('list_openid_events', server, byOpenId(server)),
      ...more,
    ],
  });
}

/** A request as a client finds it among the events. */
export interface Asked {
  id: string;
  authConfig: AuthConfig;
}

export function asksIn(events: readonly Event[]): Asked[] {
  return events
    .flatMap((event) => getFunctionCalls(event))
    .filter(({ name }) => name === REQUEST_CREDENTIAL_FUNCTION_CALL_NAME)
    .map(({ id = '', args }) => ({ id, authConfig: args?.auth_config as AuthConfig }));
}

/** The page that a client opens. */
export function pageOf({ authConfig }: Asked, redirectUri: string): string {
  const { authUri = '' } = authConfig.exchangedAuthCredential?.oauth2 ?? {};
  return `${authUri}&redirect_uri=${encodeURIComponent(redirectUri)}`;
}

/** The answer: the whole config, with the way back in it. */
export function answerTo({ id, authConfig }: Asked, authResponseUri: string, redirectUri: string) {
  const exchangedAuthCredential = {
    ...authConfig.exchangedAuthCredential,
    oauth2: { ...authConfig.exchangedAuthCredential?.oauth2, authResponseUri, redirectUri },
  };
  const response = { ...authConfig, exchangedAuthCredential };
  return {
    role: 'user',
    parts: [{ functionResponse: { id, name: REQUEST_CREDENTIAL_FUNCTION_CALL_NAME, response } }],
  };
}

/** A connection without a turn. */
export async function connected(
  authConfig: AuthConfig,
  state: State,
  open: (authUri: string) => Promise<string>,
): Promise<AuthCredential | undefined> {
  const request = new AuthHandler(authConfig).generateAuthRequest();
  const { exchangedAuthCredential: asked } = request;
  if (asked === undefined) return undefined;
  const authResponseUri = await open(asked.oauth2?.authUri ?? '');
  const exchangedAuthCredential = { ...asked, oauth2: { ...asked.oauth2, authResponseUri } };
  const handler = new AuthHandler({ ...request, exchangedAuthCredential });
  await handler.parseAndStoreAuthResponse(state);
  return handler.getAuthResponse(state);
}
