import type { Content } from '../../src/index.ts';
import type { Came, ComparableEvent } from './comparable.ts';
import type { Difference } from './scenario.ts';

export const MERGED: Difference = {
  because: 'Adjacent words of models are one content, since providers refuse calls right after words.',
  adk: merged,
};

/** What throws where ADK lets it out of `runAsync`. */
export const KEPT =
  'An error outside of a model call is the error of its turn, which is kept; ADK throws out of `runAsync`.';

export const NO_OUTPUT =
  'Calls and responses are no output; ADK sets `outputKey` to an empty text for long-running tools, and for tools that skip the summary.';

/** Of responses to long-running calls. */
export const CONTINUES: Difference = {
  because:
    'The first result of a long-running tool is marked in its event as a response with successors (`willContinue`); ADK leaves that to its reader.',
  adk: continuing,
};

/** Responses behind the calls that an event lists as long-running say that others follow. */
export function continuing(came: Came): Came {
  const isLong = (events: readonly ComparableEvent[], id: string | undefined) =>
    id !== undefined && events.some(({ longRunningToolIds = [] }) => longRunningToolIds.includes(id));
  const events = came.events.map((turn) =>
    turn.map((event) => {
      const { content } = event;
      if (content?.parts === undefined) return event;
      const parts = content.parts.map((part) => {
        const { functionResponse } = part;
        if (functionResponse === undefined || !isLong(turn, functionResponse.id)) return part;
        return { ...part, functionResponse: { ...functionResponse, willContinue: true } };
      });
      return { ...event, content: { ...content, parts } };
    }),
  );
  return { ...came, events };
}

/** ADK's outcome with another text in its JSON, whose keys are in order. */
export function replaced(came: Came, found: string, by: string): Came {
  const json = JSON.stringify(came, sortedKeys);
  if (!json.includes(found)) throw new Error(`ADK's outcome has no ${found}: the difference is gone`);
  return JSON.parse(json.replaceAll(found, by));
}

/** Where ADK's `runAsync` throws. */
export function afterThrow(came: Came, message: RegExp): Came {
  const [thrown] = came.thrown;
  if (thrown === undefined || !message.test(thrown.message)) {
    throw new Error(`ADK has thrown ${JSON.stringify(thrown)}, not ${message}: the difference is gone`);
  }
  return { ...came, thrown: came.thrown.slice(1) };
}

/** With other events in a turn, which is the last one unless it is named. */
export function withEvents(
  came: Came,
  change: (events: ComparableEvent[]) => ComparableEvent[],
  turn = came.events.length,
): Came {
  return {
    ...came,
    events: came.events.map((events, index) => (index + 1 === turn ? change(events) : events)),
  };
}

/** Where ADK throws, a turn of Holdfast ends with an error event. */
export function endedBy(came: Came, thrown: RegExp, event: ComparableEvent): Came {
  const turn = came.thrown[0]?.turn;
  return withEvents(afterThrow(came, thrown), (events) => [...events, event], turn);
}

export function merged(came: Came): Came {
  const requests = came.requests.map((request) => ({
    ...request,
    contents: mergedContents(request.contents),
  }));
  return { ...came, requests };
}

export function mergedContents(given: readonly Content[]): Content[] {
  const contents: Content[] = [];
  for (const content of given) {
    const before = contents.at(-1);
    if (content.role !== 'model' || before?.role !== 'model') contents.push(content);
    else contents.splice(-1, 1, { ...content, parts: [...(before.parts ?? []), ...(content.parts ?? [])] });
  }
  return contents;
}

/** Without what {@link CONTINUES} is about, wherever it was told. */
export function withoutContinuing(came: Came): Came {
  return JSON.parse(JSON.stringify(came, (key, value) => (key === 'willContinue' ? undefined : value)));
}

/** Errors of models that nobody knows. */
export function modelFailed(came: Came, message: string): Came {
  return replaced(
    came,
    `"errorCode":"UNKNOWN_ERROR","errorMessage":"${message}"`,
    `"errorCode":"HOLDFAST_MODEL_UNKNOWN","errorMessage":"The model call failed: ${message}"`,
  );
}

function sortedKeys(_key: string, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)));
}
