import type { ChildMark } from '../../client/stream/stream-item.ts';

interface Marked {
  holdfast?: ChildMark;
}

/** Names of agents from the root to one below it, for people. */
export function pathText(path: readonly string[]): string {
  return path.join(' / ');
}

/** The speaker: the path of an agent that a call runs, else the event's author. */
export function speakerOf({ holdfast }: Marked, author: string): string {
  return holdfast === undefined ? author : pathText(holdfast.path);
}

/** As it is shown: a tool of an agent that a call runs has the way to that agent before it. */
export function withPath<Item extends Marked & { agent?: string; tool?: string }>(item: Item): Item {
  const { holdfast, agent, tool } = item;
  if (holdfast === undefined) return item;
  return {
    ...item,
    ...(agent === undefined ? {} : { agent: speakerOf(item, agent) }),
    ...(tool === undefined ? {} : { tool: `${pathText(holdfast.path)}: ${tool}` }),
  };
}
