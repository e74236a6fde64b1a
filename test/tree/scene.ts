import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { BaseAgent } from '../../src/agents/base-agent.ts';
import type { StoredEvent } from '../../src/contract/events.ts';
import type { ApprovalRow } from '../../src/contract/requests.ts';
import type { RunningChild, TurnResult, TurnStatus } from '../../src/protocol/turn.ts';
import type { OpenShared, OwnPart } from '../setup/shared-environment.ts';
import type { TurnEnvironment } from '../setup/turn-environment.ts';

/** A run of a workflow of the tree, as the server has it. */
export interface TreeRun {
  workflowId: string;
  runId: string;
  status: string;
}

/** One turn of a tree of agents, seen from outside. */
export class TreeScene {
  readonly environment: TurnEnvironment;
  readonly names = { app: 'test', userId: 'ada', sessionId: randomUUID() };
  readonly rootId = `test/ada/${this.names.sessionId}`;

  private constructor(environment: TurnEnvironment) {
    this.environment = environment;
  }

  static async open(openEnvironment: OpenShared, agent: BaseAgent, own: OwnPart = {}): Promise<TreeScene> {
    return new TreeScene(await openEnvironment({ agents: [agent], ...own }));
  }

  get root() {
    return this.handle(this.rootId);
  }

  handle(workflowId: string, runId?: string) {
    return this.environment.temporal.workflow.getHandle(workflowId, runId);
  }

  async send(message = 'go') {
    return await this.environment.client.sendMessage({ ...this.names, message });
  }

  async say(message: string): Promise<TurnResult> {
    return await (await this.send(message)).result();
  }

  /** The requests that wait, once they are so many. */
  async pending(count: number): Promise<ApprovalRow[]> {
    const list = () => this.environment.client.approvals.list(this.names);
    await expect.poll(async () => (await list()).length).toBe(count);
    return await list();
  }

  async status(workflowId = this.rootId): Promise<TurnStatus> {
    return await this.handle(workflowId).query<TurnStatus>('status');
  }

  /** The agent of this name that runs as a child of the workflow. */
  async child(agent: string, of = this.rootId): Promise<RunningChild> {
    const find = async () => (await this.status(of)).children?.find((child) => child.agent === agent);
    await expect.poll(find).toBeDefined();
    const found = await find();
    if (found === undefined) throw new Error(`${agent} has ended`);
    return found;
  }

  async details(workflowId = this.rootId): Promise<string> {
    const metadata = await this.handle(workflowId).query<{ currentDetails?: string }>(
      '__temporal_workflow_metadata',
    );
    return metadata.currentDetails ?? '';
  }

  /** All runs below the root. */
  async below(): Promise<TreeRun[]> {
    const runs: TreeRun[] = [];
    for await (const { workflowId, runId } of this.environment.temporal.workflow.list()) {
      if (!workflowId.startsWith(`${this.rootId}/`)) continue;
      // The list comes a moment behind the runs.
      const { status } = await this.handle(workflowId, runId).describe();
      runs.push({ workflowId, runId, status: status.name });
    }
    return runs;
  }

  async reset(workflowId: string, which: 'first' | 'last' = 'first'): Promise<string> {
    const { temporal } = this.environment;
    const handle = this.handle(workflowId);
    const { runId } = await handle.describe();
    const { events = [] } = await handle.fetchHistory();
    const tasks = (events ?? []).filter((event) => event.workflowTaskCompletedEventAttributes);
    const task = which === 'first' ? tasks[0] : tasks.at(-1);
    const reset = await temporal.workflowService.resetWorkflowExecution({
      namespace: temporal.options.namespace,
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: task?.eventId ?? null,
      reason: 'a test',
      requestId: randomUUID(),
    });
    return reset.runId;
  }

  async events(): Promise<StoredEvent[]> {
    return await this.environment.store.sessions.readEvents(this.names);
  }

  /** Responses of the session's calls, in order. */
  async responses(): Promise<{ name: string | undefined; response: unknown }[]> {
    return (await this.events()).flatMap(({ event }) =>
      (event.content?.parts ?? []).flatMap(({ functionResponse }) =>
        functionResponse === undefined
          ? []
          : [{ name: functionResponse.name, response: functionResponse.response }],
      ),
    );
  }
}
