/** Where a storm takes place. Everything in it is on this machine. */
export interface Target {
  /** The service's instances, without a trailing slash. */
  readonly urls: readonly [string, ...string[]];
  /** The BASE_URL of all of them. */
  readonly origin: string;
  /** Whether TRUST_PROXY is on: clients then differ by `X-Forwarded-For`, and otherwise by their address in 127.0.0.0/8. */
  readonly isProxied: boolean;
}

/** The address that a client connects from, and the headers by which a proxy would announce it. */
export interface Source {
  readonly localAddress: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Roles have address ranges of their own, so that none of them uses up the limits of another. */
const RANGES = { user: 1, hostile: 2, stranger: 3, crowd: 4, witness: 5 };
export type Role = keyof typeof RANGES;

/** The n-th client of a role. In a crowd every client is a network of its own: half of them are /64s of one IPv6 /48. */
export function sourceOf({ isProxied }: Target, role: Role, n: number): Source {
  const [high, low] = [(n >> 8) % 250, n % 256];
  if (!isProxied) return { localAddress: `127.${RANGES[role]}.${high}.${low || 1}`, headers: {} };
  const address =
    role === 'crowd' && n % 2 === 1
      ? `2001:db8:7:${(n % 0xffff).toString(16)}::1`
      : `198.${RANGES[role] + 50}.${high}.${low}`;
  return { localAddress: '127.0.0.1', headers: { 'x-forwarded-for': address } };
}

/** The instance that the n-th client uses. */
export const urlFor = ({ urls }: Target, n: number): string => urls[n % urls.length] ?? urls[0];
