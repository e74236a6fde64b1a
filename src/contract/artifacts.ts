import { z } from 'zod';
import { jsonObject, moment, name, newName, SESSION, SESSION_PATH, WHOSE_ON_THE_WIRE } from './fields.ts';
import { DEFAULT_LISTED, MOST_LISTED } from './lists.ts';
import { LONGEST_NAME } from './message-limits.ts';
import type { Exact, InputOf, Noun, Operation } from './operation.ts';

/** A media type as RFC 9110 has it: a type, a subtype, parameters. */
export const MEDIA_TYPE = /^[\w!#$&^.+-]+\/[\w!#$&^.+*-]+( *;[\u0020-\u007e]*)?$/;

/** Characters of a media type, at most. */
export const LONGEST_MEDIA_TYPE = 255;

const version = z.int().min(0);

const ARTIFACT = z
  .object({
    name: z.string(),
    version: version.meta({ description: 'From 0.' }),
    mimeType: z.string().optional(),
    displayName: z.string().optional().meta({ description: 'A file name for people.' }),
    size: z.int().optional().meta({ description: 'Bytes; absent where the artifact is an address.' }),
    sha256: z.string().optional().meta({ description: 'Of the bytes, hexadecimal.' }),
    uri: z
      .string()
      .optional()
      .meta({ description: 'Of an artifact that is an address: Holdfast has no bytes.' }),
    customMetadata: jsonObject('As it was saved.').optional(),
    savedAt: moment(),
  })
  .meta({ id: 'Artifact' });

const NAMED = {
  ...SESSION,
  name: name(
    'The artifact. Names that begin with `user:` are the user’s in all sessions of the app. URI-encoded.',
  ),
};

const PATH = `${SESSION_PATH}/artifacts/{name}`;

const ABOUT_ARTIFACTS = { tag: 'Artifacts', wire: WHOSE_ON_THE_WIRE } as const;

export const listArtifacts = {
  ...ABOUT_ARTIFACTS,
  name: 'artifacts.list',
  id: 'listArtifacts',
  summary: 'List the artifacts of a session and its user',
  method: 'get',
  path: `${SESSION_PATH}/artifacts`,
  may: { permission: 'read', of: 'path' },
  input: z.object({
    ...SESSION,
    limit: z
      .int()
      .min(1)
      .max(MOST_LISTED)
      .optional()
      .meta({ description: 'Artifacts of a page.', default: DEFAULT_LISTED }),
    after: name('Those after this name, with which the page before has ended.').optional(),
  }),
  output: z
    .object({
      artifacts: z.array(ARTIFACT).meta({ description: 'Newest versions, by name.' }),
      next: z.string().optional().meta({ description: 'Goes on `after` it; absent on the last page.' }),
    })
    .meta({ id: 'Artifacts' }),
  answer: 'The newest version of each.',
} as const satisfies Operation;

export const listArtifactVersions = {
  ...ABOUT_ARTIFACTS,
  name: 'artifacts.versions',
  id: 'listArtifactVersions',
  summary: 'List the versions of an artifact, the oldest first',
  method: 'get',
  path: `${PATH}/versions`,
  may: { permission: 'read', of: 'path' },
  input: z.object(NAMED),
  output: z.object({ versions: z.array(ARTIFACT) }).meta({ id: 'ArtifactVersions' }),
  answer: 'The versions.',
  errors: ['HOLDFAST_NO_SUCH_ARTIFACT', 'HOLDFAST_INVALID_ARTIFACT_NAME'],
} as const satisfies Operation;

export const getArtifact = {
  ...ABOUT_ARTIFACTS,
  name: 'artifacts.get',
  id: 'getArtifact',
  summary: 'Download an artifact',
  description:
    'The bytes as they were saved, with their SHA-256 as `ETag`; `Range` and `If-None-Match` are understood. The version is in `X-Artifact-Version`.',
  method: 'get',
  path: PATH,
  may: { permission: 'read', of: 'path' },
  input: z.object({
    ...NAMED,
    version: version.optional().meta({ description: 'The version. Defaults to the newest one.' }),
  }),
  output: z.never(),
  bytes: 'answer',
  answer: 'The bytes.',
  errors: [
    'HOLDFAST_NO_SUCH_ARTIFACT',
    'HOLDFAST_INVALID_ARTIFACT_NAME',
    'HOLDFAST_ARTIFACT_ELSEWHERE',
    'HOLDFAST_BUCKET_FAILED',
  ],
} as const satisfies Operation;

export const putArtifact = {
  ...ABOUT_ARTIFACTS,
  name: 'artifacts.put',
  id: 'putArtifact',
  summary: 'Upload a version of an artifact',
  description: 'The body is the bytes, its `Content-Type` the type of the artifact.',
  method: 'put',
  path: PATH,
  may: { permission: 'run', of: 'path' },
  input: z.object({
    ...SESSION,
    name: newName('The artifact. Names that begin with `user:` are the user’s in all sessions of the app.'),
    mimeType: z.string().max(LONGEST_MEDIA_TYPE).regex(MEDIA_TYPE).optional().meta({
      description: 'The type of the bytes.',
      default: 'application/octet-stream',
      'x-expected': 'a media type such as application/pdf',
    }),
    saveId: name('One save id is one version, however often it is sent.', LONGEST_NAME).optional(),
  }),
  headers: ['mimeType', 'saveId'],
  wire: { ...WHOSE_ON_THE_WIRE, mimeType: 'content-type', saveId: 'idempotency-key' },
  bytes: 'body',
  output: ARTIFACT,
  status: 201,
  answer: 'The version.',
  errors: [
    'HOLDFAST_SESSION_NOT_FOUND',
    'HOLDFAST_INVALID_ARTIFACT_NAME',
    'HOLDFAST_ARTIFACT_TOO_LARGE',
    'HOLDFAST_BUCKET_FAILED',
  ],
} as const satisfies Operation;

export const deleteArtifact = {
  ...ABOUT_ARTIFACTS,
  name: 'artifacts.delete',
  id: 'deleteArtifact',
  summary: 'Delete all versions of an artifact',
  description: 'Numbers of versions are not used again.',
  method: 'delete',
  path: PATH,
  may: { permission: 'operate', of: 'path' },
  input: z.object(NAMED),
  output: z
    .object({ deleted: z.int().meta({ description: 'How many versions there were.' }) })
    .meta({ id: 'DeletedArtifact' }),
  answer: 'The versions are deleted.',
  errors: ['HOLDFAST_INVALID_ARTIFACT_NAME'],
} as const satisfies Operation;

/** By their methods; routes of the gateway stand in this order. */
export const ARTIFACTS = {
  list: listArtifacts,
  versions: listArtifactVersions,
  get: getArtifact,
  put: putArtifact,
  delete: deleteArtifact,
} as const satisfies Noun;

/** A version of an artifact, without its bytes. */
export type ArtifactRow = Exact<z.output<typeof ARTIFACT>>;
export type ListArtifacts = InputOf<typeof listArtifacts>;
export type ListedArtifacts = Exact<z.output<typeof listArtifacts.output>>;
/** Names an artifact. */
export type NamedArtifact = InputOf<typeof deleteArtifact>;
