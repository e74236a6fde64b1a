import { plain, type SectionBlock } from './block-kit.ts';
import { slackExcerpt } from './slack-text.ts';

/** Characters of names and of values, as they are sent. */
const LONGEST_NAME = 200;
const LONGEST_VALUE = 1_500;
/** Slack takes about 13,000 characters of all blocks together. */
const LONGEST_TOGETHER = 3_500;

const MOST = 20;
const IN_A_SECTION = 5;

export interface DrawnArguments {
  blocks: SectionBlock[];
  /** Something of them isn't shown. */
  isCut: boolean;
}

/**
 * Arguments as a table of names and values, in JSON: two columns, drawn by us. A model's text is plain text in them, never markup.
 *
 * @param name of the blocks, unique in their message.
 */
export function argumentBlocks(args: Readonly<Record<string, unknown>>, name: string): DrawnArguments {
  const entries = Object.entries(args);
  let left = LONGEST_TOGETHER;
  let isCut = false;
  const rows: [string, string][] = [];
  for (const [argument, value] of entries) {
    const json = JSON.stringify(value) ?? 'undefined';
    const shownName = slackExcerpt(
      argument.trim() === '' ? JSON.stringify(argument) : argument,
      LONGEST_NAME,
    );
    const shownValue = slackExcerpt(json, LONGEST_VALUE);
    left -= shownName.text.length + shownValue.text.length;
    if (rows.length === MOST || left < 0) {
      isCut = true;
      break;
    }
    isCut ||= shownName.isCut || shownValue.isCut;
    rows.push([shownName.text, shownValue.text]);
  }
  const blocks: SectionBlock[] = [];
  for (let from = 0; from < rows.length; from += IN_A_SECTION) {
    const fields = rows.slice(from, from + IN_A_SECTION).flatMap((row) => row.map(plain));
    blocks.push({ type: 'section', block_id: `${name}_${blocks.length}`, fields });
  }
  const missing = entries.length - rows.length;
  if (missing > 0) {
    blocks.push({
      type: 'section',
      block_id: `${name}_more`,
      text: plain(`and ${missing} more ${missing === 1 ? 'argument' : 'arguments'}, not shown here`),
    });
  }
  return { blocks, isCut };
}
