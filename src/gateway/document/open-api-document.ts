import type { ApiDocument } from './api-document.ts';

const DESCRIPTION = `Turns of agents, over HTTP. A message to a session starts a turn, or waits for the one that runs; its result
is polled for, and its events are followed as server-sent events, which go on after the last one seen.

Bodies are JSON. Parts of paths are URI-encoded. Each error is \`{ error: { code, message } }\`, with a code that stays the same
from release to release. Each answer has the header \`X-Request-Id\`, which stands in the gateway's log.`;

const TAGS = [
  { name: 'Gateway', description: 'The gateway itself.' },
  { name: 'Sessions', description: 'Conversations of a user in an app.' },
  { name: 'Turns', description: 'A turn goes from a message to its final answer.' },
  { name: 'Events', description: 'Messages, calls and results of a session.' },
  { name: 'Approvals', description: 'Requests to people, and their audit.' },
  { name: 'Artifacts', description: 'Files that agents and users save under names, in versions.' },
  { name: 'Memories', description: 'What is remembered of users beyond a session.' },
  { name: 'Corpora', description: 'Documents of an app that agents search.' },
  { name: 'Jobs', description: 'Jobs of long-running calls, which end after the call has returned.' },
  { name: 'Credentials', description: 'Secrets of users, for tools.' },
  { name: 'Steering', description: 'Changes of a session, and of its running turn.' },
];

/** The gateway's document, of OpenAPI 3.1. */
export function openApiDocument({ paths, schemas }: ApiDocument, version: string) {
  return {
    openapi: '3.1.0',
    info: { title: 'Holdfast gateway', version, description: DESCRIPTION, license: { name: 'Apache-2.0' } },
    tags: TAGS,
    security: [{ token: [] }],
    components: {
      schemas,
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer' },
        jobToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'The token of one job, good for that job only.',
        },
      },
    },
    paths,
  };
}
