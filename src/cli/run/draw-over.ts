/** Where a terminal doesn't say how wide it is. */
const USUAL_WIDTH = 80;

/** Characters that a line may have without going on in the next one. */
export function widthOf({ columns }: Pick<NodeJS.WriteStream, 'columns'>): number {
  return (columns || USUAL_WIDTH) - 1;
}

/** Writes in the place of the line that the cursor stands on, and leaves it there. */
export function drawOver(terminal: NodeJS.WritableStream, text: string): void {
  terminal.write(`\r\u001b[2K${text}`);
}
