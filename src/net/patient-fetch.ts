interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/**
 * Node's fetch without its limit of 300 s for headers and between pieces of the body: models think longer, and tools of MCP servers work
 * longer. The abort signal still holds. A redirect is an error unless `redirect` says otherwise: it would take the request's key along.
 */
export const patientFetch: typeof fetch = async (input, init) => {
  const dispatcher: Dispatcher = {
    dispatch: (options, handler) =>
      globalDispatcher().dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  };
  const answer = await fetch(input, { redirect: 'manual', ...init, dispatcher } as RequestInit);
  if (init?.redirect === undefined && answer.status >= 300 && answer.status < 400)
    await refuseRedirect(answer);
  return answer;
};

async function refuseRedirect({ url, status, headers, body }: Response): Promise<never> {
  await body?.cancel();
  const location = headers.get('location') ?? '';
  // The rest of an address may be a secret.
  const place = URL.canParse(location, url) ? new URL(location, url).origin : 'no address';
  const problem = `${new URL(url).host} answered ${status} and redirects to ${place}`;
  throw new Error(`${problem}: a request with a key is not sent on; set the address that it redirects to`);
}

function globalDispatcher(): Dispatcher {
  return Reflect.get(globalThis, GLOBAL_DISPATCHER) as Dispatcher;
}
