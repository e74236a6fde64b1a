import { defined } from '../../protocol/json.ts';

/** In `_meta` of a call: the same in every attempt of it and in no other call. Our client sends it, and our server reads it. */
export const IDEMPOTENCY_KEY = 'holdfast/idempotency-key';

/** The answer to a call: a result, questions, or a task. Fields: `CallToolResult` and `InputRequiredResult` of MCP 2026-07-28. */
export interface McpAnswer {
  content?: readonly { readonly type: string }[];
  structuredContent?: unknown;
  isError?: boolean | undefined;
  resultType?: unknown;
  inputRequests?: Readonly<Record<string, unknown>>;
  requestState?: string;
  /** The server hears of the answers by itself: the call is made again as it was. */
  hearsAnswers?: true;
  /** The call goes on as this task. */
  task?: McpTaskReference;
}

/** Fields of an answer that are sent back as they came: the server's state, and the keys of its questions. */
export function goesBack(answer: Pick<McpAnswer, 'requestState' | 'inputRequests'>): object {
  const { requestState, inputRequests } = answer;
  return {
    ...defined({ requestState }),
    ...(inputRequests ? { inputRequests: Object.keys(inputRequests) } : {}),
  };
}

/** Answers to the questions of a server, and its own state, in a call that goes on. */
export interface McpReplies {
  inputResponses?: object;
  requestState?: string;
}

/** A server's task as a call records it: any worker can ask for it. JSON. */
export interface McpTaskReference {
  resultType: 'task';
  taskId: string;
  /** The session that a task of 2025-11-25 lives in. */
  session?: McpSession;
}

/** A session over Streamable HTTP with a server of 2025. */
export interface McpSession {
  id: string;
  protocolVersion?: string;
}
