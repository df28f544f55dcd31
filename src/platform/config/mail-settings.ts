import { readUrl } from './read-url.js';

/** The mail server that SMTP_URL names. */
export interface SmtpServer {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte (smtps). */
  readonly isSecure: boolean;
  /** Mail is not sent unless the connection is encrypted, and the server's certificate is valid. */
  readonly needsTls: boolean;
  readonly isLoopback: boolean;
  readonly credentials: { readonly user: string; readonly pass: string } | undefined;
}

const PORTS = new Map([
  ['smtp:', 587],
  ['smtps:', 465],
]);
const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|::1)$/;

/**
 * Reads SMTP_URL. A server on this machine's loopback interface may be without TLS or a valid certificate, since no one else can
 * listen there.
 * @returns undefined for anything else than smtp:// or smtps:// with a host
 */
export function smtpServerIn(text: string): SmtpServer | undefined {
  const url = readUrl(text);
  if (!url || /\s/.test(text) || !PORTS.has(url.protocol) || !url.hostname) return undefined;
  const { protocol, username, password, search, hash, pathname } = url;
  const isOff = search === '?tls=off' && protocol === 'smtp:';
  if ((search !== '' && !isOff) || hash !== '' || !['', '/'].includes(pathname)) return undefined;
  const [user, pass] = [decoded(username), decoded(password)];
  if (user === undefined || pass === undefined || (user === '') !== (pass === '')) return undefined;
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const isLoopback = LOOPBACK.test(host);
  return {
    host,
    port: Number(url.port) || (PORTS.get(protocol) ?? 0),
    isSecure: protocol === 'smtps:',
    needsTls: !isOff && !isLoopback,
    isLoopback,
    credentials: user === '' ? undefined : { user, pass },
  };
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

const ADDRESS = "[A-Za-z0-9_'+.-]+@(?:[A-Za-z0-9-]+\\.)*[A-Za-z0-9-]+";
const SENDER = new RegExp(`^(?:[^<>@\\p{Cc}]*<(${ADDRESS})>|(${ADDRESS}))$`, 'u');

/** The address in a sender such as `Example Sync <sync@example.org>`, or undefined. */
export function addressIn(sender: string): string | undefined {
  const [, inBrackets, alone] = SENDER.exec(sender) ?? [];
  return inBrackets ?? alone;
}
