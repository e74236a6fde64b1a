import { z } from 'zod';
import type { Content } from '../events/content.ts';
import { jsonObject, moment, name, USER, USER_PATH, WHOSE_ON_THE_WIRE } from './fields.ts';
import { MOST_LISTED } from './lists.ts';
import { LONGEST_NAME } from './message-limits.ts';
import type { Exact, InputOf, Noun, Operation } from './operation.ts';

/** Memories of a list, where nobody asks for another number. */
export const DEFAULT_MEMORIES = 20;

/** Characters of a memory that is added. */
export const LONGEST_MEMORY = 32_000;

const MEMORY = z
  .object({
    id: z.string(),
    content: z.looseObject({}).meta({ description: 'As ADK’s Content.' }) as unknown as z.ZodType<Content>,
    author: z.string().optional().meta({ description: '`user`, or the name of an agent.' }),
    saidAt: moment(),
    sessionId: z
      .string()
      .optional()
      .meta({ description: 'The session that it is of; absent where it was added by itself.' }),
    customMetadata: jsonObject('As it was added.').optional(),
  })
  .meta({ id: 'Memory' });

const ABOUT_MEMORIES = { tag: 'Memories', wire: WHOSE_ON_THE_WIRE } as const;
const PATH = `${USER_PATH}/memories`;

export const listMemories = {
  ...ABOUT_MEMORIES,
  name: 'memories.list',
  id: 'listMemories',
  summary: 'Search the memories of a user, or list the newest ones',
  description: 'By words: embeddings are for agents. Memories in an app’s own service are not among them.',
  method: 'get',
  path: PATH,
  may: { permission: 'read', of: 'path' },
  input: z.object({
    ...USER,
    query: z
      .string()
      .max(4_000)
      .optional()
      .meta({ description: 'Words to be found; the best memories come first.' }),
    limit: z
      .int()
      .min(1)
      .max(MOST_LISTED)
      .optional()
      .meta({ description: 'Memories of a page.', default: DEFAULT_MEMORIES }),
    after: name(
      'Of a list without `query`: older ones than this id, with which the page before has ended.',
    ).optional(),
  }),
  output: z
    .object({
      memories: z.array(MEMORY),
      next: z.string().optional().meta({ description: 'Goes on `after` it; absent on the last page.' }),
    })
    .meta({ id: 'Memories' }),
  answer: 'The memories.',
} as const satisfies Operation;

export const addMemory = {
  ...ABOUT_MEMORIES,
  name: 'memories.add',
  id: 'addMemory',
  summary: 'Add a memory of a user',
  description: 'It is found in all sessions of the user, by its words.',
  method: 'post',
  path: PATH,
  may: { permission: 'operate', of: 'path' },
  input: z.object({
    ...USER,
    text: z.string().min(1).max(LONGEST_MEMORY).meta({ description: 'The text.' }),
    author: name('`user`, or the name of an agent.', LONGEST_NAME).optional(),
    memoryId: name('One memory id is one memory: a later one takes its place.', LONGEST_NAME).optional(),
    customMetadata: jsonObject('Kept with it.').optional(),
  }),
  output: z.object({ id: z.string() }).meta({ id: 'AddedMemory' }),
  answer: 'The memory.',
  status: 201,
} as const satisfies Operation;

export const deleteMemory = {
  ...ABOUT_MEMORIES,
  name: 'memories.delete',
  id: 'deleteMemory',
  summary: 'Delete a memory',
  description: 'Deleting again is no error.',
  method: 'delete',
  path: `${PATH}/{id}`,
  may: { permission: 'operate', of: 'path' },
  input: z.object({ ...USER, id: name('The memory.') }),
  output: z
    .object({ deleted: z.boolean().meta({ description: 'Whether there was one.' }) })
    .meta({ id: 'DeletedMemory' }),
  answer: 'It is gone.',
} as const satisfies Operation;

export const deleteMemories = {
  ...ABOUT_MEMORIES,
  name: 'memories.deleteAll',
  id: 'deleteMemories',
  summary: 'Delete all memories of a user',
  description: 'Later messages are remembered again. Sessions keep their events.',
  method: 'delete',
  path: PATH,
  may: { permission: 'operate', of: 'path' },
  input: z.object(USER),
  output: z
    .object({ deleted: z.int().meta({ description: 'How many there were.' }) })
    .meta({ id: 'DeletedMemories' }),
  answer: 'They are gone.',
} as const satisfies Operation;

/** By their methods; routes of the gateway stand in this order. */
export const MEMORIES = {
  list: listMemories,
  add: addMemory,
  delete: deleteMemory,
  deleteAll: deleteMemories,
} as const satisfies Noun;

/** A memory of a user. */
export type Memory = Exact<z.output<typeof MEMORY>>;
export type ListMemories = InputOf<typeof listMemories>;
export type ListedMemories = Exact<z.output<typeof listMemories.output>>;
export type AddMemory = InputOf<typeof addMemory>;
export type DeleteMemory = InputOf<typeof deleteMemory>;
export type DeleteMemories = InputOf<typeof deleteMemories>;
