import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener } from '@hono/node-server';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

export interface Ticket {
  id: string;
  customerId: string;
  from: string;
  subject: string;
  text: string;
  status: 'open' | 'closed';
  /** Sent to the customer when the ticket was closed. */
  reply?: string;
}

export interface TicketSystemOptions {
  /** Sent by callers as `Authorization: Bearer`. */
  token: string;
  /** Defaults to a free one. */
  port?: number;
  log?: (line: string) => void;
}

/** Under which a call of Holdfast has a key that is the same for all its attempts. */
const KEY = 'holdfast/idempotency-key';

const TICKET = z.object({
  id: z.string(),
  customerId: z.string(),
  from: z.string(),
  subject: z.string(),
  text: z.string(),
  status: z.enum(['open', 'closed']),
  reply: z.string().optional(),
});

/** A ticket system that knows nothing of agents: an MCP server over Streamable HTTP. */
export class TicketSystem {
  readonly #options: TicketSystemOptions;
  readonly #tickets: Map<string, Ticket>;
  /** Keys of calls that have closed a ticket, by ticket. */
  readonly #closedBy = new Map<string, unknown>();
  readonly #server: Server;

  constructor(options: TicketSystemOptions) {
    this.#options = options;
    this.#tickets = new Map(madeUpTickets().map((ticket) => [ticket.id, ticket]));
    const handler = createMcpHandler(() => this.#mcpServer());
    const listener = getRequestListener(async (request) => {
      const isKnown = request.headers.get('authorization') === `Bearer ${options.token}`;
      return isKnown ? await handler.fetch(request) : new Response('not for you', { status: 401 });
    });
    this.#server = createServer(listener);
  }

  /** Serves on this machine. Returns its address. */
  async open(): Promise<string> {
    await new Promise<void>((listening, failed) => {
      this.#server.once('error', failed);
      this.#server.listen(this.#options.port ?? 0, '127.0.0.1', listening);
    });
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #mcpServer(): McpServer {
    const server = new McpServer({ name: 'tickets', version: '1.0.0' });
    server.registerTool(
      'read_ticket',
      {
        description: 'Reads a ticket: the customer, and what they have written.',
        inputSchema: z.object({ id: z.string().describe('a ticket’s id, like T-1042') }),
        outputSchema: TICKET,
        annotations: { readOnlyHint: true },
      },
      ({ id }) =>
        this.#answer(id, (ticket) => {
          this.#log(`${id} is read`);
          return ticket;
        }),
    );
    server.registerTool(
      'close_ticket',
      {
        description: 'Sends a reply to the customer, and closes the ticket for good.',
        inputSchema: z.object({ id: z.string(), reply: z.string().min(1) }),
        outputSchema: TICKET,
      },
      ({ id, reply }, { mcpReq }) =>
        this.#answer(id, (ticket) => this.#close(ticket, reply, mcpReq._meta?.[KEY])),
    );
    server.registerTool(
      'delete_ticket',
      { description: 'Deletes a ticket.', inputSchema: z.object({ id: z.string() }), outputSchema: TICKET },
      ({ id }) =>
        this.#answer(id, (ticket) => {
          this.#tickets.delete(id);
          this.#log(`${id} is deleted`);
          return ticket;
        }),
    );
    return server;
  }

  #close(ticket: Ticket, reply: string, key: unknown): Ticket {
    if (ticket.status === 'closed') {
      // The same call again: its first answer was lost on the way.
      if (key !== undefined && this.#closedBy.get(ticket.id) === key) return ticket;
      throw new Error(`${ticket.id} is closed already`);
    }
    ticket.status = 'closed';
    ticket.reply = reply;
    this.#closedBy.set(ticket.id, key);
    this.#log(`${ticket.id} is closed, and ${ticket.from} has a mail`);
    return ticket;
  }

  #answer(id: string, work: (ticket: Ticket) => Ticket) {
    try {
      const ticket = this.#tickets.get(id);
      if (ticket === undefined) throw new Error(`there is no ticket ${id}`);
      const structuredContent = { ...work(ticket) };
      return {
        content: [{ type: 'text' as const, text: JSON.stringify(structuredContent) }],
        structuredContent,
      };
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      return { content: [{ type: 'text' as const, text }], isError: true };
    }
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }
}

function madeUpTickets(): Ticket[] {
  return [
    {
      id: 'T-1042',
      customerId: 'C-17',
      from: 'Ingrid Dahl',
      subject: 'Charged twice',
      text: 'You have charged me twice for October. Please pay one of them back.',
      status: 'open',
    },
    {
      id: 'T-1043',
      customerId: 'C-23',
      from: 'Jonas Berg',
      subject: 'Charged twice?',
      text: 'I think that I have paid twice for October. Is that so?',
      status: 'open',
    },
  ];
}
