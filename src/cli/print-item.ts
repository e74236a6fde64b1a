import type { StreamItem } from '../client/stream/stream-item.ts';
import type { Printer } from './run/printer.ts';

export function printItem(printer: Printer, item: StreamItem): void {
  if (item.type === 'event') printer.event(item);
  else if (item.type === 'text') printer.text(item);
  else if (item.type === 'text dropped') printer.textDropped(item);
  else if (item.type === 'call started') printer.callStarted(item);
  else if (item.type === 'tool chunk') printer.toolChunk(item);
  else if (item.type === 'tool chunks dropped') printer.toolChunksDropped(item);
  else if (item.type === 'job') printer.job(item);
  else printer.callFinished(item);
}
