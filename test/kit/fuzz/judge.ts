import type { FuzzRequest } from './request.js';
import { curlOf, type FuzzAnswer } from './wire.js';

/** Statuses that any request can get in addition to those of its operation; docs/openapi.json lists them once. */
const OF_TRANSPORT = new Set([408, 414, 415, 417, 431]);
/** Neither a payment provider nor Web Push is configured. */
const UNCONFIGURED = new Set([
  'subscription.getPortalUrl',
  'subscription.createCheckoutUrl',
  'AccountBelongings.openBilling',
  'devices.getVapidPublicKey',
  'devices.subscribe',
]);
/** What is wrong with an answer, whatever the request; undefined if nothing is. */
export function faultOf(fuzz: FuzzRequest, { status, headers, body }: FuzzAnswer): string | undefined {
  const { operation, path } = fuzz.operation;
  if (status === 0) return `no answer: ${body}`;
  const isExpected = (status === 503 && UNCONFIGURED.has(operation.operationId)) || status === 507;
  if (status >= 500 && !isExpected) return `a fault: ${body.slice(0, 300)}`;
  const isKnown = String(status) in operation.responses || OF_TRANSPORT.has(status);
  if (fuzz.isOnRoute && !isKnown && !isUnreadable(status, body))
    return `an answer that is not documented: ${body.slice(0, 300)}`;
  if (status < 400 || fuzz.method === 'HEAD') return undefined;
  const type = typeof headers['content-type'] === 'string' ? headers['content-type'] : '';
  const isPage = ['/', '/readme'].includes(path) || /^\/(?:account|auth|docs)\b/.test(path);
  if (type.startsWith('text/html')) return isPage ? undefined : 'a page where none is expected';
  return isFlatError(body, status, path)
    ? undefined
    : `an error that is not flat: ${type} ${body.slice(0, 300)}`;
}

/** Malformed HTTP, or a request without a host, is refused before routing. */
const isUnreadable = (status: number, body: string): boolean =>
  status === 400 &&
  /^\{"error":"(?:bad request|a Host header is required|the query is not UTF-8)"\}$|400: the query is not UTF-8\./.test(
    body,
  );

function isFlatError(body: string, status: number, path: string): boolean {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return false;
  }
  if (typeof value !== 'object' || value === null) return false;
  const { error, message, ...fields } = value as Record<string, unknown>;
  const text = error ?? (path.startsWith('/api/auth/') ? message : undefined); // field of the identity handler
  const isFlat = Object.values(fields).every((field) => typeof field !== 'object' || field === null);
  return typeof text === 'string' && text !== '' && (isFlat || status === 507);
}

/** Counts the answers per operation and status. */
export class Tally {
  private readonly counts = new Map<string, Map<number, number>>();
  total = 0;

  add({ operation: { operation } }: FuzzRequest, status: number): void {
    const of = this.counts.get(operation.operationId) ?? new Map<number, number>();
    this.counts.set(operation.operationId, of.set(status, (of.get(status) ?? 0) + 1));
    this.total++;
  }

  /** Number of requests that passed access checks and validation: accepted, or refused because of the database's state. */
  get reached(): { accepted: number; decided: number } {
    const count = (is: (status: number) => boolean): number =>
      [...this.counts.values()]
        .flatMap((of) => [...of])
        .reduce((sum, [status, times]) => (is(status) ? sum + times : sum), 0);
    return {
      accepted: count((status) => status < 400),
      decided: count((status) => [404, 409, 412, 416, 422, 507].includes(status)),
    };
  }

  toString(): string {
    const lines = [...this.counts]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, of]) => {
        const statuses = [...of].sort(([a], [b]) => a - b).map(([status, times]) => `${status}×${times}`);
        return `${name.padEnd(34)} ${statuses.join(' ')}`;
      });
    const { accepted, decided } = this.reached;
    const share = (count: number): string => `${count} (${Math.round((100 * count) / this.total)} %)`;
    return [
      ...lines,
      `${this.total} requests: ${share(accepted)} accepted, ${share(decided)} decided by the domain`,
    ].join('\n');
  }
}

/** Describes how to reproduce it. */
export function report(
  fuzz: FuzzRequest,
  answer: FuzzAnswer,
  fault: string,
  url: string,
  where: string,
): string {
  const { operationId } = fuzz.operation.operation;
  return `${where}: ${operationId} by ${fuzz.sender.name} answered ${answer.status}, ${fault}\n  ${curlOf(fuzz, url)}`;
}
