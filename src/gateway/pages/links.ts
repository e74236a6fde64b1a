import type { TurnHandle } from '../../client/turns/turn-handle.ts';
import type { GatewayAbout } from '../../contract/about.ts';
import { workflowPage } from '../../protocol/temporal-ui.ts';
import type { SessionNames } from '../../store/sessions/session-names.ts';

export interface TurnLinks {
  result: string;
  events: string;
  receipt: string;
  session: string;
  ui?: string;
}

/** Links of a turn that a message was sent for. */
export interface TurnView
  extends Pick<
    TurnHandle,
    'workflowId' | 'runId' | 'invocationId' | 'messageId' | 'taskQueue' | 'attached' | 'disposition'
  > {
  links: TurnLinks;
}

export function turnView(names: SessionNames, turn: TurnHandle, about: GatewayAbout): TurnView {
  const { workflowId, runId, invocationId, messageId, taskQueue, attached, disposition } = turn;
  const fields = { workflowId, runId, invocationId, messageId, taskQueue, attached, disposition };
  return { ...fields, links: linksOf(names, turn, about) };
}

/** Paths, since only the caller knows by which name it reaches the gateway. */
function linksOf({ app, userId, sessionId }: SessionNames, turn: TurnHandle, about: GatewayAbout): TurnLinks {
  const [inApp, ofUser, inSession, ofTurn] = [app, userId, sessionId, turn.messageId].map(encodeURIComponent);
  const session = `/v1/apps/${inApp}/users/${ofUser}/sessions/${inSession}`;
  const result = `${session}/turns/${ofTurn}`;
  const ui = runPage(about, turn);
  return {
    result,
    events: `${result}/events`,
    receipt: `${result}/receipt`,
    session,
    ...(ui === undefined ? {} : { ui }),
  };
}

function runPage({ uiUrl, namespace }: GatewayAbout, { workflowId, runId }: TurnHandle): string | undefined {
  if (uiUrl === undefined) return undefined;
  // Of a turn whose history was deleted the run isn't known.
  return workflowPage({ uiUrl, namespace }, workflowId, runId === '' ? undefined : runId);
}
