import ipaddr from 'ipaddr.js';
import { Resolver } from 'node:dns/promises';
import { request } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { readUrl } from '../../config/index.js';

/** All that is global unicast; tunnels, documentation and the like inside of it have ranges of their own. */
const GLOBAL_IPV6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * Whether an address is one of the public internet, as opposed to this machine, its networks, and everything with a
 * special meaning. IPv6 that wraps an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) is not: what is inside
 * would decide where it leads.
 */
function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  return address.match(GLOBAL_IPV6) && address.range() === 'unicast';
}

/** Names that no public name server answers for: they lead to this machine or into its network. */
const LOCAL_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)$/;

/** Somebody else's URL that this service will not send to. The message does not have it: it may be a secret. */
export class NotPublic extends Error {}

/**
 * Reads a URL that a client has given as the URL parser of browsers does, which turns every notation of an IPv4
 * address (octal, hex, one number, trailing dot) into the usual one before it is judged here. A name is judged again
 * by its addresses when something is sent there: today's answer says nothing about tomorrow's.
 * @throws NotPublic, with a message that goes on from the name of the field
 */
export function parsePublicUrl(text: string, maxLength: number): URL {
  const isUrl = text.length <= maxLength && /^https:\/\/(?!\/)[^\s\p{Cc}\\]+$/iu.test(text);
  const url = isUrl ? readUrl(text) : undefined;
  if (!url || url.href.length > maxLength)
    throw new NotPublic(`must be an https URL of at most ${maxLength} characters`);
  if (url.username || url.password) throw new NotPublic('must not carry a user name or password');
  if (!isPublicHost(hostOf(url))) throw new NotPublic('must not lead into a private network');
  return url;
}

/** The host without the brackets of IPv6 and without the dot that ends a full name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '');
}

function isPublicHost(host: string): boolean {
  if (isIP(host)) return isPublicAddress(host);
  return host.includes('.') && !LOCAL_NAME.test(host);
}

export interface OutboundOptions {
  /** `address:port` of the name servers; those of the machine unless told. */
  readonly dnsServers?: readonly string[];
  /** Certificate authorities instead of those that Node.js trusts. */
  readonly ca?: string;
  /** For tests: where a connection to a public address really leads, once the address has been checked. */
  readonly dial?: (address: string) => string;
  /** For everything together, from the name to the answer. */
  readonly timeoutMs?: number;
}

export interface OutboundRequest {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** The head of an answer. */
export interface OutboundResponse {
  readonly status: number;
  /** `Retry-After`, as it came. */
  readonly retryAfter: string | undefined;
}

const TIMEOUT_MS = 5_000;

/** A name server that does not answer is asked twice, within the time for the whole. */
const DNS_LIMITS = { timeout: 1_000, tries: 2 };

/**
 * Requests to addresses that clients have given: to the public internet alone. Only a test makes one with options, a
 * network of its own in place of the world; what is checked is the same.
 */
export class Outbound {
  private readonly underWay = new Set<AbortController>();
  private isStopped = false;

  constructor(private readonly options: OutboundOptions = {}) {}

  /**
   * One POST. The name is resolved once, every address that it has must be public, and the connection goes to one of
   * exactly these: a name that leads elsewhere a moment later gains nothing. Redirects are not followed, and of the
   * answer nothing but its head is read. All of it takes 5 s at most.
   * @throws NotPublic, or whatever went wrong on the way
   */
  async post(url: URL, letter: OutboundRequest): Promise<OutboundResponse> {
    const deadline = new AbortController();
    const timer = setTimeout(() => deadline.abort(), this.options.timeoutMs ?? TIMEOUT_MS);
    this.underWay.add(deadline);
    if (this.isStopped) deadline.abort();
    try {
      const addresses = await this.publicAddressesOf(hostOf(url), deadline.signal);
      return await this.ask(url, addresses, letter, deadline.signal);
    } finally {
      clearTimeout(timer);
      this.underWay.delete(deadline);
    }
  }

  /** Ends what is under way, and all that is asked for later, at once. */
  stop(): void {
    this.isStopped = true;
    for (const deadline of this.underWay) deadline.abort();
  }

  private async publicAddressesOf(host: string, signal: AbortSignal): Promise<string[]> {
    const addresses = isIP(host) ? [host] : await this.resolve(host, signal);
    if (!addresses.every(isPublicAddress)) throw new NotPublic('the host has an address that is not public');
    return addresses;
  }

  /** Asks the name servers itself: the machine's resolver would wait in the few threads that files need too. */
  private async resolve(host: string, signal: AbortSignal): Promise<string[]> {
    signal.throwIfAborted();
    const resolver = new Resolver(DNS_LIMITS);
    if (this.options.dnsServers) resolver.setServers(this.options.dnsServers);
    signal.addEventListener('abort', () => resolver.cancel(), { once: true });
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const [failure] = answers.flatMap((answer) =>
      answer.status === 'rejected' ? [answer.reason as Error] : [],
    );
    throw failure ?? new Error('the host has no address');
  }

  private ask(
    url: URL,
    addresses: string[],
    letter: OutboundRequest,
    signal: AbortSignal,
  ): Promise<OutboundResponse> {
    const { ca, dial = (address: string) => address } = this.options;
    return new Promise((resolve, reject) => {
      const sent = request({
        method: 'POST',
        host: hostOf(url),
        port: url.port || 443,
        path: `${url.pathname}${url.search}`,
        headers: letter.headers,
        lookup: lookupOf(addresses.map(dial)),
        agent: false, // a connection that is kept would have been checked for an earlier request
        rejectUnauthorized: true, // whatever the environment says
        signal,
        ...(ca === undefined ? {} : { ca }),
      });
      sent.on('error', reject);
      // Whatever an answer is made of, this ends: an upgrade would be neither a response nor an error.
      sent.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 0, retryAfter: undefined });
      });
      sent.on('close', () => reject(new Error('the connection was closed without an answer')));
      signal.addEventListener('abort', () => reject(noAnswer()), { once: true });
      sent.on('response', (response) => {
        resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
        response.on('error', () => undefined);
        response.destroy();
      });
      sent.end(letter.body);
    });
  }
}

/** As Node.js calls it when it notices by itself. */
function noAnswer(): Error {
  return Object.assign(new Error('no answer in time'), { code: 'ABORT_ERR' });
}

/** Answers a connection's question for the addresses of its host with these. */
function lookupOf(addresses: string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, done) => {
    const [first] = known;
    if (options.all) done(null, known);
    else done(null, first?.address ?? '', first?.family);
  };
}
