// The process that plays the hostile account and the stranger.
import { setMaxListeners } from 'node:events';
import { ATTACKS, type Scene } from './attacks/index.js';
import type { Target } from './network.js';
import { Peer } from './peer.js';
import { mintJwt } from './person.js';
import { serve } from './worker.js';

/** For each attack, its outcomes and how often each occurred. */
export type Tallies = Record<string, Record<string, number>>;

export interface Orders extends Pick<Scene, 'target' | 'hostile' | 'accomplices' | 'possessions'> {
  /** Names of attacks; all when empty. */
  readonly only: readonly string[];
}

let storm: { readonly end: AbortController; readonly over: Promise<unknown> } | undefined;
let tallies: Tallies = {};

async function start({ only, ...given }: Orders): Promise<void> {
  tallies = {};
  const end = new AbortController();
  setMaxListeners(0, end.signal);
  const peer = new Peer(given.target, 'hostile', 0);
  const token = await mintJwt(peer, given.hostile);
  peer.close();
  const attacks = ATTACKS.filter(({ name }) => only.length === 0 || only.includes(name));
  const over = Promise.all(
    attacks.map((attack) => {
      const tally = (tallies[attack.name] = {} as Record<string, number>);
      const count = (what: string, by = 1): void => void (tally[what] = (tally[what] ?? 0) + by);
      const makePeer = peersUntil(given.target, end.signal);
      return attack.run({ ...given, token, signal: end.signal, count, peer: makePeer });
    }),
  );
  storm = { end, over };
}

function peersUntil(target: Target, signal: AbortSignal): Scene['peer'] {
  return (role, n, options) => {
    const peer = new Peer(target, role, n, options);
    if (options?.isKept !== false) signal.addEventListener('abort', () => peer.close());
    return peer;
  };
}

/** Stops everything at once, connections included. */
async function stop(): Promise<Tallies> {
  storm?.end.abort();
  await storm?.over;
  storm = undefined;
  return tallies;
}

serve({ start, stop });
