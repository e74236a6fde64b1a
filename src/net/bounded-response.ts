/**
 * A response whose body breaks off after so many bytes, as they are after decompression.
 *
 * @param tooLarge the error of the body.
 */
export function boundedResponse(response: Response, maxBytes: number, tooLarge: () => Error): Response {
  if (response.body === null) return response;
  let bytes = 0;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) controller.error(tooLarge());
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counted), { status, statusText, headers });
}
