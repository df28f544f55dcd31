import { Agent, request } from 'node:http';
import { type Role, sourceOf, type Target, urlFor } from './network.js';

export interface Sent {
  readonly token?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

export interface Answer {
  /** 0 when the connection broke or no answer came in time; `body` then has the reason. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** Longer than any time limit that the service promises. */
const GIVE_UP_AFTER_MS = 35_000;

/** An HTTP client with its own address, which keeps connections alive by default. */
export class Peer {
  private readonly agent: Agent;
  private readonly url: string;
  private readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly target: Target,
    role: Role,
    n: number,
    { isKept = true }: { isKept?: boolean } = {},
  ) {
    const { localAddress, headers } = sourceOf(target, role, n);
    this.url = urlFor(target, n);
    this.headers = headers;
    this.agent = new Agent({ keepAlive: isKept, localAddress });
  }

  /** Never rejects: a broken connection gives status 0. */
  send(method: string, path: string, { token, headers = {}, body }: Sent = {}): Promise<Answer> {
    return new Promise((resolve) => {
      const fail = (error: Error): void =>
        resolve({ status: 0, headers: {}, body: Buffer.from(error.message) });
      const sent = request(this.url + path, {
        method,
        agent: this.agent,
        headers: {
          ...this.headers,
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-length': String(body.length) }),
          ...headers,
        },
      });
      const timer = setTimeout(() => sent.destroy(new Error('no answer in time')), GIVE_UP_AFTER_MS);
      sent.on('close', () => clearTimeout(timer));
      sent.on('error', fail);
      sent.on('response', (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', fail);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          }),
        );
      });
      sent.end(body);
    });
  }

  sendJson(method: string, path: string, json: unknown, sent: Sent = {}): Promise<Answer> {
    const headers = { 'content-type': 'application/json', ...sent.headers };
    return this.send(method, path, { ...sent, headers, body: Buffer.from(JSON.stringify(json)) });
  }

  close(): void {
    this.agent.destroy();
  }
}

/** The JSON of an answer. @throws unless it is 2xx */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller knows the route
export function json<T>({ status, body }: Answer): T {
  if (status < 200 || status > 299) throw new Error(`${status}: ${String(body).slice(0, 200)}`);
  return JSON.parse(String(body)) as T;
}
