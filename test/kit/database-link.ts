import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../../bench/free-port.js';
import type { TestDatabase } from './database.js';
import { AnswerReader, errorAnswer, type Request, RequestReader, startIn } from './postgres-wire.js';

/** What happens on its way to a request to PostgreSQL, which is a statement or a COMMIT. */
export type DatabaseFault =
  /** It arrives late, and is answered. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** It arrives when this resolves, and is answered. */
  | { readonly kind: 'hold'; readonly until: Promise<unknown> }
  /** Answered with an error, without reaching the server; the connection stays open. */
  | { readonly kind: 'refuse'; readonly code: string; readonly message: string }
  /** Answered with an error that ends the connection, without reaching the server; later requests get a reset. */
  | { readonly kind: 'end'; readonly severity: string; readonly code: string }
  /** The connection is reset before the request reaches the server. */
  | { readonly kind: 'reset' }
  /** From now on, nothing passes this connection in either direction; the request does not reach the server. */
  | { readonly kind: 'blackhole' }
  /** Executed by the server, but never answered. */
  | { readonly kind: 'stall' }
  /** Executed by the server, but a reset loses the answer. */
  | { readonly kind: 'cut after sending' }
  /** Half of the answer, then a reset. */
  | { readonly kind: 'truncate' }
  /** Half of the answer, then the end of the stream. */
  | { readonly kind: 'half-close' }
  /** Executed, but answered with the error of a crashing server: its recovery restores the result. */
  | { readonly kind: 'panic' };

/** @param statement the name of a prepared statement, otherwise the SQL */
export type DatabaseWeather = (statement: string) => DatabaseFault | undefined;

/** A proxy between the service and PostgreSQL that can be cut, fall silent, or apply network faults to single requests. */
export class DatabaseLink {
  private readonly sockets = new Set<Socket>();
  private server: Server;
  private isSilent = false;
  private weather: DatabaseWeather = () => undefined;

  private constructor(
    private readonly target: string,
    /** The port on 127.0.0.1. */
    readonly port: number,
    private readonly database?: string,
  ) {}

  static async to(database: Pick<TestDatabase, 'url'>): Promise<DatabaseLink> {
    const link = new DatabaseLink(database.url, await freePort());
    await link.mend();
    return link;
  }

  /** Acts as if the database had its own server: connections reach it whatever database they ask for. */
  static async asServerOf({ url, name }: Pick<TestDatabase, 'url' | 'name'>): Promise<DatabaseLink> {
    const link = new DatabaseLink(url, await freePort(), name);
    await link.mend();
    return link;
  }

  /** The DATABASE_URL of this link. */
  get url(): string {
    const url = new URL(this.target);
    url.search = '';
    url.host = `127.0.0.1:${this.port}`;
    return url.href;
  }

  /** Sets the faults of requests from now on. */
  set(weather: DatabaseWeather): void {
    this.weather = weather;
  }

  /** Stops faults, on open connections too. */
  heal(): void {
    this.weather = () => undefined;
  }

  /** Closes all connections, and accepts none. */
  async cut(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
    await closed;
  }

  /** Keeps and accepts connections, but passes no data any more. */
  silence(): void {
    this.isSilent = true;
    for (const socket of this.sockets) socket.pause();
  }

  /** Silent connections stay silent forever; new ones work. */
  revive(): void {
    this.isSilent = false;
  }

