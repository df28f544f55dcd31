import { Resolver } from 'node:dns/promises';
import { request } from 'node:https';
import ipaddr from 'ipaddr.js';
import { isIP, type LookupFunction } from 'node:net';
import { readUrl } from './config/index.js';

/** All global unicast addresses; tunnels, documentation and other special uses within have ranges of their own. */
const GLOBAL_IPV6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/**
 * Whether an address belongs to the public internet, not to this machine, its networks or a special-purpose range. IPv6 that
 * embeds an IPv4 address (mapped, compatible, NAT64, 6to4, Teredo) is not public: the embedded address would decide the
 * destination.
 */
function isPublicAddress(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.process(text);
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast';
  return address.match(GLOBAL_IPV6) && address.range() === 'unicast';
}

/** Names that no public name server resolves: they lead to this machine or into its network. */
const LOCAL_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|lan|home|corp|home\.arpa)$/;

/** A URL from a client that this service must not send to. The message does not contain the URL, which may be secret. */
export class NotPublic extends Error {}

/**
 * Parses a URL from a client as a browser does: every notation of an IPv4 address (octal, hex, a single number, trailing dot) is
 * normalized before it is checked here. Each request checks the addresses of a name again, because a later DNS answer may differ.
 * @throws NotPublic, with a message that continues the name of the field
 */
export function parsePublicUrl(text: string, maxLength: number): URL {
  const isUrl = text.length <= maxLength && /^https:\/\/(?!\/)[^\s\p{Cc}\\]+$/iu.test(text);
  const url = isUrl ? readUrl(text) : undefined;
  if (!url || url.href.length > maxLength)
    throw new NotPublic(`must be an https URL of at most ${maxLength} characters`);
  if (url.username || url.password) throw new NotPublic('must not contain a user name or password');
  const host = hostOf(url);
  const isPublic = isIP(host) ? isPublicAddress(host) : host.includes('.') && !LOCAL_NAME.test(host);
  if (!isPublic) throw new NotPublic('must not point to a private network');
  return url;
}

/** The host without the brackets of IPv6 and the trailing dot of a fully qualified name. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '');
}

export interface OutboundOptions {
  /** `address:port` of the name servers; the machine's own by default. */
  readonly dnsServers?: readonly string[];
  /** Certificate authorities that replace the ones Node.js trusts. */
  readonly ca?: string;
  /** For tests: where a connection to a public address really goes, after the address has been checked. */
  readonly dial?: (address: string) => string;
  /** Total time limit, from DNS resolution to the response. */
  readonly timeoutMs?: number;
}

export interface OutboundRequest {
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

/** The parts of a response that callers need. */
export interface OutboundResponse {
  readonly status: number;
  /** The unparsed `Retry-After`. */
  readonly retryAfter: string | undefined;
}

const TIMEOUT_MS = 5_000;

/** Queries a silent name server twice, within the total time limit. */
const DNS_LIMITS = { timeout: 1_000, tries: 2 };

/**
 * Sends requests to URLs from clients, only to the public internet. Only tests pass options, which replace the internet with a
 * network of their own; the checks are the same.
 */
export class Outbound {
  private readonly underWay = new Set<AbortController>();
  private isStopped = false;

  constructor(private readonly options: OutboundOptions = {}) {}

  /**
   * Sends one POST. The name is resolved once, all of its addresses must be public, and the connection goes to one of exactly
   * these addresses, so DNS rebinding has no effect. Does not follow redirects, and reads only the status and headers of the
   * response. Takes at most 5 s in total.
   * @throws NotPublic, or the error of the connection
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

  /** Aborts all current requests, and every later one, immediately. */
  stop(): void {
    this.isStopped = true;
    for (const deadline of this.underWay) deadline.abort();
  }

  private async publicAddressesOf(host: string, signal: AbortSignal): Promise<string[]> {
    const addresses = isIP(host) ? [host] : await this.resolve(host, signal);
    if (!addresses.every(isPublicAddress)) throw new NotPublic('the host has an address that is not public');
    return addresses;
  }

  /** Queries the name servers directly: the system resolver would occupy the few threads that file access also needs. */
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
        agent: false, // a kept-alive connection was checked for an earlier request
        rejectUnauthorized: true, // regardless of the environment
        signal,
        ...(ca === undefined ? {} : { ca }),
      });
      sent.on('error', reject);
      // Ends the request whatever the response is: an upgrade would be neither a response nor an error.
      sent.on('upgrade', (response, socket) => {
        socket.destroy();
        resolve({ status: response.statusCode ?? 0, retryAfter: undefined });
      });
      sent.on('close', () => reject(new Error('the connection was closed without an answer')));
      // The same error that Node.js creates when it detects the abort itself.
      const noAnswer = Object.assign(new Error('no answer in time'), { code: 'ABORT_ERR' });
      signal.addEventListener('abort', () => reject(noAnswer), { once: true });
      sent.on('response', (response) => {
        resolve({ status: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] });
        response.on('error', () => undefined);
        response.destroy();
      });
      sent.end(letter.body);
    });
  }
}

function lookupOf(addresses: string[]): LookupFunction {
  const known = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_host, options, done) => {
    const [first] = known;
    if (options.all) done(null, known);
    else done(null, first?.address ?? '', first?.family);
  };
}
