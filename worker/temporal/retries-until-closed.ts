import { InterceptingCall, type Interceptor, Metadata, status } from '@grpc/grpc-js';
import { defaultGrpcRetryOptions, makeGrpcRetryInterceptor } from '@temporalio/client';
import { messageOf } from '../../src/protocol/message-of.ts';

type Call = ConstructorParameters<typeof InterceptingCall>[0];

/**
 * For `Connection` of `@temporalio/client`: its retries, which end with the connection. The SDK's alone throw out of a timer
 * where one is due after `close()`, and so end the process.
 *
 * @example
 * const connection = await Connection.connect({ ...temporal.connectionOptions, interceptors: retriesUntilClosed() });
 */
export function retriesUntilClosed(): Interceptor[] {
  return [makeGrpcRetryInterceptor(defaultGrpcRetryOptions()), untilClosed];
}

const untilClosed: Interceptor = (options, nextCall) => {
  try {
    return new InterceptingCall(nextCall(options));
  } catch (error) {
    return new InterceptingCall(cancelledCall(messageOf(error)));
  }
};

/** A call that never reaches a server. */
function cancelledCall(details: string): Call {
  const nothing = () => undefined;
  return {
    start: (_metadata, listener) => {
      listener?.onReceiveMessage?.(null);
      listener?.onReceiveStatus?.({ code: status.CANCELLED, details, metadata: new Metadata() });
    },
    cancelWithStatus: nothing,
    getPeer: () => 'closed',
    sendMessageWithContext: nothing,
    sendMessage: nothing,
    startRead: nothing,
    halfClose: nothing,
    getAuthContext: () => null,
  };
}
