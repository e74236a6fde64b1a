import type { KnownVote, Voter } from '../../src/protocol/gate.ts';

/** An approval that counts. */
export interface Vote extends KnownVote {
  /** Equal for decisions that say the same in the same words. */
  given: string;
}

/** Approvals of one request by different people; a rejection that counts ends it at once. */
export class VoteTally {
  readonly quorum: number;
  readonly #votes = new Map<string, Vote>();

  /** @param known of before, by an earlier workflow: nobody knows their words any more. */
  constructor(quorum = 1, known: readonly KnownVote[] = []) {
    this.quorum = quorum;
    for (const vote of known) this.add({ ...vote, given: '' });
  }

  /** Of the arguments that most have approved. */
  get approvals(): number {
    return Math.max(0, ...[...this.#votes.values()].map(({ of }) => this.of(of).length));
  }

  of(version: string): Vote[] {
    return [...this.#votes.values()].filter((vote) => vote.of === version);
  }

  voteOf({ principal }: Voter): Vote | undefined {
    return this.#votes.get(principal);
  }

  /** Whether these very words count already. */
  hasGiven(given: string): boolean {
    return [...this.#votes.values()].some((vote) => vote.given === given);
  }

  add(vote: Vote): void {
    this.#votes.set(vote.by.principal, vote);
  }

  withdraw({ principal }: Voter): boolean {
    return this.#votes.delete(principal);
  }
}
