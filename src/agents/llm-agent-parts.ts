import { type BaseCodeExecutor, isBaseCodeExecutor } from '../code-executors/base-code-executor.ts';
import { isBuiltInCodeExecutor } from '../code-executors/built-in-code-executor.ts';
import type { BasePlanner } from '../planners/base-planner.ts';
import { isRecord, kindOf } from '../schema/kind-of.ts';
import type { OptionReader } from '../schema/option-reader.ts';
import type { SchemaLike } from '../schema/schema-types.ts';
import { SET_MODEL_RESPONSE } from '../tools/built-in/set-model-response-tool.ts';
import { assertToolName } from '../tools/tool-name.ts';

/** @throws DefinitionError */
export function checkedPlanner(read: OptionReader, planner: unknown): BasePlanner {
  const isPlanner =
    isRecord(planner) &&
    typeof planner.buildPlanningInstruction === 'function' &&
    typeof planner.processPlanningResponse === 'function';
  if (isPlanner) return planner as unknown as BasePlanner;
  return read.fail(
    'planner',
    `expected a BasePlanner (buildPlanningInstruction and processPlanningResponse), got ${kindOf(planner)}`,
  );
}

/** @throws DefinitionError */
export function checkedCodeExecutor(read: OptionReader, executor: unknown): BaseCodeExecutor {
  if (!isBaseCodeExecutor(executor)) {
    return read.fail('codeExecutor', `expected a BaseCodeExecutor, got ${kindOf(executor)}`);
  }
  if (executor.optimizeDataFile) {
    read.fail('codeExecutor.optimizeDataFile', 'data files are not unpacked for code yet; leave it false');
  }
  // Its name is the type of its activities, as a tool's is.
  assertToolName(`${executor.constructor.name} (codeExecutor)`, executor.name);
  return executor;
}

/** @throws DefinitionError naming the place in the list. */
export function checkedProcessors<Processor>(
  read: OptionReader,
  field: 'requestProcessors' | 'responseProcessors',
  given: readonly Processor[] | undefined,
  byDefault: readonly Processor[],
): readonly Processor[] {
  if (given === undefined) return byDefault;
  if (!Array.isArray(given)) {
    return read.fail(field, `expected a list of processors, got ${kindOf(given)}`);
  }
  return Object.freeze(
    // By index, because an array may have holes.
    Array.from({ length: given.length }, (_, index) => {
      const processor: unknown = given[index];
      if (isRecord(processor) && typeof processor.runAsync === 'function') return processor as Processor;
      return read.fail(
        `${field}[${index}]`,
        `expected a processor (an object with runAsync), got ${kindOf(processor)}`,
      );
    }),
  );
}

/** Names that tools of an agent may not have, and what has them. */
export function namesTaken({
  codeExecutor,
  outputSchema,
}: {
  codeExecutor?: BaseCodeExecutor;
  outputSchema?: SchemaLike;
}): Map<string, string> {
  const taken = new Map<string, string>();
  if (codeExecutor !== undefined && !isBuiltInCodeExecutor(codeExecutor))
    taken.set(codeExecutor.name, 'the codeExecutor');
  if (outputSchema !== undefined) taken.set(SET_MODEL_RESPONSE, 'the tool that answers by the outputSchema');
  return taken;
}
