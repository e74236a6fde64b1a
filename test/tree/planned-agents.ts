import { z } from 'zod';
import type * as holdfast from '../../src/index.ts';
import type { LlmResponse } from '../../src/models/llm-response.ts';
import { OwnModel, saying } from '../setup/own-model.ts';
import { argsOf, instructionOf, keptBy, nameOf, writtenBy } from './interpreter.ts';
import { type ShownToModel, shownToModel } from './shown-to-model.ts';
import { calling } from './speaking.ts';
import type { Scope, TalkerPlan, TreePlan } from './tree-plan.ts';

/** What both packages export, in the types of ours. */
export type Library = typeof holdfast;

/** The agents of plans, of either package. */
export class PlannedAgents {
  /** What their models were shown, in order. */
  readonly shown: ShownToModel[] = [];
  readonly #library: Library;

  constructor(library: Library) {
    this.#library = library;
  }

  agentOf(plan: TreePlan): holdfast.BaseAgent {
    const { name } = plan;
    const { SequentialAgent, ParallelAgent, LoopAgent } = this.#library;
    const subAgents = plan.children.map((child) => this.agentOf(child));
    switch (plan.kind) {
      case 'sequence':
        return new SequentialAgent({ name, subAgents });
      case 'parallel':
        return new ParallelAgent({ name, subAgents });
      case 'loop':
        return new LoopAgent({ name, subAgents, maxIterations: plan.rounds });
      case 'talker':
        return this.#talker(plan, subAgents);
    }
  }

  #talker(plan: TalkerPlan, subAgents: holdfast.BaseAgent[]): holdfast.LlmAgent {
    const { name } = plan;
    const { LlmAgent, FunctionTool, AgentTool, EXIT_LOOP } = this.#library;
    let said = 0;
    const model = new OwnModel(async ({ contents, config }) => {
      this.shown.push(shownToModel(name, structuredClone({ contents, config: withoutTools(config) })));
      said += 1;
      return lineOf(plan, said - 1);
    });
    const write = new FunctionTool({
      name: 'write',
      description: 'd',
      parameters: z.object({ scope: z.string(), value: z.number() }),
      execute: ({ scope, value }, { state }) => {
        state.set(writtenBy(name, scope as Scope), value);
        return { written: value };
      },
    });
    return new LlmAgent({
      name,
      model,
      subAgents,
      instruction: instructionOf(plan),
      tools: [
        write,
        EXIT_LOOP,
        ...plan.helpers.map((helper) => new AgentTool({ agent: this.agentOf(helper) })),
      ],
      includeContents: plan.include,
      disallowTransferToParent: !plan.toParent,
      disallowTransferToPeers: !plan.toPeers,
      ...(plan.keeps ? { outputKey: keptBy(name) } : {}),
    });
  }
}

function withoutTools(config: holdfast.LlmRequest['config']): holdfast.LlmRequest['config'] {
  const { systemInstruction } = config ?? {};
  return systemInstruction === undefined ? {} : { systemInstruction };
}

function lineOf({ script, name }: TalkerPlan, at: number): LlmResponse {
  const line = script[at] ?? { say: 'done' };
  if ('say' in line) return saying(`${line.say} from ${name}, ${at}`);
  return calling(...line.calls.map((call) => ({ name: nameOf(call), args: argsOf(call) })));
}
