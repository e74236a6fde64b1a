import {
  BaseTool,
  type Context,
  FunctionTool,
  LlmAgent,
  type ReadonlyContext,
  type RunAsyncToolRequest,
} from '@google/adk';
import { type FunctionDeclaration, type Schema, Type } from '@google/genai';
import { z } from 'zod/v3';

interface Order {
  id: string;
  total: number;
}

const orders = new Map<string, Order>();

function remember(context: Context | undefined, order: Order): void {
  const seen = context?.state.get<string[]>('seen', []) ?? [];
  context?.state.set('seen', [...seen, order.id]);
  context?.state.update({ 'user:last_order': order.id });
}

const findOrder = new FunctionTool({
  name: 'find_order',
  description: 'Finds an order.',
  parameters: z.object({ orderId: z.string(), withItems: z.boolean().optional() }),
  execute: ({ orderId }, toolContext) => {
    const order = orders.get(orderId.toUpperCase());
    if (order === undefined) throw new Error(`no order ${orderId}`);
    remember(toolContext, order);
    return order;
  },
});

const noteSchema: Schema = {
  type: Type.OBJECT,
  properties: { text: { type: Type.STRING } },
  required: ['text'],
};

const addNote = new FunctionTool({
  name: 'add_note',
  description: 'Adds a note.',
  parameters: noteSchema,
  execute: async (input, toolContext) => {
    const { text } = input as { text: string };
    if (toolContext?.abortSignal?.aborted) return null;
    return { by: toolContext?.userId, in: toolContext?.sessionId, call: toolContext?.functionCallId, text };
  },
});

class CloseOrder extends BaseTool {
  constructor() {
    super({ name: 'close_order', description: 'Closes an order.' });
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parameters: {
        type: Type.OBJECT,
        properties: { orderId: { type: Type.STRING } },
        required: ['orderId'],
      },
    };
  }

  override async runAsync({ args, toolContext }: RunAsyncToolRequest): Promise<unknown> {
    const orderId = String(args.orderId);
    toolContext.actions.skipSummarization = true;
    toolContext.eventActions.stateDelta[`closed:${orderId}`] = true;
    return { closed: orders.delete(orderId), by: toolContext.agentName };
  }
}

export const rootAgent = new LlmAgent({
  name: 'orders',
  model: 'gemini-2.5-flash',
  instruction: (context: ReadonlyContext) =>
    `You look after the orders of ${context.userId}; last: ${context.state.get('user:last_order', 'none')}.`,
  tools: [findOrder, addNote, new CloseOrder()],
});
