/** The parts of Block Kit in use. Limits: https://docs.slack.dev/reference/block-kit */
export type Block = HeaderBlock | SectionBlock | ContextBlock | ActionsBlock | InputBlock;

export interface PlainText {
  type: 'plain_text';
  text: string;
  /** False: `:name:` stays as it is written. */
  emoji: false;
}

/** Never what others wrote. */
export interface Mrkdwn {
  type: 'mrkdwn';
  text: string;
  /** Slack makes no links of it. */
  verbatim: true;
}

export interface HeaderBlock {
  type: 'header';
  block_id?: string;
  text: PlainText;
}

export interface SectionBlock {
  type: 'section';
  block_id?: string;
  text?: PlainText | Mrkdwn;
  fields?: PlainText[];
}

export interface ContextBlock {
  type: 'context';
  block_id?: string;
  elements: (PlainText | Mrkdwn)[];
}

export interface ActionsBlock {
  type: 'actions';
  block_id?: string;
  elements: Button[];
}

export interface Button {
  type: 'button';
  action_id: string;
  text: PlainText;
  value: string;
  style?: 'primary' | 'danger';
}

export interface InputBlock {
  type: 'input';
  block_id: string;
  optional?: boolean;
  label: PlainText;
  hint?: PlainText;
  element: {
    type: 'plain_text_input';
    action_id: string;
    multiline?: boolean;
    initial_value?: string;
    max_length?: number;
  };
}

/** A modal. */
export interface ModalView {
  type: 'modal';
  callback_id: string;
  private_metadata: string;
  title: PlainText;
  submit: PlainText;
  close: PlainText;
  blocks: Block[];
}

export function plain(text: string): PlainText {
  return { type: 'plain_text', text, emoji: false };
}

/** @param text ours. */
export function mrkdwn(text: string): Mrkdwn {
  return { type: 'mrkdwn', text, verbatim: true };
}
