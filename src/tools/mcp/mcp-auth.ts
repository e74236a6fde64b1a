import type { AuthCredential } from '../../events/auth-credential.ts';
import type { AuthConfig } from '../../events/event-actions.ts';
import { guardedFetch } from '../../net/guarded-fetch.ts';
import { checkedUrl } from '../../net/public-address.ts';
import { failed, oauthFailed } from '../../oauth/oauth-failed.ts';
import { isOAuthScheme, OAUTH_PROVIDER, scopesOf } from '../../oauth/oauth-provider.ts';
import { parsedJson } from '../../protocol/json.ts';
import { DefinitionError } from '../../schema/definition-error.ts';
import * as option from '../../schema/option-kinds.ts';
import { type OptionsFor, readGroup } from '../../schema/options.ts';
import type { BaseTool } from '../base-tool.ts';
import { type Context, questionsOf } from '../context.ts';
import type { ContextServices } from '../context-services.ts';
import { InvocationContext } from '../invocation-context.ts';
import type { ReadonlyContext } from '../readonly-context.ts';
import { headersOfCredential, type MCPConnectionParams, shownServer } from './connection-params.ts';
import { challengeOf, type McpChallenge } from './mcp-errors.ts';

/** Tokens of OAuth for a server over HTTP. */
export interface MCPAuthOptions {
  /**
   * Name of a provider of the app (`durable.oauth`), for a client that you have registered yourself.
   *
   * @default the server's own metadata name the authorization server, where the gateway registers a client
   */
  credentialKey?: string;
  /** Scopes without which no call runs. @default none; people are asked for those that the server names */
  scopes?: readonly string[];
  /** Hosts that the server may name though they are not of the public internet: `name` or `name:port`. @default its own */
  allow?: readonly string[];
}

const { scopes, allow } = OAUTH_PROVIDER;
const MCP_AUTH = { credentialKey: option.text(), scopes, allow } satisfies OptionsFor<MCPAuthOptions>;

/** The source of the tokens of a server's users. */
export class McpAuth {
  readonly authConfig: AuthConfig;
  readonly #server: URL;
  readonly #isOfApp: boolean;
  readonly #allow: readonly string[];
  /** Apps for which it is kept where people consent. */
  readonly #keptFor = new Set<string>();

  /** @throws DefinitionError naming the option. */
  constructor(owner: string, params: MCPConnectionParams, options: true | MCPAuthOptions) {
    const field = 'options.auth';
    if (params.type === 'StdioConnectionParams')
      throw new DefinitionError({ owner, field, problem: 'tokens are for servers over HTTP: leave it out' });
    const given = options === true ? {} : options;
    const { credentialKey, scopes = [], allow = [] } = readGroup(MCP_AUTH, { owner, options: given, field });
    const server = new URL(params.url);
    this.#server = server;
    this.#isOfApp = credentialKey !== undefined;
    this.#allow = [server.host, ...allow];
    this.authConfig = {
      credentialKey: credentialKey ?? `mcp:${shownServer(params)}`,
      authScheme: { type: 'oauth2', scopes },
    };
  }

  /** The user's tokens, as they are good now. @param refused one that the server takes no longer. @throws OAuthFailed */
  async tokens(context?: ReadonlyContext, refused?: string): Promise<AuthCredential | undefined> {
    return await credentialsIn(context)?.renewed({ authConfig: this.authConfig }, refused);
  }

