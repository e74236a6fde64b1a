import { z } from '@hono/zod-openapi';
import type { Event } from '../../events/event.ts';
import type { StoredEvent } from '../../store/sessions/stored-event.ts';

export const CONTENT = z
  .looseObject({
    role: z.string().optional().openapi({ description: '`user` or `model`.' }),
    parts: z
      .array(z.looseObject({ text: z.string().optional() }))
      .optional()
      .openapi({ description: 'Parts as the Gemini API has them: text, functionCall, functionResponse, …' }),
  })
  .openapi('Content', { description: 'What was said, in the form of the Gemini API.' });

const EVENT = z
  .looseObject({
    id: z.string(),
    invocationId: z.string().openapi({ description: 'The turn that the event belongs to.' }),
    author: z.string().optional().openapi({ description: '`user`, or the agent’s name.' }),
    timestamp: z.number().openapi({ description: 'Milliseconds since the epoch.' }),
    content: CONTENT.optional(),
    actions: z.looseObject({
      stateDelta: z.record(z.string(), z.unknown()).optional(),
      transferToAgent: z.string().optional(),
    }),
    errorCode: z.string().optional(),
    errorMessage: z.string().optional(),
  })
  .openapi('Event', {
    description: 'An event in the wire form of the Agent Development Kit.',
  }) as z.ZodType<unknown>;

export const STORED_EVENT = z
  .looseObject({
    seq: z.int().openapi({ description: 'From 1, gapless within a session.' }),
    kind: z.enum(['message', 'model', 'responses', 'error', 'rewind', 'callback', 'request']),
    runKey: z.string(),
    step: z.int(),
    hidesAfter: z.int().optional().openapi({
      description: 'Of a rewind: events with a greater seq, up to this one, are no part of what agents see.',
    }),
    event: EVENT as z.ZodType<Event>,
  })
  .openapi('StoredEvent', {
    description: 'An event with its place in the session.',
  }) as z.ZodType<StoredEvent>;

export const EVENT_PAGE = z
  .object({
    events: z.array(STORED_EVENT),
    last: z.int().openapi({ description: 'The seq to go on `after`.' }),
    more: z.boolean().openapi({ description: 'There are events after `last` already.' }),
  })
  .openapi('EventPage');
