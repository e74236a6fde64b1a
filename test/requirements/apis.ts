import type { Rows } from './row.ts';

/** Tools that come from a document, and toolsets that come and go. */
export const APIS: Rows = {
  'openapi.tools': ['adk-rs: Where tools come from', 'Each operation of an OpenAPI document is a tool.'],
  'openapi.documents': [
    'holdfast',
    'Documents of Swagger 2, OpenAPI 3.0, 3.1 and 3.2, JSON and YAML, are read from memory, files and servers.',
  ],
  'openapi.external': [
    'holdfast',
    'References lead to other documents where they are allowed; others are named in the error.',
  ],
  'openapi.names': [
    'holdfast',
    'Tools of operations have valid names of their own, the same on each worker.',
  ],
  'openapi.arguments': ['holdfast', 'Each parameter and each property of a body can be reached.'],
  'openapi.styles': ['holdfast', 'Parameters are written in every style of OpenAPI.'],
  'openapi.bodies': ['holdfast', 'Bodies are JSON, forms, multipart forms, texts and bytes.'],
  'openapi.filters': [
    'holdfast',
    'Operations are chosen by tag, path, id and method, and too many are refused.',
  ],
  'openapi.servers': ['holdfast', 'Requests go to the chosen server with its variables, and past the guard.'],
  'openapi.security': [
    'holdfast',
    'All security schemes count, together and as alternatives, and `security: []` opens.',
  ],
  'openapi.ask': ['holdfast', 'A missing credential is asked of a person, for one scheme of one API.'],
  'openapi.secrets': [
    'holdfast',
    'Secrets of an API, in plain, as JSON or in an address, are in no result and no error, and go to no other host.',
  ],
  'openapi.retry': ['holdfast', 'Safe and idempotent requests are tried again, as the server asks.'],
  'openapi.keys': ['holdfast', 'Other requests have an idempotency key, and follow onUnknownOutcome.'],
  'openapi.writes': ['holdfast', 'Writes wait for approval where a toolset says so.'],
  'openapi.pinned': ['holdfast', 'An approval is for the operation as its document described it then.'],
  'openapi.answers': ['holdfast', 'An answer but one of success is an error with its status and body.'],
  'openapi.artifacts': ['holdfast', 'Large and binary answers become artifacts.'],
  'openapi.bad': [
    'holdfast',
    'A wrong or hostile document is refused with the operation and the reason, at bounded cost.',
  ],
  'openapi.injection': ['holdfast', 'No argument leaves its place in a request.'],
  'openapi.start': [
    'holdfast',
    'A worker is told when it starts of documents that are wrong, and of schemas that a provider refuses.',
  ],
  'openapi.clash': [
    'holdfast',
    'A worker is told when it starts of a name that two tools of an agent have, with both owners.',
  ],
  'openapi.optional': ['holdfast', 'An agent goes on without an optional toolset that fails.'],
  'openapi.public': ['holdfast', 'Large public documents become valid declarations.', 'deep'],
  'toolset.gone': ['holdfast', 'A call whose tool has gone from its toolset is answered within seconds.'],
};
