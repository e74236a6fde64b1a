/** Reports slow work to a person. */
export interface SlowProgress {
  tell: (line: string) => void;
  end: () => void;
}

/** Reports nothing of quick work, and all of slow work. */
export function slowProgress(tell: (line: string) => void, quietFor: number): SlowProgress {
  const held: string[] = [];
  const began = Date.now();
  const timer = setTimeout(() => held.splice(0).forEach(tell), quietFor);
  return {
    tell: (line) => void (Date.now() - began < quietFor ? held.push(line) : tell(line)),
    end: () => clearTimeout(timer),
  };
}
