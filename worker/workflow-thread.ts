import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';

// Runs by itself, as the thread of `watched-worker.ts`. The SDK would take a stack trace of each promise for its query `__stack_trace`;
// without the hook that query says that stack traces are not enabled.
Object.defineProperty(globalHandlers, 'setPromiseHook', { value: () => undefined });

await import('@temporalio/worker/lib/workflow/workflow-worker-thread.js');