  /** Finds the server where people consent, by the metadata of the resource (RFC 9728), and keeps it for them. @throws OAuthFailed */
  async findProvider(context?: ReadonlyContext, challenge?: McpChallenge): Promise<void> {
    const { appName = '' } = context ?? {};
    if (this.#isOfApp || (challenge === undefined && this.#keptFor.has(appName))) return;
    const { metadata, scopes = [] } = challenge ?? {};
    const { href, origin, pathname } = this.#server;
    const wellKnown = `${origin}/.well-known/oauth-protected-resource`;
    const how = { grant: 'authorization_code', allow: this.#allow } as const;
    try {
      let answer = await guardedFetch(metadata ?? `${wellKnown}${pathname.replace(/\/$/, '')}`, {}, how);
      if (answer.status === 404 && metadata === undefined) answer = await guardedFetch(wellKnown, {}, how);
      const { status, body } = answer;
      const problem = status >= 500 ? 'unreachable' : 'misconfigured';
      if (status !== 200)
        throw oauthFailed(problem, `its protected-resource metadata are not there (${status})`);
      const found = metadataIn(parsedJson(body.toString()), this.#server);
      checkedUrl(found.issuer, this.#allow);
      const wanted = [scopesOf(this.authConfig), scopes].find(({ length }) => length > 0) ?? found.scopes;
      const provider = { ...how, ...found, scopes: wanted };
      await credentialsIn(context)?.keep(this.authConfig.credentialKey, provider);
      this.#keptFor.add(appName);
    } catch (error) {
      throw failed(error, { ...how, issuer: href });
    }
  }
}

function credentialsIn(context: ReadonlyContext | undefined): ContextServices['credentials'] {
  return context && InvocationContext.initOf(context.invocationContext).credentials;
}

/** @throws OAuthFailed for those of another resource, with whose tokens the server could do what it likes. */
function metadataIn(metadata: unknown, { origin, pathname }: URL) {
  const { resource, authorization_servers: servers, scopes_supported } = Object(metadata);
  const named = URL.parse(String(resource));
  const isOwn =
    named?.origin === origin && `${pathname}/`.startsWith(`${named.pathname.replace(/\/$/, '')}/`);
  if (!isOwn)
    throw oauthFailed('invalid', 'its protected-resource metadata are of another resource than its address');
  const [issuer] = textsIn(servers);
  if (issuer === undefined)
    throw oauthFailed('invalid', 'its protected-resource metadata name no authorization server');
  return { issuer, resource: String(resource), scopes: textsIn(scopes_supported) };
}

function textsIn(given: unknown): string[] {
  return Array.isArray(given) ? given.filter((each) => typeof each === 'string').slice(0, 50) : [];
}

/**
 * Work with a credential. If the server wants another one, the work is done once more with it.
 *
 * @param other the other one; undefined where there is none.
 */
export async function withCredential<T>(
  credential: AuthCredential | undefined,
  work: (headers: Record<string, string>) => Promise<T>,
  other: (challenge: McpChallenge) => Promise<AuthCredential | undefined>,
  authScheme: object = {},
): Promise<T> {
  try {
    return await work(headersOfCredential(credential ?? {}, authScheme));
  } catch (error) {
    const challenge = challengeOf(error);
    const next = challenge && (await other(challenge));
    if (next === undefined || next.oauth2?.accessToken === credential?.oauth2?.accessToken) throw error;
    return await work(headersOfCredential(next, authScheme));
  }
}

/** Work of a call with the credential of its tool. If renewed tokens don’t do, a person is asked, and the run ends. */
export async function withCredentialOfCall<T>(
  { gate }: Pick<BaseTool, 'gate'>,
  context: Context,
  work: (headers: Record<string, string>) => Promise<T>,
): Promise<T> {
  const wanted = gate?.credential;
  const authScheme = wanted?.authConfig.authScheme ?? {};
  const { authCredential } = context;
  return await withCredential(
    authCredential,
    work,
    async ({ status, scopes }) => {
      if (wanted === undefined || !isOAuthScheme(authScheme)) return undefined;
      const { authConfig } = wanted;
      const all = [...new Set([...scopesOf(authConfig), ...(status === 403 ? scopes : [])])];
      const refused = status === 401 ? authCredential?.oauth2?.accessToken : undefined;
      const asked = { ...authConfig, authScheme: { ...authScheme, scopes: all } };
      return await questionsOf(context).current(refused, { ...wanted, authConfig: asked });
    },
    authScheme,
  );
}
