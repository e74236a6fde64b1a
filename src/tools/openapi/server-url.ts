import { mayAsk } from '../../net/public-address.ts';
import { DocumentProblem, quoted, type ServerObject } from './openapi-document.ts';
import type { OpenAPIToolsetOptions } from './toolset-options.ts';

type ServerOptions = Pick<OpenAPIToolsetOptions, 'server' | 'serverVariables' | 'specUrl' | 'allow'>;

/**
 * The address before the paths of an operation: of the chosen server, with its variables.
 *
 * @throws DocumentProblem
 */
export function baseUrlOf(servers: readonly ServerObject[], options: ServerOptions): string {
  const url = serverAddress(servers, options);
  const { specUrl } = options;
  const base = specUrl !== undefined && /^https?:/i.test(String(specUrl)) ? String(specUrl) : undefined;
  const absolute = URL.parse(url, base);
  if (absolute === null) {
    throw new DocumentProblem(`its server ${quoted(url)} has no host: set server to the address of one`);
  }
  return absolute.href;
}

/** The address of the chosen server as the document writes it, with its variables. @throws DocumentProblem */
export function serverAddress(
  servers: readonly ServerObject[],
  { server, serverVariables = {}, allow = [] }: ServerOptions,
): string {
  const first = chosenServer(servers, server);
  const chosen = server === undefined ? overTls(first, servers, allow) : first;
  return chosen.url.replaceAll(/\{([^{}]+)\}/g, (_, name: string) => variable(chosen, name, serverVariables));
}

function chosenServer(servers: readonly ServerObject[], wanted: string | number | undefined): ServerObject {
  if (typeof wanted === 'string' && /^https?:\/\//i.test(wanted)) {
    return servers.find(({ url }) => url === wanted) ?? { url: wanted };
  }
  // The default of OpenAPI: where the document is.
  const all = servers.length === 0 ? [{ url: '/' }] : servers;
  const found =
    typeof wanted === 'string'
      ? all.find(({ name, description }: ServerObject) => name === wanted || description === wanted)
      : all[wanted ?? 0];
  if (found !== undefined) return found;
  const known = all
    .map(({ url }) => quoted(url))
    .slice(0, 10)
    .join(', ');
  throw new DocumentProblem(
    `server: ${JSON.stringify(wanted)} is no address, and no name, description or index of its servers, which are ${known}`,
  );
}

/** Many documents name a server without TLS first, and the same one with it after that. */
function overTls(
  first: ServerObject,
  servers: readonly ServerObject[],
  allow: readonly string[],
): ServerObject {
  if (!/^http:\/\//i.test(first.url)) return first;
  if (mayAsk(first.url, allow)) return first;
  const secure = first.url.replace(/^http:/i, 'https:');
  return servers.find(({ url }) => url === secure) ?? first;
}

function variable(
  { url, variables = {} }: ServerObject,
  name: string,
  given: Readonly<Record<string, string>>,
): string {
  const known = Object.hasOwn(variables, name) ? variables[name] : undefined;
  const value = Object.hasOwn(given, name) ? given[name] : (known?.default ?? known?.enum?.[0]);
  if (value === undefined) {
    throw new DocumentProblem(
      `its server ${quoted(url)} needs a value of ${quoted(name)}: set serverVariables`,
    );
  }
  const values = Array.isArray(known?.enum) ? known.enum.map(String) : [];
  if (values.length === 0 || values.includes(String(value))) return String(value);
  throw new DocumentProblem(
    `serverVariables: ${quoted(name)} must be one of ${values.slice(0, 20).map(quoted).join(', ')}`,
  );
}
