import type { DeadNotice } from '../../store/notices/notice-store.ts';
import type { Store } from '../../store/store.ts';
import { UsageError } from '../cli-error.ts';

/** Of an end of an id, so that it means what was meant. */
const FEWEST_CHARACTERS = 4;

/** By which it is shown: its request's session is long. */
export function shortId({ noticeId }: Pick<DeadNotice, 'noticeId'>): string {
  return noticeId.slice(noticeId.lastIndexOf('/') + 1);
}

/**
 * The notice of this id, or of the only one that ends so.
 *
 * @throws CliError where there is none, or several.
 */
export async function namedNotice(store: Pick<Store, 'notices'>, argument: string): Promise<DeadNotice> {
  const whole = await store.notices.findDeadNotice(argument);
  if (whole !== undefined) return whole;
  if (argument.length < FEWEST_CHARACTERS) {
    throw new UsageError(`name a notice by ${FEWEST_CHARACTERS} characters of the end of its id, or more`);
  }
  const [found, other] = await store.notices.deadNoticesNamed(argument);
  if (found === undefined) {
    throw new UsageError(
      `there is no notice ${argument}: holdfast notices list shows those that were given up`,
    );
  }
  if (other === undefined) return found;
  throw new UsageError(
    `several notices end in ${argument}: name one by more of its id, which --json lists whole`,
  );
}
