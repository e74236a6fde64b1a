interface Dispatcher {
  dispatch(options: object, handler: unknown): boolean;
}

const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

/**
 * Node's fetch without its limit of 300 s for headers and between pieces of the body: models think longer, and tools of MCP servers work
 * longer. The abort signal still holds.
 */
export const patientFetch: typeof fetch = (input, init) => {
  const dispatcher: Dispatcher = {
    dispatch: (options, handler) =>
      globalDispatcher().dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  };
  return fetch(input, { ...init, dispatcher } as RequestInit);
};

function globalDispatcher(): Dispatcher {
  return Reflect.get(globalThis, GLOBAL_DISPATCHER) as Dispatcher;
}
