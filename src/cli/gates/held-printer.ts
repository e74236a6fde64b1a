import type { Printer } from '../run/printer.ts';

/** A printer that keeps back what comes while somebody types an answer. */
export interface HeldPrinter {
  printer: Printer;
  hold(): void;
  /** Prints what was kept back. */
  release(): void;
}

export function heldPrinter(to: Printer): HeldPrinter {
  let held: (() => void)[] | undefined;
  const kept =
    <Item extends unknown[]>(print: (...item: Item) => void) =>
    (...item: Item) => {
      if (held === undefined) print(...item);
      else held.push(() => print(...item));
    };
  return {
    printer: {
      note: kept(to.note),
      started: kept(to.started),
      event: kept(to.event),
      text: kept(to.text),
      textDropped: kept(to.textDropped),
      callStarted: kept(to.callStarted),
      callFinished: kept(to.callFinished),
      toolChunk: kept(to.toolChunk),
      toolChunksDropped: kept(to.toolChunksDropped),
      job: kept(to.job),
      endLine: kept(to.endLine),
      outcome: kept(to.outcome),
    },
    hold() {
      if (held === undefined) to.endLine();
      held ??= [];
    },
    release() {
      const kept = held ?? [];
      held = undefined;
      for (const print of kept) print();
    },
  };
}
