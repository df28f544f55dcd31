import { once } from 'node:events';
import { createServer, type IncomingMessage, request as forward, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

/** What happens to a request on its way. */
export type Fault =
  /** It arrives late, and is answered. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** The connection is reset before the request reaches the server. */
  | { readonly kind: 'reset' }
  /** Accepted, but neither answered nor passed to the server. */
  | { readonly kind: 'blackhole' }
  /** Answered with this status and an S3 error code, without reaching the server. */
  | { readonly kind: 'answer'; readonly status: number; readonly code?: string }
  /** The server gets half of the body and then a reset; so does the client. */
  | { readonly kind: 'truncate request' }
  /** Executed by the server, but the answer is lost. */
  | { readonly kind: 'cut after sending' }
  /** Never answered, and executed by the server after this time. */
  | { readonly kind: 'late'; readonly ms: number }
  /** Half of the answer's body, or another share, then a reset. */
  | { readonly kind: 'truncate'; readonly share?: number }
  /** Half of the answer's body, then the end of the stream. */
  | { readonly kind: 'half-close' }
  /** Half of the answer's body, then silence. */
  | { readonly kind: 'stall' }
  /** Answered as if executed, without reaching the server. */
  | { readonly kind: 'swallow'; readonly etag?: string }
  /** Executed, but answered with other headers. */
  | { readonly kind: 'lie'; readonly headers: Readonly<Record<string, string>> };

export interface ProxiedRequest {
  readonly method: string;
  /** Includes the query. */
  readonly path: string;
}

const IDLE_WITHIN_MS = 120_000;

export type Weather = (request: ProxiedRequest) => Fault | undefined;

/** A proxy in front of a real HTTP server that applies faults of networks and servers. */
export class FaultProxy {
  /** All requests so far, in order. */
  readonly requests: ProxiedRequest[] = [];
  private weather: Weather = () => undefined;
  private readonly sockets = new Set<Socket>();
  private readonly underWay = new Set<Promise<void>>();
  /** Never closes an idle connection: answers state how long the service keeps them, and a client may be that slow. */
  private readonly server = createServer({ keepAliveTimeout: 0 }, (request, response) =>
    this.take(request, response),
  );

  private constructor(private readonly target: URL) {}

  static async before(url: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(new URL(url));
    proxy.server.on('clientError', () => undefined);
    proxy.server.on('connection', (socket) => {
      proxy.sockets.add(socket);
      socket.once('close', () => proxy.sockets.delete(socket));
    });
    await proxy.listen(0);
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Number of open connections to the proxy, including idle ones. */
  get connections(): number {
    return this.sockets.size;
  }

  /** Sets the faults of requests from now on. */
  set(weather: Weather): void {
    this.weather = weather;
  }

  /** Stops faults. */
  heal(): void {
    this.weather = () => undefined;
  }

  /** Resolves when no request is in flight, late ones included, or after two minutes, when the rest will never arrive. */
  async idle(): Promise<void> {
    const late = AbortSignal.timeout(IDLE_WITHIN_MS);
    const isLate = once(late, 'abort');
    while (this.underWay.size > 0 && !late.aborted)
      await Promise.race([Promise.all(this.underWay.keys()), isLate]);
  }

  async close(): Promise<void> {
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  private async listen(port: number): Promise<void> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  private take(request: IncomingMessage, response: ServerResponse): void {
    const serving = this.serve(request, response).finally(() => this.underWay.delete(serving));
    this.underWay.add(serving);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.on('error', () => undefined);
    response.on('error', () => undefined);
    const { method = '', url: path = '' } = request;
    this.requests.push({ method, path });
    try {
      await this.meet(this.weather({ method, path }), request, response);
    } catch {
      request.socket.destroy(); // one of the two sides has disconnected
    }
  }

  private async meet(
    fault: Fault | undefined,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    switch (fault?.kind) {
      case 'blackhole':
        request.resume();
        return;
      case 'reset':
        request.socket.resetAndDestroy();
        return;
      case 'answer':
        await buffer(request);
        response.writeHead(fault.status, { 'content-type': 'application/xml' });
        response.end(fault.code ? `<Error><Code>${fault.code}</Code></Error>` : '');
        return;
      case 'swallow':
        await buffer(request);
        response.writeHead(200, fault.etag ? { etag: `"${fault.etag}"` } : {}).end();
        return;
      case 'truncate request':
        return this.truncateRequest(request);
      case 'late':
        return this.late(request, fault.ms);
      case 'delay':
        await pause(fault.ms);
    }
    const answer = await this.pass(request, await buffer(request));
    if (fault?.kind === 'cut after sending') {
      answer.destroy();
      request.socket.resetAndDestroy();
    } else await this.answer(fault, answer, request, response);
  }

  private async answer(
    fault: Fault | undefined,
    answer: IncomingMessage,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const headers = fault?.kind === 'lie' ? { ...answer.headers, ...fault.headers } : answer.headers;
    const gone = new Promise((resolve) => response.once('close', resolve));
    void gone.then(() => answer.destroy());
    if (response.destroyed) {
      answer.destroy();
      return;
    }
    response.writeHead(answer.statusCode ?? 502, headers);
    if (fault?.kind !== 'truncate' && fault?.kind !== 'half-close' && fault?.kind !== 'stall') {
      answer.pipe(response);
      return;
    }
    const body = await Promise.race([buffer(answer), gone.then(() => Buffer.alloc(0))]);
    const share = (fault.kind === 'truncate' ? fault.share : undefined) ?? 0.5;
    response.flushHeaders();
    // Never the whole body: the client would accept the answer as complete and reuse the connection.
    const part = body.subarray(0, Math.floor(body.length * share));
    // The callback of a write is never called when the client has disconnected.
    await Promise.race([new Promise((sent) => response.write(part, sent)), gone]);
    if (fault.kind === 'truncate') request.socket.resetAndDestroy();
    if (fault.kind === 'half-close') request.socket.end();
  }

  private async late(request: IncomingMessage, ms: number): Promise<void> {
    const body = await buffer(request);
    await pause(ms);
    (await this.pass(request, body)).resume();
  }

  private async truncateRequest(request: IncomingMessage): Promise<void> {
    const body = await buffer(request);
    const upstream = this.open(request);
    upstream.on('error', () => undefined);
    await new Promise((sent) => upstream.write(body.subarray(0, body.length / 2), sent));
    upstream.destroy();
    request.socket.resetAndDestroy();
  }

  private async pass(request: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    const upstream = this.open(request);
    upstream.end(body);
    const [answer] = (await once(upstream, 'response')) as [IncomingMessage];
    answer.on('error', () => request.socket.destroy());
    return answer;
  }

  private open({ method, url, headers }: IncomingMessage): ReturnType<typeof forward> {
    const { hostname, port } = this.target;
    // The Host header stays as it is, because the client has signed it.
    return forward({ hostname, port, method, path: url, headers, agent: false });
  }
}