  async mend(): Promise<void> {
    if (this.isSilent) await this.cut();
    this.isSilent = false;
    this.server = createServer((socket) => this.join(socket, this.toServer()));
    this.server.listen(this.port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  private toServer(): Socket {
    const { hostname, port, searchParams } = new URL(this.target);
    const directory = searchParams.get('host');
    if (directory?.startsWith('/')) return connect({ path: `${directory}/.s.PGSQL.${port}` });
    return connect({ host: directory ?? hostname, port: Number(port || 5432) });
  }

  private join(client: Socket, server: Socket): void {
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.sockets.add(one);
      one.on('error', () => undefined);
      one.once('close', () => {
        this.sockets.delete(one);
        other.destroy();
      });
    }
    client.once('end', () => server.end());
    if (this.isSilent) return;
    const wire = new Wire(client, server, (statement) => this.weather(statement), this.database);
    client.on('data', (chunk: Buffer) => wire.toServer(chunk));
    server.on('data', (chunk: Buffer) => wire.toClient(chunk));
  }
}

/** One connection. Its requests get their faults in order. */
class Wire {
  private readonly requests = new RequestReader();
  private last: Promise<void> = Promise.resolve();
  /** Receives the server's answer in place of the client. */
  private keep: ((chunk: Buffer) => void) | undefined;
  private isStarted = false;
  private isCut = false;
  private isEnding = false;
  private readonly answers = new AnswerReader();
  /** Number of requests that the server has received but not answered. */
  private unanswered = 0;
  private whenQuiet: (() => void) | undefined;

  /** @param database used in place of the requested one */
  constructor(
    private readonly client: Socket,
    private readonly server: Socket,
    private readonly weather: DatabaseWeather,
    private readonly database: string | undefined,
  ) {}

  toServer(chunk: Buffer): void {
    for (const request of this.requests.read(chunk)) this.last = this.last.then(() => this.meet(request));
  }

  toClient(chunk: Buffer): void {
    this.unanswered -= this.answers.count(chunk);
    if (this.keep) this.keep(chunk);
    else this.client.write(chunk);
    if (this.unanswered === 0) this.whenQuiet?.();
  }

  private async meet({ bytes, statement, hasAnswer }: Request): Promise<void> {
    if (this.isEnding) this.client.resetAndDestroy();
    if (this.isCut || this.isEnding) return; // no network loses a part and delivers the rest
    if (!this.isStarted) {
      this.isStarted = true;
      this.unanswered++;
      this.server.write(this.database === undefined ? bytes : startIn(this.database, bytes));
      return;
    }
    const fault = statement === undefined ? undefined : this.weather(statement);
    if (fault) await this.quiet();
    switch (fault?.kind) {
      case 'end':
        this.isEnding = true;
        this.client.write(errorAnswer(fault.severity, fault.code, 'terminating connection'));
        return;
      case 'reset':
        this.isCut = true;
        this.client.resetAndDestroy();
        return;
      case 'blackhole':
        this.keep = () => undefined;
        return new Promise(() => undefined);
      case 'delay':
        await pause(fault.ms);
        break;
      case 'hold':
        await fault.until;
        break;
      case 'refuse':
        this.client.write(errorAnswer('ERROR', fault.code, fault.message));
        return;
    }
    if (hasAnswer) this.unanswered++;
    if (!fault || fault.kind === 'delay' || fault.kind === 'hold') {
      this.server.write(bytes);
      return;
    }
    const answer = await this.answerTo(bytes);
    this.isCut = fault.kind !== 'panic';
    if (fault.kind === 'stall') return new Promise(() => undefined);
    if (fault.kind === 'panic') {
      this.keep = undefined;
      this.client.write(errorAnswer('PANIC', '58030', 'could not fsync the write-ahead log'));
      return;
    }
    if (fault.kind !== 'cut after sending')
      await new Promise((sent) => this.client.write(answer.subarray(0, Math.ceil(answer.length / 2)), sent));
    if (fault.kind === 'half-close') this.client.end();
    else this.client.resetAndDestroy();
  }

  /** A fault concerns one request, so wait until earlier ones are answered. */
  private quiet(): Promise<void> | void {
    if (this.unanswered > 0) return new Promise((resolve) => (this.whenQuiet = resolve));
  }

  private answerTo(bytes: Buffer): Promise<Buffer> {
    const reader = new AnswerReader();
    return new Promise((resolve) => {
      this.keep = (chunk) => {
        const answer = reader.read(chunk);
        if (answer) resolve(answer);
      };
      this.server.write(bytes);
    });
  }
}
