import { BaseVMWorkflow, globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';

// Runs by itself, as the thread of `watched-worker.ts`. The SDK would take a stack trace of each promise for its query `__stack_trace`;
// without the hook that query says that stack traces are not enabled.
Object.defineProperty(globalHandlers, 'setPromiseHook', { value: () => undefined });

// The SDK asks for the log lines of each activation by another message. Most have none, and their answer says so.
const { activate } = BaseVMWorkflow.prototype;
BaseVMWorkflow.prototype.activate = async function (activation) {
  const completion = await activate.call(this, activation);
  const { sinkCalls } = Reflect.get(this, 'activator');
  return sinkCalls.length > 0 ? completion : { ...completion, silentRun: this.runId };
};

await import('@temporalio/worker/lib/workflow/workflow-worker-thread.js');
