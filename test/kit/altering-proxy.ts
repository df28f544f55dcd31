import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: Buffer;
}

export interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Whether the connection is reset after the body. */
  readonly isCut?: boolean;
}

/** Answers a request in place of the service. `forward` sends it to the service; call it at most once. */
export type Alter = (asked: Asked, forward: () => Promise<Answered>) => Promise<Answered>;

const PASSED_ON = [
  'authorization',
  'content-type',
  'if-match',
  'if-none-match',
  'x-content-hash',
  'x-device-id',
];
const PASSED_BACK = ['content-type', 'etag', 'retry-after'];

/** A proxy that can change the service's answers: for clients that must not trust them. */
export class AlteringProxy {
  /** All requests so far. */
  asked: Asked[] = [];
  private alter: Alter = (_, forward) => forward();
  /** Never closes an idle connection, however slow the client is. */
  private readonly server = createServer(
    { keepAliveTimeout: 0 },
    (request, response) => void this.serve(request, response),
  );

  private constructor(private readonly target: string) {}

  static async before(url: string): Promise<AlteringProxy> {
    const proxy = new AlteringProxy(url);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Sets how requests are answered from now on, and clears the recorded ones. */
  set(alter: Alter = (_, forward) => forward()): void {
    this.alter = alter;
    this.asked = [];
  }

  /** Number of recorded requests whose method and path match. */
  count(pattern: RegExp): number {
    return this.asked.filter(({ method, path }) => pattern.test(`${method} ${path}`)).length;
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = request;
    const asked = { method, path, body: await buffer(request) };
    this.asked.push(asked);
    const answer = await this.alter(asked, () => this.forward(request, asked));
    const length = answer.body.length + (answer.isCut === true ? 1 : 0);
    response.writeHead(answer.status, { ...answer.headers, 'content-length': length });
    if (!answer.isCut) response.end(answer.body);
    else response.write(answer.body, () => request.socket.destroy());
  }

  private async forward(request: IncomingMessage, { method, path, body }: Asked): Promise<Answered> {
    const headers = new Headers();
    for (const name of PASSED_ON) {
      const value = request.headers[name];
      if (typeof value === 'string') headers.set(name, value);
    }
    const sent = method === 'GET' ? null : new Uint8Array(body);
    const answer = await fetch(this.target + path, { method, headers, body: sent });
    return {
      status: answer.status,
      headers: Object.fromEntries(PASSED_BACK.map((name) => [name, answer.headers.get(name) ?? ''])),
      body: Buffer.from(await answer.arrayBuffer()),
    };
  }
}
