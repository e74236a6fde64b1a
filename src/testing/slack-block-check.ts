import { isObject } from './gemini-json.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Characters of all texts of a message together: Slack refuses about 13,200 with their containers. */
const MOST_TEXT = 12_000;

const SURFACES = {
  message: {
    most: 50,
    types: ['section', 'divider', 'context', 'actions', 'header', 'image', 'rich_text', 'markdown'],
  },
  modal: {
    most: 100,
    types: ['section', 'divider', 'context', 'actions', 'header', 'image', 'rich_text', 'input'],
  },
} as const;

/**
 * The problems that Slack would refuse blocks for, each with its place. Limits: https://docs.slack.dev/reference/block-kit/blocks
 *
 * @returns nothing where all is well.
 */
export function blockProblems(blocks: unknown, surface: keyof typeof SURFACES): string[] {
  if (!Array.isArray(blocks)) return ['blocks: expected a list'];
  const { most, types } = SURFACES[surface];
  const problems: string[] = [];
  if (blocks.length > most) problems.push(`blocks: ${blocks.length} of them, at most ${most} are allowed`);
  const ids = new Set<string>();
  let length = 0;
  blocks.forEach((block: unknown, index) => {
    const at = `blocks[${index}]`;
    if (!isObject(block)) {
      problems.push(`${at}: expected an object`);
      return;
    }
    if (!types.some((type) => type === block.type)) {
      problems.push(`${at}: unsupported type ${String(block.type)}`);
      return;
    }
    const { block_id: id } = block;
    if (id !== undefined) {
      if (typeof id !== 'string' || id.length > 255) problems.push(`${at}.block_id: at most 255 characters`);
      else if (ids.has(id)) problems.push(`${at}.block_id: ${id} is taken`);
      else ids.add(id);
    }
    const check = CHECKS[String(block.type)];
    if (check === undefined) problems.push(`${at}: the mock server doesn’t know ${String(block.type)}`);
    else problems.push(...check(block, at));
    length += textLength(block);
  });
  if (surface === 'message' && length > MOST_TEXT) problems.push('msg_blocks_too_long');
  return problems;
}

/** The problems that Slack would refuse a modal for. */
export function viewProblems(view: unknown): string[] {
  if (!isObject(view)) return ['view: expected an object'];
  if (view.type !== 'modal') return ['view.type: expected modal'];
  const { callback_id: id = '', private_metadata: kept = '' } = view;
  return [
    ...textProblems(view.title, 'view.title', 24, ['plain_text']),
    ...(view.submit === undefined ? [] : textProblems(view.submit, 'view.submit', 24, ['plain_text'])),
    ...(view.close === undefined ? [] : textProblems(view.close, 'view.close', 24, ['plain_text'])),
    ...(typeof id === 'string' && id.length <= 255 ? [] : ['view.callback_id: at most 255 characters']),
    ...(typeof kept === 'string' && kept.length <= 3_000
      ? []
      : ['view.private_metadata: at most 3000 characters']),
    ...blockProblems(view.blocks, 'modal'),
  ];
}

const CHECKS: Readonly<Record<string, (block: Fields, at: string) => string[]>> = {
  divider: () => [],
  header: (block, at) => textProblems(block.text, `${at}.text`, 150, ['plain_text']),
  section: (block, at) => [
    ...(block.text === undefined && block.fields === undefined ? [`${at}: expected text or fields`] : []),
    ...(block.text === undefined ? [] : textProblems(block.text, `${at}.text`, 3_000)),
    ...(block.fields === undefined
      ? []
      : listProblems(block.fields, `${at}.fields`, 10, (field, place) => textProblems(field, place, 2_000))),
  ],
  context: (block, at) =>
    listProblems(block.elements, `${at}.elements`, 10, (element, place) =>
      textProblems(element, place, 3_000),
    ),
  actions: (block, at) => {
    const seen = new Set<unknown>();
    return listProblems(block.elements, `${at}.elements`, 25, (element, place) => {
      if (!isObject(element) || element.type !== 'button') return [`${place}: expected a button`];
      const problems = buttonProblems(element, place);
      if (seen.has(element.action_id)) problems.push(`${place}.action_id: it is taken`);
      seen.add(element.action_id);
      return problems;
    });
  },
  input: (block, at) => {
    const { element } = block;
    const problems = textProblems(block.label, `${at}.label`, 2_000, ['plain_text']);
    if (block.hint !== undefined)
      problems.push(...textProblems(block.hint, `${at}.hint`, 2_000, ['plain_text']));
    if (!isObject(element) || element.type !== 'plain_text_input') {
      return [...problems, `${at}.element: expected a plain_text_input`];
    }
    const { initial_value: initial = '', max_length: most = 3_000 } = element;
    if (typeof most !== 'number' || !Number.isInteger(most) || most < 1 || most > 3_000) {
      problems.push(`${at}.element.max_length: expected 1 to 3000`);
    } else if (typeof initial !== 'string' || initial.length > most) {
      problems.push(`${at}.element.initial_value: at most ${most} characters`);
    }
    return problems;
  },
};

function buttonProblems(button: Fields, at: string): string[] {
  const { action_id: id, value = '', url = '', style } = button;
  return [
    ...textProblems(button.text, `${at}.text`, 75, ['plain_text']),
    ...(typeof id === 'string' && id !== '' && id.length <= 255
      ? []
      : [`${at}.action_id: 1 to 255 characters`]),
    ...(typeof value === 'string' && value.length <= 2_000 ? [] : [`${at}.value: at most 2000 characters`]),
    ...(typeof url === 'string' && url.length <= 3_000 ? [] : [`${at}.url: at most 3000 characters`]),
    ...(style === undefined || style === 'primary' || style === 'danger'
      ? []
      : [`${at}.style: expected primary or danger`]),
  ];
}

function textProblems(
  text: unknown,
  at: string,
  longest: number,
  types: readonly string[] = ['plain_text', 'mrkdwn'],
): string[] {
  if (!isObject(text)) return [`${at}: expected a text object`];
  const { type, text: content, emoji, verbatim } = text;
  if (typeof type !== 'string' || !types.includes(type))
    return [`${at}.type: expected ${types.join(' or ')}`];
  return [
    ...(typeof content !== 'string' || content.trim().length === 0
      ? [`${at}.text: must be more than 0 characters`]
      : []),
    ...(typeof content === 'string' && content.length > longest
      ? [`${at}.text: must be less than ${longest + 1} characters`]
      : []),
    ...(emoji !== undefined && type !== 'plain_text' ? [`${at}.emoji: of plain_text only`] : []),
    ...(verbatim !== undefined && type !== 'mrkdwn' ? [`${at}.verbatim: of mrkdwn only`] : []),
  ];
}

function listProblems(
  list: unknown,
  at: string,
  most: number,
  check: (each: unknown, at: string) => string[],
): string[] {
  if (!Array.isArray(list) || list.length === 0) return [`${at}: expected a list that is not empty`];
  return [
    ...(list.length > most ? [`${at}: ${list.length} of them, at most ${most} are allowed`] : []),
    ...list.flatMap((each: unknown, index) => check(each, `${at}[${index}]`)),
  ];
}

/** Of each `text` that is a string, at any depth. */
function textLength(value: unknown): number {
  if (Array.isArray(value)) return value.reduce((sum: number, each: unknown) => sum + textLength(each), 0);
  if (!isObject(value)) return 0;
  return Object.entries(value).reduce(
    (sum, [key, each]) => sum + (key === 'text' && typeof each === 'string' ? each.length : textLength(each)),
    0,
  );
}
