import { isIP } from 'node:net';
import { readUrl } from '../../config/index.js';
import { isPublicAddress } from './public-address.js';

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
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.+$/, '');
}

function isPublicHost(host: string): boolean {
  if (isIP(host)) return isPublicAddress(host);
  return host.includes('.') && !LOCAL_NAME.test(host);
}
