/** What is killed. */
export type VictimKind = 'worker' | 'temporal' | 'store';

/** From a kill until what was killed works again, milliseconds since the epoch. */
export interface Outage {
  kind: VictimKind;
  from: number;
  /** Infinity while it lasts. */
  to: number;
}

/** After this long nothing that an outage has begun goes on: heartbeat of a model step, and back-offs, in milliseconds. */
const AFTERMATH = 15_000;

/** Who was down when. */
export class Outages {
  readonly all: Outage[] = [];

  begin(kind: VictimKind): Outage {
    const outage: Outage = { kind, from: Date.now(), to: Number.POSITIVE_INFINITY };
    this.all.push(outage);
    return outage;
  }

  count(kind: VictimKind): number {
    return this.all.filter((outage) => outage.kind === kind).length;
  }

  /** Whether an outage, or what follows from one, falls between these times. */
  touch(from: number, to: number): boolean {
    return this.all.some((outage) => outage.from <= to && outage.to + AFTERMATH >= from);
  }

  isDown(kinds: readonly VictimKind[], from: number, to: number): boolean {
    return this.all.some((outage) => kinds.includes(outage.kind) && outage.from <= to && outage.to >= from);
  }
}
