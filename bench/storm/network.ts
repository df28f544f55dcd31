/** The instances that a storm targets. All of them run on this machine. */
export interface Target {
  /** URLs of the service's instances, without a trailing slash. */
  readonly urls: readonly [string, ...string[]];
  /** The BASE_URL of all of them. */
  readonly origin: string;
  /** Whether TRUST_PROXY is on: then clients differ by `X-Forwarded-For`, otherwise by their address in 127.0.0.0/8. */
  readonly isProxied: boolean;
}

/** The address that a client connects from, and the headers that a proxy would add for it. */
export interface Source {
  readonly localAddress: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Each role has its own address range, so that it does not use up the limits of another. */
const RANGES = { user: 1, hostile: 2, stranger: 3, crowd: 4, witness: 5, phone: 6 };
export type Role = keyof typeof RANGES;

/** The n-th client of a role. In a crowd every client is a separate network: behind a proxy, half are /64s of one IPv6 /48. */
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
