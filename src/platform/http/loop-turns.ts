import { clientInScope } from '../log/index.js';

/** How many pieces of work begin in a turn of the event loop: requests, and large chunks of bodies. */
const AT_ONCE = 6;

const LATELY_MS = 1_000;

interface Piece {
  readonly begin: () => void;
  readonly isOver: () => boolean;
}

let begun = 0;
/** How many pieces users and networks have had since then. */
const had = new Map<string, number>();
let since = 0;
const waiting = new Map<string, Piece[]>();

/**
 * A place in a turn of the event loop. Next is the user or network that has had the fewest lately: thousands of pieces that arrive
 * at once delay somebody else's by a few. Danger: give back what others wait for before you wait for it.
 * @param isOver whether nobody waits for the piece any more: it then takes no place
 * @returns undefined when there is one at once
 */
export function loopTurn(isOver = never, client = clientInScope() ?? ''): Promise<void> | undefined {
  if (begun < AT_ONCE && waiting.size === 0) {
    count(client);
    return undefined;
  }
  return new Promise((begin) => {
    const its = waiting.get(client);
    if (its) its.push({ begin, isOver });
    else waiting.set(client, [{ begin, isOver }]);
  });
}

const never = (): boolean => false;

function count(client: string): void {
  if (begun++ === 0) setImmediate(nextTurn);
  had.set(client, (had.get(client) ?? 0) + 1);
}

function nextTurn(): void {
  begun = 0;
  if (performance.now() - since > LATELY_MS) {
    since = performance.now();
    had.clear();
  }
  while (begun < AT_ONCE && waiting.size > 0) beginNext();
}

function beginNext(): void {
  let [next, fewest] = ['', Infinity];
  for (const client of waiting.keys()) {
    const its = had.get(client) ?? 0;
    if (its < fewest) [next, fewest] = [client, its];
  }
  const its = waiting.get(next) ?? [];
  const piece = its.shift();
  if (its.length === 0) waiting.delete(next);
  if (!piece?.isOver()) count(next);
  piece?.begin();
}
